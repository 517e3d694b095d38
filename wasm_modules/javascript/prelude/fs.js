// fs.js: the modules `fs` and `fs/promises` over the session's files. Everything happens at once; the promise and callback
// forms only deliver it later.
(function (native, hooks) {
  const S_IFMT = 0o170000,
    S_IFDIR = 0o040000,
    S_IFREG = 0o100000,
    S_IFLNK = 0o120000,
    LINKS_MAX = 40;

  const resolve = (path) => {
    if (path instanceof URL) path = decodeURIComponent(path.pathname);
    if (path instanceof Uint8Array) path = native.decode(path, false);
    const full = hooks.path.resolve(path);
    if (full.includes("\0"))
      throw Object.assign(new TypeError("The path must not contain null bytes"), { code: "ERR_INVALID_ARG_VALUE" });
    return full;
  };

  const encodingIn = (options) => (typeof options === "string" ? options : options?.encoding);

  const missing = (syscall, path) =>
    Object.assign(new Error(`ENOENT: no such file or directory, ${syscall} '${path}'`), {
      errno: -2,
      code: "ENOENT",
      syscall,
      path,
    });

  class Stats {
    constructor([mode, size, mtimeMs, ctimeMs, atimeMs, nlink, ino]) {
      Object.assign(this, { mode, size, nlink, ino, atimeMs, mtimeMs, ctimeMs, birthtimeMs: ctimeMs });
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
      native.write(resolve(path), bytes, mode);
    },
    appendFile(path, data, options) {
      if (typeof path === "number") return writeAll(path, hooks.asBytes(data, encodingIn(options)));
      native.write(resolve(path), hooks.asBytes(data, encodingIn(options)), 1);
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
      const full = resolve(path);
      if (!(options === true || options?.recursive)) return native.mkdir(full);
      let made,
        at = "";
      for (const part of full.split("/").filter(Boolean)) {
        at += `/${part}`;
        if (native.stat(at, true) !== null) continue;
        native.mkdir(at);
        made ??= at;
      }
      if (made === undefined && !sync.stat(full).isDirectory())
        throw Object.assign(new Error(`EEXIST: file already exists, mkdir '${path}'`), {
          errno: -17,
          code: "EEXIST",
          syscall: "mkdir",
          path,
        });
      return made;
    },
    mkdtemp(prefix) {
      const bytes = new Uint8Array(3);
      native.random(bytes);
      const path = `${prefix}${hooks.hex(bytes)}`;
      native.mkdir(resolve(path));
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
    copyFile(from, to) {
      native.write(resolve(to), native.read(resolve(from)), 0);
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
    access(path) {
      if (native.stat(resolve(path), true) === null) throw missing("access", path);
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
          throw Object.assign(new Error(`ELOOP: too many symbolic links encountered, realpath '${path}'`), {
            errno: -40,
            code: "ELOOP",
            syscall: "realpath",
            path,
          });
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
        throw Object.assign(new TypeError('The "cb" argument must be of type function'), { code: "ERR_INVALID_ARG_TYPE" });
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
  hooks.resolvePath = resolve;
  hooks.fs = fs;
});
