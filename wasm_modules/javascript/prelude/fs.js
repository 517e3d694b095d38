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

  const resolve = (path) => {
    if (path instanceof URL) path = decodeURIComponent(path.pathname);
    if (path instanceof Uint8Array) path = native.decode(path, false);
    if (path === "") throw missing("open", path);
    if (typeof path !== "string") throw hooks.invalidType("path", "of type string or an instance of Buffer or URL", path);
    const full = hooks.path.resolve(path);
    if (full.includes("\0"))
      throw Object.assign(new TypeError("The path must not contain null bytes"), { code: "ERR_INVALID_ARG_VALUE" });
    return full;
  };

  const encodingIn = (options) => (typeof options === "string" ? options : options?.encoding);

  class Stats {
    constructor([mode, size, mtimeMs, ctimeMs, atimeMs, nlink, ino, uid]) {
      Object.assign(this, { dev: 1, mode, nlink, uid, gid: uid, size, ino, atimeMs, mtimeMs, ctimeMs, birthtimeMs: ctimeMs });
      this.atime = new Date(atimeMs);
      this.mtime = new Date(mtimeMs);
      this.ctime = this.birthtime = new Date(ctimeMs);
    }
    isFile() {
      return (this.mode & S_IFMT) === S_IFREG;
    }
    isDirectory() {
      return (this.mode & S_IFMT) === S_IFDIR;
    }
    isSymbolicLink() {
      return (this.mode & S_IFMT) === S_IFLNK;
    }
  }

  class Dirent {
    #type;
    constructor(name, parentPath, type) {
      this.name = name;
      this.parentPath = this.path = parentPath;
      this.#type = type;
    }
    isFile() {
      return this.#type === "f";
    }
    isDirectory() {
      return this.#type === "d";
    }
    isSymbolicLink() {
      return this.#type === "l";
    }
  }

  const stat = (path, options, follow, syscall) => {
    const fields = native.stat(typeof path === "number" ? path : resolve(path), follow);
    if (fields) return new Stats(fields);
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
  const modeOf = (mode) => (typeof mode === "string" ? parseInt(mode, 8) : mode);

  // A file that `make` makes gets the mode that is asked for; one that was there keeps its own.
  const withMode = (path, mode, make) => {
    const isNew = mode != null && native.stat(path, true) === null;
    const made = make();
    if (isNew) native.chmod(path, modeOf(mode) & ~native.umask(-1));
    return made;
  };

  const sync = {
    readFile(path, options) {
      const bytes = native.read(typeof path === "number" ? path : path === "/dev/stdin" ? 0 : resolve(path));
      const encoding = encodingIn(options);
      if (encoding && encoding !== "buffer") return hooks.encodingOf(encoding).decode(bytes);
      return Buffer.from(bytes.buffer);
    },
    writeFile(path, data, options) {
      const flag = options?.flag ?? "w",
        mode = flag.startsWith("a") ? 1 : flag.includes("x") ? 2 : 0;
      const bytes = hooks.asBytes(data, encodingIn(options));
      if (typeof path === "number") return writeAll(path, bytes);
      const full = resolve(path);
      withMode(full, options?.mode, () => native.write(full, bytes, mode));
    },
    appendFile(path, data, options) {
      sync.writeFile(path, data, { flag: "a", mode: options?.mode, encoding: encodingIn(options) });
    },
    readdir(path, options) {
      const root = resolve(path);
      if (options?.recursive) {
        const all = walk(root);
        return options.withFileTypes ? all.map((e) => new Dirent(e.name, e.parent, e.type)) : all.map((e) => e.relative);
      }
      const list = entries(root);
      return options?.withFileTypes ? list.map((e) => new Dirent(e.name, root, e.type)) : list.map((e) => e.name);
    },
    mkdir(path, options) {
      const full = resolve(path),
        mode = typeof options === "object" ? options?.mode : options;
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
    mkdtemp(prefix) {
      const bytes = new Uint8Array(3);
      native.random(bytes);
      const path = `${prefix}${hooks.hex(bytes)}`;
      sync.mkdir(path, 0o700);
      return path;
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
      return options?.recursive ? sync.rm(path, { recursive: true }) : native.rmdir(resolve(path));
    },
    unlink(path) {
      native.unlink(resolve(path));
    },
    rename(from, to) {
      native.rename(resolve(from), resolve(to));
    },
    symlink(target, path) {
      native.symlink(`${target}`, resolve(path));
    },
    link(from, to) {
      native.link(resolve(from), resolve(to));
    },
    copyFile(from, to) {
      const bytes = native.read(resolve(from));
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
      const fields = native.stat(resolve(path), true);
      if (fields === null) throw missing("access", path);
      if (((fields[0] >> (fields[7] === USER ? 6 : 0)) & want) !== want)
        throw refusal("EACCES", -13, "permission denied", "access", path);
    },
    // Link by link: what a link leads to may lead through further ones.
    realpath(path) {
      let at = "/",
        links = 0;
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
      return at;
    },
    truncate(path, size = 0) {
      const bytes = new Uint8Array(size);
      bytes.set(native.read(resolve(path)).subarray(0, size));
      native.write(resolve(path), bytes, 0);
    },
  };

  const access = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };
  const fs = { constants: { ...access }, ...access, Stats, Dirent, promises: { constants: { ...access } } };

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
  const addFunction = (name, method, withPromises) => {
    fs[`${name}Sync`] = method;
    if (withPromises) fs.promises[name] = async (...args) => method(...args);
    fs[name] = (...args) => {
      const callback = args.pop();
      if (typeof callback !== "function")
        throw hooks.invalidType("cb", "of type function", callback);
      let error = null,
        value;
      try {
        value = method(...args);
      } catch (e) {
        error = e;
      }
      setImmediate(callback, error, value);
    };
  };
  hooks.addFileFunctions(sync, true);
  fs.realpath.native = fs.realpath;
  fs.realpathSync.native = fs.realpathSync;
  fs.existsSync = (path) => {
    try {
      return native.stat(resolve(path), true) !== null;
    } catch {
      return false;
    }
  };
  fs.exists = (path, callback) => void setImmediate(callback, fs.existsSync(path));
  Object.assign(hooks, { resolvePath: resolve, withMode, modeOf, refusal });
  hooks.fs = fs;
});
