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

  const descriptor = (fd) => {
    if (Number.isInteger(fd) && fd >= 0) return fd;
    throw invalid(`The "fd" argument must be of type number. Received ${hooks.inspect(fd)}`, "ERR_INVALID_ARG_TYPE");
  };

  // The piece of a buffer that is meant by (offset, length, position) or by an object of these.
  const pieceOf = (buffer, offset, length, position) => {
    if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
    const bytes = hooks.viewBytes(buffer),
      from = offset ?? 0,
      count = length ?? bytes.length - from;
    if (from < 0 || count < 0 || from + count > bytes.length)
      throw Object.assign(new RangeError(`The value of "length" is out of range: ${count} bytes at ${from} of ${bytes.length}`), {
        code: "ERR_OUT_OF_RANGE",
      });
    return { bytes: bytes.subarray(from, from + count), position: Number(position ?? -1) };
  };

  const seconds = (time) => (time instanceof Date ? time.getTime() / 1000 : Number(time));

  // There is one user: a file can be given only to the one it belongs to.
  const keepOwner = (found, uid, gid, syscall, path) => {
    if ([uid, gid].some((id) => id !== -1 && id !== found.uid))
      throw hooks.refusal("EPERM", -1, "operation not permitted", syscall, path);
  };

  class Dir {
    #entries;
    constructor(path) {
      this.path = path;
      this.#entries = fs.readdirSync(path, { withFileTypes: true });
    }
    readSync() {
      return this.#entries.shift() ?? null;
    }
    async read() {
      return this.readSync();
    }
    closeSync() {
      this.#entries = [];
    }
    async close() {
      this.closeSync();
    }
    async *[Symbol.asyncIterator]() {
      yield* this.#entries;
    }
  }

  const sync = {
    open(path, flags, mode) {
      const full = hooks.resolvePath(path),
        bits = bitsOf(flags ?? "r");
      return bits & CREATED ? hooks.withMode(full, mode, () => native.open(full, bits)) : native.open(full, bits);
    },
    close: (fd) => native.close(descriptor(fd)),
    fstat: (fd) => fs.statSync(descriptor(fd)),
    fchmod: (fd, mode) => native.chmod(descriptor(fd), hooks.modeOf(mode)),
    fchown: (fd, uid, gid) => keepOwner(fs.fstatSync(fd), uid, gid, "fchown", fd),
    fsync: (fd) => native.sync(descriptor(fd)),
    fdatasync: (fd) => native.sync(descriptor(fd)),
    ftruncate: (fd, size = 0) => native.resize(descriptor(fd), size),
    read(fd, buffer, offset, length, position) {
      const piece = pieceOf(buffer, offset, length, position);
      return native.readInto(descriptor(fd), piece.bytes, piece.position);
    },
    write(fd, data, offset, length, position) {
      if (typeof data !== "string") {
        const piece = pieceOf(data, offset, length, position);
        return native.writeFrom(descriptor(fd), piece.bytes, piece.position);
      }
      return native.writeFrom(descriptor(fd), hooks.asBytes(data, length), Number(offset ?? -1));
    },
  };
  const onPaths = {
    readlink: (path) => native.readlink(hooks.resolvePath(path)),
    utimes: (path, accessed, modified) => native.utimes(hooks.resolvePath(path), seconds(accessed), seconds(modified)),
    chmod: (path, mode) => native.chmod(hooks.resolvePath(path), hooks.modeOf(mode)),
    chown: (path, uid, gid) => keepOwner(fs.statSync(path), uid, gid, "chown", path),
    lchown: (path, uid, gid) => keepOwner(fs.lstatSync(path), uid, gid, "lchown", path),
    opendir: (path) => new Dir(hooks.resolvePath(path)),
  };
  Object.assign(fs.constants, constants);
  hooks.addFileFunctions(sync, false);
  hooks.addFileFunctions(onPaths, true);
});
