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

  const describe = (directory) =>
    isFile(`${directory}/package.json`) ? JSON.parse(hooks.fs.readFileSync(`${directory}/package.json`, "utf8")) : undefined;
  const pick = (e) =>
    typeof e === "string" ? e : e && typeof e === "object" ? pick(e.import ?? e.default ?? e.require ?? e["."]) : undefined;

  const packageEntry = (directory) => {
    const about = describe(directory);
    if (about === undefined) return findFile(directory);
    return findFile(
      hooks.path.join(directory, pick(about.exports?.["."] ?? about.exports) ?? about.module ?? about.main ?? "index.js"),
    );
  };

  // A file of a package, under the name the package gives it if it gives it one.
  const packageFile = (directory, name) => {
    const { exports } = describe(directory) ?? {};
    const given = pick(typeof exports === "object" ? exports?.[`./${name}`] : undefined);
    return findFile(hooks.path.join(directory, given ?? name));
  };

  const findPackage = (name, from) => {
    const parts = name.split("/"),
      count = name.startsWith("@") ? 2 : 1;
    const base = parts.slice(0, count).join("/"),
      rest = parts.slice(count).join("/");
    for (let at = from; ; at = hooks.path.dirname(at)) {
      const directory = hooks.path.join(at, "node_modules", base);
      if (native.stat(directory, true) !== null) return rest ? packageFile(directory, rest) : packageEntry(directory);
      if (at === "/") return undefined;
    }
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

  const resolve = (base, name, code = "ERR_MODULE_NOT_FOUND") => {
    forgetChangedFiles();
    const bare = name.replace(/^node:/, "");
    if (Object.hasOwn(hooks.builtins, bare)) return `node:${bare}`;
    if (name.startsWith("node:")) throw notFound(`No such built-in module: ${name}`, "ERR_UNKNOWN_BUILTIN_MODULE", bare);
    // THREAT[TM-HOOK-001]: whatever file a hook could load was written by the session that it judges.
    if (hooks.isHook) throw notFound(`Cannot find module '${name}': a hook has the built-in modules only`, code);
    const directory = directoryOf(base);
    if (IS_PATH.test(name)) {
      const path = pathOf(name, directory);
      const found = findFile(path) ?? (native.stat(path, true) !== null ? packageEntry(path) : undefined);
      if (found === undefined) throw notFound(`Cannot find module '${path}' imported from ${base || native.programName()}`, code);
      return found;
    }
    const found = findPackage(name, directory);
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

  const looksLikeCommonJs = (path, source) =>
    path.endsWith(".cjs") ||
    (path.endsWith(".js") &&
      /\bmodule\.exports\b|\bexports\.[\w$]+\s*=|\brequire\s*\(/.test(source) &&
      !/^[ \t]*(import\b(?!\s*\()|export\b)/m.test(source));

  const runCommonJs = (path, source) => {
    const module = { id: path, filename: path, path: hooks.path.dirname(path), exports: {}, loaded: false, children: [] };
    cjsCache.set(path, module);
    try {
      const wrapper = native.evaluate(`(function (exports, require, module, __filename, __dirname) {\n${source}\n})`, path);
      wrapper.call(module.exports, module.exports, makeRequire(path), module, path, module.path);
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

  const makeRequire = (base) => {
    const require = (name) => {
      const path = resolve(base, `${name}`, "MODULE_NOT_FOUND");
      if (path.startsWith("node:")) return hooks.builtins[path.slice(5)];
      if (cjsCache.has(path)) return cjsCache.get(path).exports;
      const source = read(path);
      if (path.endsWith(".json")) {
        const value = parseJson(path, source);
        cjsCache.set(path, { exports: value });
        return value;
      }
      if (path.endsWith(".mjs") || (!path.endsWith(".cjs") && /^[ \t]*(import\b(?!\s*\()|export\b)/m.test(source)))
        return native.requireModule(path);
      return runCommonJs(path, source);
    };
    require.resolve = (name) => resolve(base, `${name}`, "MODULE_NOT_FOUND");
    require.cache = cache;
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
    if (looksLikeCommonJs(path, source)) return { value: cjsCache.get(path)?.exports ?? runCommonJs(path, source) };
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
  hooks.define("require", makeRequire(""));
  hooks.builtins.module = {
    createRequire: (from) => makeRequire(`${from}`.replace(/^file:\/\//, "")),
    builtinModules: Object.keys(hooks.builtins),
  };

  // Programs written for CommonJS look at these; in the session's realm they are ordinary globals.
  const module = { exports: {}, id: ".", children: [] };
  Object.defineProperty(module, "filename", { get: () => native.programName(), enumerable: true, configurable: true });
  hooks.define("module", module);
  hooks.define("exports", module.exports);
  hooks.defineLazy("__filename", () => hooks.path.resolve(native.programName()));
  hooks.defineLazy("__dirname", () => native.cwd());
  require.main = module;
});
