// file_streams.js: fs.createReadStream, fs.createWriteStream, and the handles that fs.promises.open gives.
(function (native, hooks) {
  const { fs } = hooks;
  const { Readable, Writable } = hooks.stream.stream;
  const optionsOf = (options) => (typeof options === "string" ? { encoding: options } : (options ?? {}));
  const range = (value, name) => (value === undefined ? undefined : hooks.checkInteger(value, name, 0));

  class ReadStream extends Readable {
    bytesRead = 0;
    #position;
    #end;
    constructor(path, options) {
      const { start, end, fd, flags = "r", autoClose = true, encoding, highWaterMark = 65536, ...more } = optionsOf(options);
      super({ ...more, encoding, highWaterMark, autoDestroy: autoClose });
      this.#position = range(start, "start");
      this.#end = end === Infinity ? undefined : range(end, "end");
      if (this.#end < (start ?? 0)) throw hooks.outOfRange("start", `<= "end" (here: ${end})`, start);
      Object.assign(this, { path, flags, fd: typeof fd === "object" && fd ? fd.fd : (fd ?? null), start, end: end ?? Infinity, autoClose });
      if (this.fd === null) hooks.resolvePath(path);
    }
    _construct(done) {
      this.fd === null ? open(this, this.flags, done) : done();
    }
    get pending() {
      return this.fd === null;
    }
    _read(size) {
      const left = this.#end === undefined ? size : Math.min(size, this.#end + 1 - (this.#position ?? this.bytesRead));
      if (left <= 0) return void this.push(null);
      const buffer = Buffer.allocUnsafe(left);
      let count;
      try {
        count = fs.readSync(this.fd, buffer, 0, left, this.#position ?? null);
      } catch (error) {
        return void this.destroy(error);
      }
      this.bytesRead += count;
      if (this.#position !== undefined) this.#position += count;
      setImmediate(() => this.push(count ? buffer.subarray(0, count) : null));
    }
    _destroy(error, done) {
      closeOwn(this, error, done);
    }
    close(done) {
      if (done) this.once("close", done);
      this.destroy();
    }
  }
  class WriteStream extends Writable {
    bytesWritten = 0;
    #position;
    constructor(path, options) {
      const { start, fd, flags = "w", autoClose = true, encoding = "utf8", flush, ...more } = optionsOf(options);
      super({ ...more, defaultEncoding: encoding, autoDestroy: autoClose });
      this.#position = range(start, "start");
      Object.assign(this, { path, flags, fd: typeof fd === "object" && fd ? fd.fd : (fd ?? null), start, autoClose });
      if (this.fd === null) hooks.resolvePath(path);
    }
    _construct(done) {
      const flags = this.start !== undefined && this.flags === "w" ? "r+" : this.flags;
      this.fd === null ? open(this, flags, done) : done();
    }
    get pending() {
      return this.fd === null;
    }
    _write(chunk, encoding, done) {
      try {
        for (let at = 0; at < chunk.length;) {
          const count = fs.writeSync(this.fd, chunk, at, chunk.length - at, this.#position ?? null);
          at += count;
          this.bytesWritten += count;
          if (this.#position !== undefined) this.#position += count;
        }
      } catch (error) {
        return setImmediate(done, error);
      }
      setImmediate(done);
    }
    _destroy(error, done) {
      closeOwn(this, error, done);
    }
    close(done) {
      if (done) this.writableFinished && this.destroyed ? hooks.nextTick(done) : this.once("close", done);
      this.end();
    }
  }
  const open = (stream, flags, done) => {
    try {
      stream.fd = fs.openSync(stream.path, flags);
    } catch (error) {
      return setImmediate(done, error);
    }
    setImmediate(() => {
      done();
      stream.emit("open", stream.fd);
      stream.emit("ready");
    });
  };
  const closeOwn = (stream, error, done) => {
    const { fd } = stream;
    stream.fd = null;
    if (fd === null || !stream.autoClose) return done(error);
    try {
      fs.closeSync(fd);
    } catch (failed) {
      error ??= failed;
    }
    setImmediate(done, error);
  };
  const callable = (Kind) => {
    const made = function (path, options) {
      return new Kind(path, options);
    };
    made.prototype = Kind.prototype;
    Object.defineProperty(made, "name", { value: Kind.name });
    return made;
  };

  class FileHandle extends hooks.EventEmitter {
    constructor(fd) {
      super();
      this.fd = fd;
    }
    async close() {
      if (this.fd < 0) return;
      fs.closeSync(this.fd);
      this.fd = -1;
      this.emit("close");
    }
    async read(buffer, ...rest) {
      if (!ArrayBuffer.isView(buffer)) {
        const options = buffer ?? {};
        buffer = options.buffer ?? Buffer.alloc(16384);
        rest = [options.offset, options.length, options.position];
      }
      return { bytesRead: fs.readSync(this.fd, buffer, ...rest), buffer };
    }
    async write(data, ...rest) {
      return { bytesWritten: fs.writeSync(this.fd, data, ...rest), buffer: data };
    }
    async readv(buffers, position) {
      let bytesRead = 0;
      for (const buffer of buffers) bytesRead += fs.readSync(this.fd, buffer, 0, buffer.byteLength, position === undefined || position === null ? null : position + bytesRead);
      return { bytesRead, buffers };
    }
    async writev(buffers, position) {
      let bytesWritten = 0;
      for (const buffer of buffers) bytesWritten += fs.writeSync(this.fd, buffer, 0, buffer.byteLength, position === undefined || position === null ? null : position + bytesWritten);
      return { bytesWritten, buffers };
    }
    async *readLines(options) {
      yield* hooks.builtins.readline.createInterface({ input: this.createReadStream(options) });
    }
    createReadStream(options) {
      return new ReadStream("", { ...optionsOf(options), fd: this });
    }
    createWriteStream(options) {
      return new WriteStream("", { ...optionsOf(options), fd: this });
    }
    async [Symbol.asyncDispose]() {
      await this.close();
    }
  }
  const onHandle = { stat: "fstat", sync: "fsync", datasync: "fdatasync", truncate: "ftruncate", chmod: "fchmod", utimes: "futimes", readFile: "readFile", writeFile: "writeFile", appendFile: "appendFile" };
  for (const [name, method] of Object.entries(onHandle))
    Object.defineProperty(FileHandle.prototype, name, {
      value: async function (...args) {
        return fs[`${method}Sync`](this.fd, ...args);
      },
      writable: true,
      configurable: true,
    });
  hooks.fileStreams = {
    ReadStream: callable(ReadStream),
    WriteStream: callable(WriteStream),
    FileHandle,
    createReadStream: (path, options) => new ReadStream(path, options),
    createWriteStream: (path, options) => new WriteStream(path, options),
  };
});
