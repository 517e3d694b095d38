// descriptors.js: the part of `fs` that works with open files, links, times and modes.
(function (native, hooks) {
  const { fs } = hooks;
  // Numbers as Linux has them: programs that were written for it name or know them.
  const constants = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 0o100, O_EXCL: 0o200, O_TRUNC: 0o1000, O_APPEND: 0o2000 };
  const READING = 1,
    WRITING = 2,
    AT_END = 4,
    CREATED = 8,
    EMPTIED = 16,
    NEW = 32;
  const LETTERS = { r: READING, w: WRITING | CREATED | EMPTIED, a: WRITING | CREATED | AT_END };

  const invalid = (message, code) => Object.assign(new TypeError(message), { code });

  const bitsOf = (flags) => {
    if (typeof flags === "number") {
      const kind = [READING, WRITING, READING | WRITING][flags & 3] ?? READING;
      const has = (name, bit) => (flags & constants[name] ? bit : 0);
      return kind | has("O_CREAT", CREATED) | has("O_EXCL", NEW) | has("O_TRUNC", EMPTIED) | has("O_APPEND", AT_END);
    }
    const match = /^([rwa])(?:(s?)|(x?))(\+?)$/.exec(flags);
    if (!match) throw invalid(`The argument 'flags' is invalid. Received ${hooks.inspect(flags)}`, "ERR_INVALID_ARG_VALUE");
    return LETTERS[match[1]] | (match[3] ? NEW : 0) | (match[4] ? READING | WRITING : 0);
  };

  const descriptor = hooks.descriptorOf;
  // The piece of a buffer that is meant by (offset, length, position) or by an object of these.
  const pieceOf = (buffer, offset, length, position) => {
    if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
    if (!ArrayBuffer.isView(buffer)) throw hooks.invalidType("buffer", "an instance of Buffer, TypedArray, or DataView", buffer);
    const bytes = hooks.viewBytes(buffer),
      from = hooks.checkInteger(offset ?? 0, "offset", 0),
      count = length ?? bytes.length - from;
    if (typeof count !== "number") throw hooks.invalidType("length", "of type number", count);
    if (count !== 0 && from > bytes.length) throw hooks.outOfRange("offset", `<= ${bytes.length}`, from);
    if (count !== 0 && (count < 0 || count > bytes.length - from)) throw hooks.outOfRange("length", count < 0 ? ">= 0" : `<= ${bytes.length - from}`, count);
    if (!Number.isInteger(count)) throw hooks.outOfRange("length", "an integer", count);
    if (position !== undefined && position !== null && typeof position !== "bigint" && typeof position !== "number")
      throw hooks.invalidType("position", "one of type integer or bigint", position);
    if (typeof position === "number") hooks.checkInteger(position, "position", -1);
    return { bytes: bytes.subarray(from, from + count), position: Number(position ?? -1) };
  };
  // fs.read may be called without a buffer, or with an object of options.
  let own;
  hooks.ownBuffer = () => own;
  const readOptions = (buffer, offset) => {
    if (ArrayBuffer.isView(buffer)) return undefined;
    if (buffer !== undefined && buffer !== null && typeof buffer !== "object") throw hooks.invalidType("buffer", "an instance of Buffer, TypedArray, or DataView", buffer);
    const given = buffer ?? {};
    if (given.buffer === null) throw hooks.invalidType("buffer", "an instance of Buffer, TypedArray, or DataView", null);
    own = given.buffer ?? Buffer.alloc(16384);
    return [own, given.offset, given.length, given.position];
  };
  const checkPieces = (buffers) => {
    if (!Array.isArray(buffers) || !buffers.every((buffer) => ArrayBuffer.isView(buffer))) throw hooks.invalidType("buffers", "an ArrayBufferView[]", buffers);
    return buffers;
  };
  // Buffer after buffer, from a position on or where the file stands.
  const eachPiece = (fd, buffers, position, transfer) => {
    let total = 0;
    for (const buffer of checkPieces(buffers)) {
      if (buffer.byteLength === 0) continue;
      const count = transfer(fd, buffer, 0, buffer.byteLength, typeof position === "number" ? position + total : null);
      total += count;
      if (count < buffer.byteLength) break;
    }
    return total;
  };

  const seconds = (time, name = "time") => {
    if (typeof time === "string" && +time == time) return +time;
    if (Number.isFinite(time)) return time < 0 ? Date.now() / 1000 : time;
    if (time instanceof Date) return time.getTime() / 1000;
    throw hooks.invalidType(name, "an instance of Date or Time in seconds", time);
  };

  // There is one user: a file can be given only to the one it belongs to.
  const keepOwner = (find, uid, gid, syscall, path) => {
    hooks.checkInteger(uid, "uid", -1, 2 ** 32 - 1);
    hooks.checkInteger(gid, "gid", -1, 2 ** 32 - 1);
    const found = find(path);
    if ([uid, gid].some((id) => id !== -1 && id !== found.uid))
      throw hooks.refusal("EPERM", -1, "operation not permitted", syscall, path);
  };

  class Dir {
    #entries;
    constructor(path, options) {
      if (path === undefined) throw hooks.codedError(TypeError, "ERR_MISSING_ARGS", 'The "handle" argument must be specified');
      const { bufferSize = 32, ...more } = typeof options === "string" ? { encoding: options } : (options ?? {});
      hooks.checkInteger(bufferSize, "options.bufferSize", 1, 2 ** 32 - 1);
      this.path = path;
      this.#entries = fs.readdirSync(path, { ...more, withFileTypes: true });
    }
    #check() {
      if (this.#entries === undefined) throw hooks.codedError(Error, "ERR_DIR_CLOSED", "Directory handle was closed");
    }
    // The callback form if there is a callback, else a promise.
    #later(method, callback) {
      if (callback === undefined) return Promise.try(method);
      hooks.checkFunction(callback, "callback");
      this.#check();
      const value = method();
      setImmediate(() => (value === undefined ? callback(null) : callback(null, value)));
    }
    readSync() {
      this.#check();
      return this.#entries.shift() ?? null;
    }
    read(callback) {
      return this.#later(() => this.readSync(), callback);
    }
    closeSync() {
      this.#check();
      this.#entries = undefined;
    }
    close(callback) {
      return this.#later(() => this.closeSync(), callback);
    }
    async *entries() {
      try {
        for (let entry; (entry = this.readSync()) !== null; ) yield entry;
      } finally {
        this.closeSync();
      }
    }
    [Symbol.asyncIterator]() {
      return this.entries();
    }
  }

  const sync = {
    open(path, flags, mode) {
      const full = hooks.resolvePath(path),
        bits = bitsOf(flags ?? "r");
      if (mode !== undefined && mode !== null) hooks.modeOf(mode);
      return bits & CREATED ? hooks.withMode(full, mode, () => native.open(full, bits)) : native.open(full, bits);
    },
    close: (fd) => native.close(descriptor(fd)),
    fstat: (fd) => fs.statSync(descriptor(fd)),
    fchmod: (fd, mode) => native.chmod(descriptor(fd), hooks.modeOf(mode)),
    fchown: (fd, uid, gid) => keepOwner(fs.fstatSync, uid, gid, "fchown", descriptor(fd)),
    futimes: (fd, accessed, modified) => native.utimes(descriptor(fd), seconds(accessed, "atime"), seconds(modified, "mtime")),
    fsync: (fd) => native.sync(descriptor(fd)),
    fdatasync: (fd) => native.sync(descriptor(fd)),
    ftruncate: (fd, size = 0) => native.resize(descriptor(fd), Math.max(0, hooks.checkInteger(size ?? 0, "len"))),
    readv: (fd, buffers, position) => eachPiece(descriptor(fd), buffers, position, sync.read),
    writev: (fd, buffers, position) => eachPiece(descriptor(fd), buffers, position, sync.write),
    read(fd, buffer, offset, length, position) {
      descriptor(fd);
      const options = readOptions(buffer);
      if (options) [buffer, offset, length, position] = options;
      if (ArrayBuffer.isView(buffer) && buffer.byteLength === 0 && length !== 0 && options === undefined && typeof length === "number")
        throw hooks.invalidValue("buffer", buffer, "is empty and cannot be written");
      const piece = pieceOf(buffer, offset, length, position);
      return native.readInto(descriptor(fd), piece.bytes, piece.position);
    },
    write(fd, data, offset, length, position) {
      descriptor(fd);
      if (typeof data !== "string") {
        if (!ArrayBuffer.isView(data)) throw hooks.invalidType("buffer", "of type string or an instance of Buffer, TypedArray, or DataView", data);
        const piece = pieceOf(data, offset, length, position);
        return native.writeFrom(descriptor(fd), piece.bytes, piece.position);
      }
      return native.writeFrom(descriptor(fd), hooks.asBytes(data, typeof length === "string" ? length : "utf8"), Number(offset ?? -1));
    },
  };
  const onPaths = {
    readlink: (path, options) => hooks.nameIn(native.readlink(hooks.resolvePath(path)), options),
    utimes: (path, accessed, modified) => native.utimes(hooks.resolvePath(path), seconds(accessed, "atime"), seconds(modified, "mtime")),
    lutimes: (path, accessed, modified) => native.utimes(hooks.resolvePath(path), seconds(accessed, "atime"), seconds(modified, "mtime"), true),
    chmod: (path, mode) => native.chmod(hooks.resolvePath(path), hooks.modeOf(mode)),
    chown: (path, uid, gid) => (hooks.resolvePath(path), keepOwner(fs.statSync, uid, gid, "chown", path)),
    lchown: (path, uid, gid) => (hooks.resolvePath(path), keepOwner(fs.lstatSync, uid, gid, "lchown", path)),
    opendir: (path, options) => new Dir(hooks.resolvePath(path), options),
  };
  Object.assign(fs.constants, constants, { O_NOCTTY: 0o400, O_DIRECTORY: 0o200000, O_NOFOLLOW: 0o400000, O_SYNC: 0o4010000, O_DSYNC: 0o10000, O_NONBLOCK: 0o4000, O_NOATIME: 0o1000000, O_DIRECT: 0o40000 });
  Object.assign(fs, { Dir, _toUnixTimestamp: seconds });
  hooks.addFileFunctions(sync, false);
  hooks.addFileFunctions(onPaths, true);
});
