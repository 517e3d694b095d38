// file_streams.js: fs.createReadStream, fs.createWriteStream, and the handles that fs.promises.open gives.
(function (native, hooks) {
  const { fs } = hooks;
  const { Readable, Writable } = hooks.stream.stream;
  const optionsOf = (options) => {
    if (typeof options === "string") options = { encoding: options };
    if (options !== undefined && options !== null && typeof options !== "object") throw hooks.invalidType("options", "one of type string or an instance of Object", options);
    const encoding = options?.encoding;
    if (encoding && encoding !== "buffer" && !Buffer.isEncoding(encoding)) throw hooks.invalidValue("encoding", encoding, "is invalid encoding");
    return options ?? {};
  };
  // The functions a stream works with: those of its options, or `fs` as it is when the stream is made.
  const functionsOf = (given, names) => {
    if (given === undefined || given === null) return fs;
    for (const name of names) hooks.checkFunction(given[name], `options.fs.${name}`);
    return given;
  };
  const startOf = (fd, path) => {
    if (fd !== null && typeof fd === "object") {
      if (!(fd instanceof FileHandle)) throw hooks.invalidType("fd", "of type number or an instance of FileHandle", fd);
      return fd.fd;
    }
    if (fd !== undefined && fd !== null) return hooks.descriptorOf(fd);
    hooks.resolvePath(path);
    return null;
  };
  const range = (value, name) => (value === undefined ? undefined : hooks.checkInteger(value, name, 0));

  class ReadStream extends Readable {
    bytesRead = 0;
    #position;
    #fs;
    constructor(path, options) {
      const { start, end, fd, fs: given, flags = "r", autoClose = true, emitClose = true, encoding, highWaterMark = 65536, ...more } = optionsOf(options);
      super({ ...more, encoding, highWaterMark, emitClose, autoDestroy: autoClose });
      this.start = this.#position = range(start, "start");
      this.end = end === undefined || end === Infinity ? Infinity : range(end, "end");
      if (this.end < (start ?? 0)) throw hooks.outOfRange("start", `<= "end" (here: ${end})`, start);
      this.#fs = functionsOf(given, [...(fd == null ? ["open"] : []), "read", "close"]);
      Object.assign(this, { path: fd === undefined || fd === null ? path : undefined, flags, fd: startOf(fd, path), autoClose });
      holdHandle(this, fd);
    }
    _construct(done) {
      this.fd === null ? open(this, this.#fs, this.flags, done) : done();
    }
    get pending() {
      return this.fd === null;
    }
    _read(size) {
      const left = Math.min(size, this.end + 1 - (this.#position ?? this.bytesRead));
      if (left <= 0) return void this.push(null);
      const buffer = Buffer.allocUnsafe(left);
      this.#fs.read(this.fd, buffer, 0, left, this.#position ?? null, (error, count, filled) => {
        if (error) return void this.destroy(error);
        if (count > 0) {
          this.bytesRead += count;
          if (this.#position !== undefined) this.#position += count;
        }
        this.push(count > 0 ? (filled ?? buffer).subarray(0, count) : null);
      });
    }
    _destroy(error, done) {
      closeOwn(this, this.#fs, error, done);
    }
    close(done) {
      if (done) this.destroyed && this.closed ? hooks.nextTick(done) : this.once("close", done);
      this.destroy();
    }
  }
  class WriteStream extends Writable {
    bytesWritten = 0;
    #position;
    #fs;
    constructor(path, options) {
      const { start, fd, fs: given, flags = "w", mode = 0o666, autoClose = true, emitClose = true, encoding = "utf8", flush, ...more } = optionsOf(options);
      if (flush !== undefined && flush !== null) hooks.checkType(flush, "options.flush", "boolean");
      super({ ...more, defaultEncoding: encoding, emitClose, autoDestroy: autoClose });
      this.start = this.#position = range(start, "start");
      this.#fs = functionsOf(given, [...(fd == null ? ["open"] : []), "write", "close"]);
      Object.assign(this, { path: fd === undefined || fd === null ? path : undefined, flags, mode, fd: startOf(fd, path), autoClose });
      holdHandle(this, fd);
    }
    _construct(done) {
      const flags = this.start !== undefined && this.flags === "w" ? "r+" : this.flags;
      this.fd === null ? open(this, this.#fs, flags, done) : done();
    }
    get pending() {
      return this.fd === null;
    }
    _write(chunk, encoding, done, at = 0) {
      this.#fs.write(this.fd, chunk, at, chunk.length - at, this.#position ?? null, (error, count) => {
        if (error) return done(error);
        this.bytesWritten += count;
        if (this.#position !== undefined) this.#position += count;
        at + count < chunk.length ? this._write(chunk, encoding, done, at + count) : done();
      });
    }
    _destroy(error, done) {
      closeOwn(this, this.#fs, error, done);
    }
    close(done) {
      if (done) this.closed ? hooks.nextTick(done) : this.once("close", done);
      if (!this.autoClose) this.on("finish", () => this.destroy());
      this.end();
    }
  }
  WriteStream.prototype.destroySoon = WriteStream.prototype.end;
  const open = (stream, functions, flags, done) => {
    const opened = (error, fd) => {
      if (error) return done(error);
      stream.fd = fd;
      done();
      stream.emit("open", fd);
      stream.emit("ready");
    };
    functions.open(stream.path, flags, stream.mode ?? 0o666, opened);
  };
  const closeOwn = (stream, functions, error, done) => {
    const { fd } = stream;
    stream.fd = null;
    const handle = handles.get(stream);
    if (fd === null || !stream.autoClose) return done(error);
    if (handle) return void handle.close().then(() => done(error), (failed) => done(error ?? failed));
    functions.close(fd, (failed) => done(error ?? failed));
  };
  // A stream over a handle closes with it, and closes it.
  const handles = new WeakMap();
  const holdHandle = (stream, handle) => {
    if (!(handle instanceof FileHandle)) return;
    handles.set(stream, handle);
    handle.once("close", () => stream.destroy());
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
    #use(syscall) {
      if (this.fd < 0) throw hooks.codedError(Error, "EBADF", "file closed", { syscall });
      return this.fd;
    }
    async read(buffer, ...rest) {
      const fd = this.#use("read");
      if (!ArrayBuffer.isView(buffer)) {
        const options = buffer ?? {};
        buffer = options.buffer ?? Buffer.alloc(16384);
        rest = [options.offset, options.length, options.position];
      }
      return { bytesRead: buffer.byteLength === 0 ? 0 : fs.readSync(fd, buffer, ...rest), buffer };
    }
    async write(data, ...rest) {
      return { bytesWritten: data.byteLength === 0 ? 0 : fs.writeSync(this.#use("write"), data, ...rest), buffer: data };
    }
    async readv(buffers, position) {
      return { bytesRead: fs.readvSync(this.#use("read"), buffers, position), buffers };
    }
    async writev(buffers, position) {
      return { bytesWritten: fs.writevSync(this.#use("write"), buffers, position), buffers };
    }
    async writeFile(data, options) {
      this.#use("write");
      return fs.promises.writeFile(this, data, options);
    }
    async appendFile(data, options) {
      return this.writeFile(data, options);
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
  const onHandle = { stat: "fstat", sync: "fsync", datasync: "fdatasync", truncate: "ftruncate", chmod: "fchmod", chown: "fchown", utimes: "futimes", readFile: "readFile" };
  for (const [name, method] of Object.entries(onHandle))
    Object.defineProperty(FileHandle.prototype, name, {
      value: async function (...args) {
        if (this.fd < 0) throw hooks.codedError(Error, "EBADF", "file closed", { syscall: name });
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
