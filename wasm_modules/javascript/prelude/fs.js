// fs.js: the modules `fs` and `fs/promises` over the session's files. Everything happens at once; the promise and callback
// forms only deliver it later.
(function (native, hooks) {
  const S_IFMT = 0o170000,
    S_IFDIR = 0o040000,
    S_IFREG = 0o100000,
    S_IFLNK = 0o120000,
    LINKS_MAX = 40;

  const refusal = (code, errno, text, syscall, path) =>
    Object.assign(new Error(`${code}: ${text}, ${syscall} '${path}'`), { errno, code, syscall, path });
  const missing = (syscall, path) => refusal("ENOENT", -2, "no such file or directory", syscall, path);

  const textOf = (path, name) => {
    if (path instanceof URL) return hooks.builtins.url.fileURLToPath(path);
    if (path instanceof Uint8Array) return native.decode(path, false);
    if (typeof path !== "string") throw hooks.invalidType(name, "of type string or an instance of Buffer or URL", path);
    return path;
  };
  const resolve = (path, name = "path") => {
    const text = textOf(path, name);
    if (text === "") throw missing("open", text);
    if (text.includes("\0")) throw hooks.invalidValue(name, path, "must be a string, Uint8Array, or URL without null bytes");
    return hooks.path.resolve(text);
  };
  const descriptorOf = (fd) => hooks.checkInteger(fd, "fd", 0, 2147483647);
  // Both are looked at before either is found to be missing.
  const resolveBoth = (a, b, [first, second]) => {
    textOf(a, first);
    textOf(b, second);
    return [resolve(a, first), resolve(b, second)];
  };
  // A path, or the number of an open file.
  const placeOf = (path) => (typeof path === "number" ? descriptorOf(path) : resolve(path));

  // Options as an object; an encoding alone stands for one.
  const optionsOf = (options) => {
    if (options === null || options === undefined || typeof options === "function") return {};
    if (typeof options === "string") options = { encoding: options };
    if (typeof options !== "object") throw hooks.invalidType("options", "one of type string or an instance of Object", options);
    const { encoding, signal } = options;
    if (encoding && encoding !== "buffer" && !Buffer.isEncoding(encoding)) throw hooks.invalidValue("encoding", encoding, "is invalid encoding");
    if (signal !== undefined && typeof signal?.aborted !== "boolean") throw hooks.invalidType("options.signal", "an instance of AbortSignal", signal);
    return options;
  };
  const encodingIn = (options) => optionsOf(options).encoding;
  // A name as the encoding that was asked for has it.
  const named = (text, options) => {
    const encoding = encodingIn(options);
    if (!encoding || /^utf-?8$/i.test(encoding)) return text;
    return encoding === "buffer" ? Buffer.from(text) : Buffer.from(text).toString(encoding);
  };
  const checkSignal = ({ signal }) => {
    if (signal?.aborted) throw hooks.abortError(signal.reason);
  };
  const TYPES = { isFile: S_IFREG, isDirectory: S_IFDIR, isSymbolicLink: S_IFLNK, isFIFO: 0o010000, isSocket: 0o140000, isBlockDevice: 0o060000, isCharacterDevice: 0o020000 };

  class Stats {
    constructor([mode, size, mtimeMs, ctimeMs, atimeMs, nlink, ino, uid]) {
      Object.assign(this, { dev: 1, mode, nlink, uid, gid: uid, size, ino, atimeMs, mtimeMs, ctimeMs, birthtimeMs: ctimeMs });
      this.atime = new Date(atimeMs);
      this.mtime = new Date(mtimeMs);
      this.ctime = this.birthtime = new Date(ctimeMs);
    }
  }
  // With `bigint: true` all numbers are, and times have nanoseconds too.
  class BigIntStats {
    constructor(stats) {
      for (const [name, value] of Object.entries(stats)) this[name] = typeof value === "number" ? BigInt(Math.trunc(value)) : value;
      for (const name of ["atime", "mtime", "ctime", "birthtime"]) this[`${name}Ns`] = BigInt(Math.round(stats[`${name}Ms`] * 1000)) * 1000n;
    }
  }

  class Dirent {
    #type;
    constructor(name, parentPath, type) {
      this.name = name;
      this.parentPath = this.path = parentPath;
      this.#type = type;
    }
    static typeOf(entry) {
      return { f: S_IFREG, d: S_IFDIR, l: S_IFLNK }[entry.#type];
    }
  }
  const { typeOf } = Dirent;
  delete Dirent.typeOf;
  for (const [name, type] of Object.entries(TYPES)) {
    const add = (Kind, test) => Object.defineProperty(Kind.prototype, name, { value: Object.defineProperty(test, "name", { value: name }), writable: true, configurable: true });
    for (const Kind of [Stats, BigIntStats])
      add(Kind, function () {
        return (Number(this.mode) & S_IFMT) === type;
      });
    add(Dirent, function () {
      return typeOf(this) === type;
    });
  }

  const stat = (path, options, follow, syscall) => {
    const fields = native.stat(placeOf(path), follow);
    if (fields) return options?.bigint ? new BigIntStats(new Stats(fields)) : new Stats(fields);
    if (options?.throwIfNoEntry === false) return undefined;
    throw missing(syscall, path);
  };

  const isDirectory = (path) => {
    const fields = native.stat(path, false);
    return fields !== null && (fields[0] & S_IFMT) === S_IFDIR;
  };

  const entries = (path) => {
    const flat = native.list(path),
      out = [];
    for (let i = 0; i < flat.length; i += 2) out.push({ name: flat[i], type: flat[i + 1] });
    return out.sort((a, b) => (a.name < b.name ? -1 : 1));
  };

  // Every directory and file below `path`, parents first, without recursion.
  const walk = (path) => {
    const found = [],
      queue = [""];
    while (queue.length) {
      const below = queue.shift();
      for (const { name, type } of entries(below ? `${path}/${below}` : path)) {
        const relative = below ? `${below}/${name}` : name;
        found.push({ name, relative, parent: below ? `${path}/${below}` : path, type });
        if (type === "d") queue.push(relative);
      }
    }
    return found;
  };

  const writeAll = (fd, bytes) => {
    for (let done = 0; done < bytes.length;) done += native.writeFrom(fd, bytes.subarray(done), -1);
  };

  const USER = 1000;
  const modeOf = (mode, name = "mode") => {
    if (typeof mode !== "string") return hooks.checkInteger(mode, name, 0, 2 ** 32 - 1);
    if (!/^[0-7]+$/.test(mode)) throw hooks.invalidValue(name, mode, "must be a 32-bit unsigned integer or an octal string");
    return parseInt(mode, 8);
  };

  // A file that `make` makes gets the mode that is asked for; one that was there keeps its own.
  const withMode = (path, mode, make) => {
    const wanted = mode == null ? undefined : modeOf(mode),
      isNew = wanted !== undefined && native.stat(path, true) === null;
    const made = make();
    if (isNew) native.chmod(path, wanted & ~native.umask(-1));
    return made;
  };

  // What `use` gives of a file that is open meanwhile.
  const opened = (path, flags, use, mode) => {
    const fd = fs.openSync(path, flags, mode);
    try {
      return use(fd);
    } finally {
      fs.closeSync(fd);
    }
  };

  const sync = {
    readFile(path, options) {
      const { encoding, flag = "r", ...more } = optionsOf(options);
      checkSignal(more);
      const place = path === "/dev/stdin" ? 0 : placeOf(path);
      if (flag !== "r" && typeof place !== "number") return opened(place, flag, (fd) => sync.readFile(fd, options));
      const bytes = native.read(place);
      if (encoding && encoding !== "buffer") return hooks.encodingOf(encoding).decode(bytes);
      return Buffer.from(bytes.buffer);
    },
    writeFile(path, data, options) {
      const { flag = "w", encoding, mode, ...more } = optionsOf(options);
      const bytes = hooks.asBytes(data, encoding),
        place = placeOf(path);
      checkSignal(more);
      if (typeof place === "number") return writeAll(place, bytes);
      if (flag !== "w") return opened(place, flag, (fd) => writeAll(fd, bytes), mode);
      withMode(place, mode, () => native.write(place, bytes, 0));
    },
    appendFile(path, data, options) {
      sync.writeFile(path, data, { flag: "a", ...optionsOf(options) });
    },
    readdir(path, options) {
      const { withFileTypes, recursive } = optionsOf(options);
      if (recursive !== undefined && recursive !== null) hooks.checkType(recursive, "options.recursive", "boolean");
      const root = resolve(path);
      const list = recursive ? walk(root) : entries(root).map(({ name, type }) => ({ name, type, relative: name, parent: root }));
      return list.map((e) => (withFileTypes ? new Dirent(named(e.name, options), e.parent, e.type) : named(e.relative, options)));
    },
    mkdir(path, options) {
      const full = resolve(path),
        mode = typeof options === "object" ? options?.mode : options;
      if (options?.recursive !== undefined) hooks.checkType(options.recursive, "options.recursive", "boolean");
      if (!options?.recursive) return withMode(full, mode, () => native.mkdir(full));
      let made,
        at = "";
      for (const part of full.split("/").filter(Boolean)) {
        at += `/${part}`;
        if (native.stat(at, true) !== null) continue;
        withMode(at, mode, () => native.mkdir(at));
        made ??= at;
      }
      if (made === undefined && !sync.stat(full).isDirectory())
        throw refusal("EEXIST", -17, "file already exists", "mkdir", path);
      return made;
    },
    mkdtemp(given, options) {
      const prefix = textOf(given, "prefix");
      const bytes = new Uint8Array(3);
      native.random(bytes);
      const path = `${prefix}${hooks.hex(bytes)}`;
      sync.mkdir(path, 0o700);
      return named(path, options);
    },
    rm(path, options) {
      const full = resolve(path);
      if (native.stat(full, false) === null) {
        if (options?.force) return;
        throw missing("rm", path);
      }
      if (!isDirectory(full)) return native.unlink(full);
      if (!options?.recursive)
        throw Object.assign(new Error(`Path is a directory: rm returned EISDIR (is a directory) ${path}`), {
          errno: 21,
          code: "ERR_FS_EISDIR",
          syscall: "rm",
          path,
        });
      for (const { relative, type } of walk(full).reverse())
        type === "d" ? native.rmdir(`${full}/${relative}`) : native.unlink(`${full}/${relative}`);
      native.rmdir(full);
    },
    rmdir(path, options) {
      const full = resolve(path);
      if (!options?.recursive || !isDirectory(full)) return native.rmdir(full);
      return sync.rm(path, { recursive: true });
    },
    unlink(path) {
      native.unlink(resolve(path));
    },
    rename(from, to) {
      native.rename(...resolveBoth(from, to, ["oldPath", "newPath"]));
    },
    symlink(target, path, type) {
      if (!["dir", "file", "junction", null, undefined].includes(type))
        throw hooks.codedError(Error, "ERR_FS_INVALID_SYMLINK_TYPE", `Symlink type must be one of "dir", "file", or "junction". Received "${type}"`);
      native.symlink(textOf(target, "target"), resolve(path));
    },
    link(from, to) {
      native.link(...resolveBoth(from, to, ["existingPath", "newPath"]));
    },
    copyFile(from, to, mode) {
      const [source, target] = resolveBoth(from, to, ["src", "dest"]);
      if (mode !== undefined && mode !== null) hooks.checkInteger(mode, "mode", 0, 7);
      if (mode & 1 && native.stat(target, true) !== null) throw refusal("EEXIST", -17, "file already exists", "copyfile", `${from}' -> '${to}`);
      const bytes = native.read(source);
      sync.writeFile(to, bytes, { mode: sync.stat(from).mode & 0o777 });
    },
    cp(from, to, options) {
      const source = resolve(from),
        target = resolve(to);
      if (!isDirectory(source)) return sync.copyFile(source, target);
      if (!options?.recursive)
        throw Object.assign(new Error(`Recursive option not enabled, cannot copy a directory: ${from}`), {
          code: "ERR_FS_EISDIR",
        });
      sync.mkdir(target, { recursive: true });
      for (const { relative, type } of walk(source))
        type === "d"
          ? sync.mkdir(`${target}/${relative}`, { recursive: true })
          : sync.copyFile(`${source}/${relative}`, `${target}/${relative}`);
    },
    stat(path, options) {
      return stat(path, options, true, "stat");
    },
    lstat(path, options) {
      return stat(path, options, false, "lstat");
    },
    access(path, want = 0) {
      const full = resolve(path);
      hooks.checkInteger(want ?? 0, "mode", 0, 7);
      const fields = native.stat(full, true);
      if (fields === null) throw missing("access", path);
      if (((fields[0] >> (fields[7] === USER ? 6 : 0)) & want) !== want)
        throw refusal("EACCES", -13, "permission denied", "access", path);
    },
    // Link by link: what a link leads to may lead through further ones.
    realpath(path, options) {
      let at = "/",
        links = 0;
      encodingIn(options);
      for (let parts = resolve(path).split("/"); parts.length;) {
        const part = parts.shift(),
          next = hooks.path.join(at, part);
        const fields = native.stat(next, false);
        if (fields === null) throw missing("realpath", path);
        if ((fields[0] & S_IFMT) !== S_IFLNK) {
          at = next;
          continue;
        }
        if (++links > LINKS_MAX)
          throw refusal("ELOOP", -40, "too many symbolic links encountered", "realpath", path);
        const target = native.readlink(next);
        if (target.startsWith("/")) at = "/";
        parts = [...target.split("/"), ...parts];
      }
      return named(at, options);
    },
    truncate(path, size = 0) {
      if (typeof path === "number") return fs.ftruncateSync(path, size);
      size = Math.max(0, hooks.checkInteger(size ?? 0, "len"));
      const bytes = new Uint8Array(size);
      bytes.set(native.read(resolve(path)).subarray(0, size));
      native.write(resolve(path), bytes, 0);
    },
  };

  const access = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };
  const constants = {
    ...access,
    ...{ S_IFMT, S_IFREG, S_IFDIR, S_IFLNK, S_IFCHR: 0o020000, S_IFBLK: 0o060000, S_IFIFO: 0o010000, S_IFSOCK: 0o140000 },
    ...{ S_IRWXU: 0o700, S_IRUSR: 0o400, S_IWUSR: 0o200, S_IXUSR: 0o100, S_IRWXG: 0o70, S_IRGRP: 0o40, S_IWGRP: 0o20, S_IXGRP: 0o10 },
    ...{ S_IRWXO: 7, S_IROTH: 4, S_IWOTH: 2, S_IXOTH: 1, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4 },
    ...{ UV_FS_COPYFILE_EXCL: 1, UV_FS_COPYFILE_FICLONE: 2, UV_FS_COPYFILE_FICLONE_FORCE: 4, UV_FS_SYMLINK_DIR: 1, UV_FS_SYMLINK_JUNCTION: 2 },
    ...{ UV_DIRENT_UNKNOWN: 0, UV_DIRENT_FILE: 1, UV_DIRENT_DIR: 2, UV_DIRENT_LINK: 3, UV_DIRENT_FIFO: 4, UV_DIRENT_SOCKET: 5, UV_DIRENT_CHAR: 6, UV_DIRENT_BLOCK: 7 },
  };
  const fs = { constants, ...access, Stats, Dirent, promises: { constants } };

  // An error names paths as the program gave them.
  const asGiven =
    (method) =>
    (...args) => {
      try {
        return method(...args);
      } catch (error) {
        for (const given of args.slice(0, 2)) {
          const full = typeof given === "string" ? hooks.path.resolve(given) : given;
          if (full === given || typeof error?.message !== "string") continue;
          error.message = error.message.replace(`'${full}'`, `'${given}'`);
          for (const name of ["path", "dest"]) if (error[name] === full) error[name] = given;
        }
        throw error;
      }
    };
  // Adds each function in its three forms, or without the one that gives a promise.
  hooks.addFileFunctions = (functions, withPromises) => {
    for (const [name, method] of Object.entries(functions)) addFunction(name, asGiven(method), withPromises);
  };
  // Wrong arguments are said at once; what the files say comes with the callback.
  const MISTAKES = /^ERR_(INVALID_(ARG|URL|FILE)_|OUT_OF_RANGE|UNKNOWN_ENCODING)/;
  // What callbacks get besides the value: the buffer that was read into or written.
  const WITH_BUFFER = { read: "bytesRead", write: "bytesWritten", readv: "bytesRead", writev: "bytesWritten" };
  const addFunction = (name, method, withPromises) => {
    fs[`${name}Sync`] = method;
    if (withPromises) fs.promises[name] = async (...args) => method(...args);
    const later = (...args) => {
      const ignore = (error) => {
        if (error) throw error;
      };
      const callback = name === "close" && args.length === 1 ? ignore : args.pop();
      hooks.checkFunction(callback, "cb");
      const attempt = () => {
        try {
          const value = method(...args);
          return name in WITH_BUFFER ? [null, value, bufferOf(name, args)] : value === undefined ? [null] : [null, value];
        } catch (error) {
          if (MISTAKES.test(error?.code)) throw error;
          return name in WITH_BUFFER ? [error, 0, bufferOf(name, args)] : [error];
        }
      };
      // What a signal may stop begins later.
      if (args.some((arg) => arg?.signal !== undefined && optionsOf(arg))) return void setImmediate(() => callback(...attempt()));
      const outcome = attempt();
      setImmediate(() => callback(...outcome));
    };
    if (name in WITH_BUFFER)
      Object.defineProperty(later, Symbol.for("nodejs.util.promisify.custom"), {
        value: async (...args) => {
          const value = method(...args);
          return { [WITH_BUFFER[name]]: value, [name.endsWith("v") ? "buffers" : "buffer"]: bufferOf(name, args) };
        },
      });
    fs[name] = Object.defineProperty(later, "name", { value: name });
  };
  const bufferOf = (name, args) => {
    if (name !== "read") return args[1];
    return ArrayBuffer.isView(args[1]) ? args[1] : (args[1]?.buffer ?? hooks.ownBuffer());
  };
  hooks.addFileFunctions(sync, true);
  // The promise forms take handles for paths, and write what streams and iterators give.
  const isHandle = (path) => typeof path === "object" && path !== null && Number.isInteger(path.fd);
  const each = async function* (data, options) {
    for await (const piece of data) {
      checkSignal(optionsOf(options));
      yield hooks.asBytes(piece, encodingIn(options));
    }
  };
  const isPieces = (data) => typeof data === "object" && data !== null && !ArrayBuffer.isView(data) && (data[Symbol.asyncIterator] || data[Symbol.iterator]);
  for (const name of ["readFile", "writeFile", "appendFile"]) {
    const plain = fs.promises[name];
    fs.promises[name] = async (path, ...args) => {
      const place = isHandle(path) ? path.fd : path;
      if (name === "readFile" || !isPieces(args[0])) {
        const options = args[name === "readFile" ? 0 : 1];
        if (options?.signal) await new Promise((resolve) => setImmediate(resolve));
        return plain(place, ...args);
      }
      const [data, options] = args;
      const fd = typeof place === "number" ? place : fs.openSync(place, options?.flag ?? (name === "writeFile" ? "w" : "a"), options?.mode);
      try {
        for await (const bytes of each(data, options)) writeAll(fd, bytes);
      } finally {
        if (fd !== place) fs.closeSync(fd);
      }
    };
  }
  fs.realpath.native = fs.realpath;
  fs.realpathSync.native = fs.realpathSync;
  fs.existsSync = (path) => {
    try {
      return native.stat(resolve(path), true) !== null;
    } catch {
      return false;
    }
  };
  fs.exists = (path, callback) => {
    hooks.checkFunction(callback, "cb");
    setImmediate(() => callback(fs.existsSync(path)));
  };
  Object.defineProperty(fs.exists, Symbol.for("nodejs.util.promisify.custom"), { value: async (path) => fs.existsSync(path) });
  Object.assign(hooks, { resolvePath: resolve, withMode, modeOf, refusal, descriptorOf, nameIn: named });
  hooks.fs = fs;
});
