// modules.js: where the names in import and require lead, and what the files there hold.
// File modules are read once; when any of them changed on disk since, all are read afresh by the next turn that imports.
(function (native, hooks) {
  const ENDINGS = ["", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".json", "/index.js", "/index.mjs", "/index.ts", "/index.json"];
  const IS_PATH = /^(\.\.?(\/|$)|\/|file:)/;
  const OF_THE_NETWORK = ["http", "https", "http2", "net", "tls", "dgram", "dns", "axios", "got", "node-fetch", "undici", "ws"];
  const OF_PROCESSES = ["cluster", "worker_threads"];
  let loaded = new Map(); // path → stamp of the file when it was read
  let cjsCache = new Map();
  let checkedTurn = 0;

  const stamp = (path) => {
    const fields = native.stat(path, true);
    return fields === null ? "" : `${fields[1]}:${fields[2]}:${fields[6]}`;
  };

  const forgetChangedFiles = () => {
    if (checkedTurn === native.turn()) return;
    checkedTurn = native.turn();
    for (const [path, seen] of loaded) {
      if (stamp(path) === seen) continue;
      native.forgetModules();
      loaded = new Map();
      cjsCache = new Map();
      return;
    }
  };

  const isFile = (path) => {
    const fields = native.stat(path, true);
    return fields !== null && (fields[0] & 0o170000) === 0o100000;
  };

  const findFile = (path) => {
    const typed = /\.[cm]?js$/.test(path) ? [path.replace(/js$/, "ts"), path.replace(/\.js$/, ".tsx")] : [];
    return [...ENDINGS.map((ending) => path + ending), ...typed].find(isFile);
  };

  const describe = (directory) => {
    if (!isFile(`${directory}/package.json`)) return undefined;
    return JSON.parse(hooks.fs.readFileSync(`${directory}/package.json`, "utf8"));
  };
  // The description of the package that a file belongs to, and its folder.
  const packageOf = (directory) => {
    for (let at = directory; ; at = hooks.path.dirname(at)) {
      const about = hooks.path.basename(at) === "node_modules" ? undefined : describe(at);
      if (about !== undefined || at === "/") return [about ?? {}, at];
    }
  };

  const CONDITIONS = { import: ["node", "import", "module-sync", "default"], require: ["node", "require", "module-sync", "default"] };
  // What a target of `exports` or `imports` leads to for `kind`: the first condition that holds, in the order of the package.
  const pick = (target, kind) => {
    if (typeof target === "string") return target;
    if (Array.isArray(target)) return target.map((each) => pick(each, kind)).find((found) => found !== undefined);
    for (const [condition, inner] of Object.entries(target ?? {})) {
      const found = CONDITIONS[kind].includes(condition) ? pick(inner, kind) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  };
  // What `names` has for `name`; of patterns with a star, the longest that fits.
  const lookUp = (names, name, kind) => {
    if (Object.hasOwn(names, name)) return pick(names[name], kind);
    const fits = ([before, after]) => name.startsWith(before) && name.endsWith(after) && name.length >= before.length + after.length;
    const patterns = Object.keys(names).filter((each) => each.includes("*") && fits(each.split("*")));
    const pattern = patterns.sort((a, b) => b.indexOf("*") - a.indexOf("*"))[0];
    if (pattern === undefined) return undefined;
    const [before, after] = pattern.split("*");
    return pick(names[pattern], kind)?.replaceAll("*", name.slice(before.length, name.length - after.length));
  };

  // The file that a package gives for "." or "./name", or one of that name in its folder.
  const packageFile = (directory, name, kind) => {
    const about = describe(directory) ?? {};
    const isMap = about.exports !== null && typeof about.exports === "object" && !Array.isArray(about.exports);
    const names = isMap && Object.keys(about.exports)[0]?.startsWith(".") ? about.exports : { ".": about.exports };
    const given = about.exports === undefined ? undefined : lookUp(names, name, kind);
    if (given !== undefined) return findFile(hooks.path.join(directory, given));
    const path = hooks.path.join(directory, name);
    if (name !== "." && findFile(path) === undefined && isFile(`${path}/package.json`)) return packageFile(path, ".", kind);
    if (name !== ".") return findFile(path);
    return (about.main && findFile(hooks.path.join(directory, about.main))) || findFile(hooks.path.join(directory, "index"));
  };

  const findPackage = (name, from, kind) => {
    const parts = name.split("/"),
      count = name.startsWith("@") ? 2 : 1;
    const base = parts.slice(0, count).join("/"),
      rest = ["."].concat(parts.slice(count)).join("/");
    const [own, home] = packageOf(from);
    if (own.name === base && own.exports !== undefined) return packageFile(home, rest, kind);
    for (let at = from; ; at = hooks.path.dirname(at)) {
      const directory = hooks.path.join(at, "node_modules", base);
      if (native.stat(directory, true) !== null) return packageFile(directory, rest, kind);
      if (at === "/") return undefined;
    }
  };

  // A name with a hash is one that the package has for itself.
  const findInternal = (name, from, kind) => {
    const [about, home] = packageOf(from);
    const given = lookUp(about.imports ?? {}, name, kind);
    if (given === undefined || given.startsWith("./")) return given && findFile(hooks.path.join(home, given));
    return Object.hasOwn(hooks.builtins, given) ? `node:${given}` : findPackage(given, home, kind);
  };

  const hintFor = (name) => {
    if (OF_THE_NETWORK.includes(name)) return hooks.NO_NETWORK;
    if (OF_PROCESSES.includes(name))
      return 'there are no processes or threads; shell programs run in the same session with language="shell"';
    return `packages cannot be installed here; built in are ${Object.keys(hooks.builtins).join(", ")}`;
  };

  const notFound = (message, code, missing) => {
    const error = Object.assign(new Error(message), { code });
    return missing === undefined ? error : hooks.brand(error, "UNSUPPORTED_FEATURE", hintFor(missing));
  };

  // Where a relative name or a URL leads; what a query asks for is the same file.
  const pathOf = (name, directory) =>
    name.startsWith("file:")
      ? decodeURIComponent(new URL(name).pathname)
      : hooks.path.resolve(directory, isFile(hooks.path.resolve(directory, name)) ? name : name.replace(/[?#].*$/s, ""));

  const directoryOf = (base) => (base === "" ? native.cwd() : hooks.path.dirname(hooks.path.resolve(base)));

  const resolve = (base, name, kind = "import") => {
    const code = kind === "require" ? "MODULE_NOT_FOUND" : "ERR_MODULE_NOT_FOUND";
    forgetChangedFiles();
    const bare = name.replace(/^node:/, "");
    if (Object.hasOwn(hooks.builtins, bare)) return `node:${bare}`;
    if (name.startsWith("node:")) throw notFound(`No such built-in module: ${name}`, "ERR_UNKNOWN_BUILTIN_MODULE", bare);
    // THREAT[TM-HOOK-001]: whatever file a hook could load was written by the session that it judges.
    if (hooks.isHook) throw notFound(`Cannot find module '${name}': a hook has the built-in modules only`, code);
    const directory = directoryOf(base);
    if (IS_PATH.test(name)) {
      const path = pathOf(name, directory);
      const found = findFile(path) ?? (native.stat(path, true) !== null ? packageFile(path, ".", kind) : undefined);
      if (found === undefined) throw notFound(`Cannot find module '${path}' imported from ${base || native.programName()}`, code);
      return found;
    }
    const found = name.startsWith("#") ? findInternal(name, directory, kind) : findPackage(name, directory, kind);
    if (found === undefined)
      throw notFound(`Cannot find package '${name}' imported from ${base || native.programName()}`, code, name);
    return found;
  };

  const read = (path) => {
    loaded.set(path, stamp(path));
    const source = hooks.fs.readFileSync(path, "utf8").replace(/^\uFEFF/, "");
    if (!/\.([cm]?ts|tsx)$/.test(path)) return source;
    const reply = native.erase(path, source);
    if (reply.error === undefined) return reply.code;
    const { code = "SYNTAX_ERROR", message, hint, span } = reply.error;
    const where = span ? `${path}:${span.line}:${span.column}` : path;
    throw hooks.brand(new SyntaxError(`${message} (${where})`), code, hint);
  };

  const wrap = (path, source) =>
    native.evaluate(`(function (exports, require, module, __filename, __dirname) {\n${source}\n})`, path);
  const compiles = (path, source) => {
    try {
      wrap(path, source);
      return true;
    } catch {
      return false;
    }
  };
  // Whether a file is an ES module: its ending says so, its package, or what is in it.
  const isModule = (path, source, kind) => {
    if (/\.[cm][jt]s$/.test(path)) return path.at(-3) === "m";
    const { type } = packageOf(hooks.path.dirname(path))[0];
    if (type === "module" || (type === "commonjs" && path.endsWith(".js"))) return type === "module";
    if (/^[ \t]*(import\b(?!\s*\()|export\b)/m.test(source)) return !compiles(path, source);
    return kind === "import" && !/\bmodule\.exports\b|\bexports\b|\brequire\s*\(|\bthis\b/.test(source);
  };

  const runCommonJs = (path, source, parent) => {
    const module = new Module(path, parent);
    cjsCache.set(path, module);
    try {
      wrap(path, source).call(module.exports, module.exports, module.require, module, path, module.path);
    } catch (error) {
      cjsCache.delete(path);
      throw error;
    }
    module.loaded = true;
    return module.exports;
  };

  // What programs delete from it is read again.
  const cache = new Proxy(Object.create(null), {
    get: (_, path) => cjsCache.get(path),
    has: (_, path) => cjsCache.has(path),
    set: (_, path, module) => !!cjsCache.set(path, module),
    deleteProperty: (_, path) => (cjsCache.delete(path), true),
    ownKeys: () => [...cjsCache.keys()],
    getOwnPropertyDescriptor: (_, path) =>
      cjsCache.has(path) ? { value: cjsCache.get(path), writable: true, enumerable: true, configurable: true } : undefined,
  });

  let mainModule;
  function Module(id = "", parent = undefined) {
    Object.assign(this, { id, path: hooks.path.dirname(id), exports: {}, filename: id, loaded: false, children: [], paths: [] });
    Object.defineProperty(this, "parent", { value: parent, configurable: true, writable: true });
    Object.defineProperty(this, "require", { value: makeRequire(id, this), configurable: true, writable: true });
  }

  const makeRequire = (base, parent) => {
    const require = (name) => {
      if (typeof name !== "string") throw hooks.invalidType("id", "of type string", name);
      if (name === "") throw hooks.invalidValue("id", name, "must be a non-empty string", "argument");
      const path = resolve(base, name, "require");
      if (path.startsWith("node:")) return hooks.builtins[path.slice(5)];
      if (cjsCache.has(path)) return cjsCache.get(path).exports;
      const source = read(path);
      if (path.endsWith(".json")) {
        const value = parseJson(path, source);
        cjsCache.set(path, { exports: value });
        return value;
      }
      if (!isModule(path, source, "require")) return runCommonJs(path, source, parent);
      const namespace = native.requireModule(path);
      if (Object.hasOwn(namespace, "module.exports")) return namespace["module.exports"];
      // Compilers look for this mark to find the default export.
      return Object.hasOwn(namespace, "default") && !Object.hasOwn(namespace, "__esModule") ? { __esModule: true, ...namespace } : namespace;
    };
    require.resolve = (name) => resolve(base, `${name}`, "require");
    require.resolve.paths = () => [];
    require.cache = cache;
    require.main = mainModule;
    require.extensions = { ".js": undefined, ".json": undefined, ".node": undefined };
    return require;
  };

  const parseJson = (path, source) => {
    try {
      return JSON.parse(source);
    } catch (error) {
      throw new SyntaxError(`${path}: ${error.message}`);
    }
  };

  hooks.resolveModule = resolve;
  hooks.loadModule = (path) => {
    if (path.startsWith("node:")) return { value: hooks.builtins[path.slice(5)] };
    const source = read(path);
    if (path.endsWith(".json")) return { value: parseJson(path, source) };
    if (!isModule(path, source, "import")) return { value: cjsCache.get(path)?.exports ?? runCommonJs(path, source) };
    return { source };
  };

  const fill = (meta, path) => {
    meta.url = path.startsWith("/") ? hooks.builtins.url.pathToFileURL(path).href : `file://${native.cwd()}/${path}`;
    meta.filename = path;
    meta.dirname = path.startsWith("/") ? hooks.path.dirname(path) : native.cwd();
    meta.resolve = (name) => {
      const found = IS_PATH.test(name) ? pathOf(name, directoryOf(path)) : resolve(path, name);
      return found.startsWith("node:") ? found : hooks.builtins.url.pathToFileURL(found).href;
    };
    return meta;
  };
  hooks.fillMeta = (meta, path) => void fill(meta, path);
  // The program itself is compiled as a script, where the compiler writes this name for import.meta.
  hooks.defineLazy("$importmeta", () => fill(Object.create(null), native.programName()));
  // Programs written for CommonJS look at these; in the session's realm they are ordinary globals.
  mainModule = new Module("");
  mainModule.id = ".";
  Object.defineProperty(mainModule, "filename", { get: () => native.programName(), enumerable: true, configurable: true });
  mainModule.require.main = mainModule;
  const ofScripts = { require: mainModule.require, module: mainModule, exports: mainModule.exports };
  for (const [name, value] of Object.entries(ofScripts))
    hooks.defineLazy(name, () => (native.programName().endsWith(".mjs") ? undefined : value));
  hooks.builtins.module = Object.assign(Module, {
    Module,
    builtinModules: Object.keys(hooks.builtins).concat("module"),
    createRequire: (from) => makeRequire(`${from}`.replace(/^file:\/\//, "")),
    isBuiltin: (name) => Object.hasOwn(hooks.builtins, `${name}`.replace(/^node:/, "")),
    _cache: cache,
  });
  hooks.defineLazy("__filename", () => hooks.path.resolve(native.programName()));
  hooks.defineLazy("__dirname", () => native.cwd());
});
