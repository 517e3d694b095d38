// node.js: process, the small modules scripts import without thinking (util, os, url, timers), and the list of all built-in ones.
(function (native, hooks) {
  const environment = {};
  hooks.setEnvironment = (values) => {
    Object.assign(environment, values);
    hooks.isHook ||= "HATCHWAY_HOOK_ID" in values;
  };

  const stream = (fd) => ({
    fd,
    isTTY: false,
    columns: 80,
    write: (data, encoding, done) => {
      if (typeof data !== "string") hooks.fs.writeSync(fd, hooks.viewBytes(data));
      else if (typeof encoding === "string" && !/^utf-?8$/i.test(encoding)) hooks.fs.writeSync(fd, Buffer.from(data, encoding));
      else native.print(fd, data);
      const callback = typeof encoding === "function" ? encoding : done;
      if (callback) queueMicrotask(callback);
      return true;
    },
    end: () => {},
    on() {
      return this;
    },
    once() {
      return this;
    },
  });

  let exitCode = { turn: 0, value: undefined };
  const process = {
    title: "hatchway",
    argv0: "node",
    version: "v22.0.0",
    versions: { node: "22.0.0", quickjs: "0.17.0", hatchway: "1" },
    platform: "wasi",
    arch: "wasm32",
    pid: 1,
    ppid: 0,
    get exitCode() {
      return exitCode.turn === native.turn() ? exitCode.value : undefined;
    },
    set exitCode(value) {
      exitCode = { turn: native.turn(), value };
      native.exitCode(Number(value ?? 0));
    },
    execArgv: [],
    execPath: "/usr/bin/node",
    env: new Proxy(environment, {
      set: (target, name, value) => {
        if (typeof name === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
        return Reflect.set(target, name, `${value}`);
      },
      defineProperty: (target, name, field) => {
        const refusal = (what) => hooks.codedError(TypeError, "ERR_INVALID_OBJECT_DEFINE_PROPERTY", `'process.env' ${what}`);
        if ("get" in field || "set" in field) throw refusal("does not accept an accessor(getter/setter) descriptor");
        if (!field.configurable || !field.writable || !field.enumerable) throw refusal("only accepts a configurable, writable, and enumerable data descriptor");
        return Reflect.defineProperty(target, name, { ...field, value: `${field.value}` });
      },
    }),
    get argv() {
      return ["node", native.programName()];
    },
    cwd: () => native.cwd(),
    umask: (mask) => native.umask(mask === undefined ? -1 : hooks.modeOf(mask)),
    chdir: (path) => {
      const full = hooks.path.resolve(hooks.checkString(path, "directory"));
      if (!hooks.fs.existsSync(full))
        throw hooks.codedError(Error, "ENOENT", `ENOENT: no such file or directory, chdir ${native.cwd()} -> '${path}'`, { errno: -2, syscall: "chdir", path: native.cwd(), dest: path });
      if (!hooks.fs.statSync(full).isDirectory())
        throw Object.assign(new Error(`ENOTDIR: not a directory, chdir '${path}'`), { code: "ENOTDIR", syscall: "chdir" });
      native.cwd(full);
    },
    exit: (code) => native.exit(Number(code ?? process.exitCode ?? 0)),
    abort: () => native.exit(134),
    stdout: stream(1),
    stderr: stream(2),
    nextTick: hooks.nextTick,
    uptime: () => performance.now() / 1000,
    hrtime: Object.assign(
      (before) => {
        if (before !== undefined && !Array.isArray(before)) throw hooks.invalidType("time", "an instance of Array", before);
        if (before !== undefined && before.length !== 2) throw hooks.outOfRange("time", 2, before.length);
        const ns = Math.round(performance.now() * 1e6),
          now = [Math.floor(ns / 1e9), ns % 1e9];
        if (!before) return now;
        const diff = (now[0] - before[0]) * 1e9 + now[1] - before[1];
        return [Math.floor(diff / 1e9), diff % 1e9];
      },
      { bigint: () => BigInt(Math.round(performance.now() * 1e6)) },
    ),
    memoryUsage: Object.assign(() => native.memoryUsage(), { rss: () => native.memoryUsage().rss }),
    emitWarning(warning, type, code) {
      const options = typeof type === "object" && type !== null ? type : { type, code };
      if (typeof warning !== "string" && !(warning instanceof Error))
        throw hooks.invalidType("warning", "of type string or an instance of Error", warning);
      for (const name of ["type", "code", "detail"])
        if (options[name] !== undefined && typeof options[name] !== "function") hooks.checkString(options[name], name);
      const made = warning instanceof Error ? warning : Object.assign(new Error(warning), { name: options.type || "Warning" });
      if (options.code) made.code ??= options.code;
      if (options.detail) made.detail = options.detail;
      if (made.name === "DeprecationWarning" && process.noDeprecation) return;
      process.nextTick(() => {
        if (process.emit("warning", made) || process.noWarnings) return;
        console.error(`(node:${process.pid}) ${made.code ? `[${made.code}] ` : ""}${made.name}: ${made.message}${made.detail ? `\n${made.detail}` : ""}`);
      });
    },
  };
  const { performance: clock } = globalThis;
  const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGKILL: 9, SIGUSR1: 10, SIGUSR2: 12, SIGTERM: 15 };
  Object.assign(process, {
    release: { name: "node" },
    config: Object.freeze({ target_defaults: Object.freeze({}), variables: Object.freeze({}) }),
    features: {
      ...{ inspector: false, debug: false, uv: false, ipv6: false, require_module: true, tls_alpn: false, tls_sni: false },
      ...{ tls_ocsp: false, tls: false, cached_builtins: true },
    },
    allowedNodeEnvironmentFlags: new Set(),
    // Time of the program so far: nothing tells the host's part from its own.
    cpuUsage(before) {
      if (before !== undefined) {
        hooks.checkObject(before, "prevValue");
        for (const name of ["user", "system"]) {
          const value = hooks.checkType(before[name], `prevValue.${name}`, "number");
          if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER))
            throw hooks.codedError(RangeError, "ERR_INVALID_ARG_VALUE", `The property 'prevValue.${name}' is invalid. Received ${value}`);
        }
      }
      return { user: Math.round(clock.now() * 1000) - (before?.user ?? 0), system: 0 };
    },
    resourceUsage: () => ({ userCPUTime: Math.round(clock.now() * 1000), systemCPUTime: 0, maxRSS: Math.round(native.memoryUsage().rss / 1024) }),
    availableMemory: () => native.memoryUsage().heapTotal,
    constrainedMemory: () => native.memoryUsage().heapTotal,
    getActiveResourcesInfo: () => hooks.activeTimers(),
    setSourceMapsEnabled: (value) => void hooks.checkType(value, "val", "boolean"),
    setUncaughtExceptionCaptureCallback(f) {
      if (f !== null) hooks.checkFunction(f, "fn");
      process.removeAllListeners("uncaughtException");
      if (f !== null) process.on("uncaughtException", f);
    },
    assert(value, message) {
      if (!value) throw hooks.codedError(Error, "ERR_ASSERTION", message || "assertion error");
    },
    // There are no other processes: a signal to this one ends it, and 0 asks whether it is there.
    kill(pid, signal) {
      if (pid != (pid | 0)) throw hooks.invalidType("pid", "of type number", pid);
      if (typeof signal === "string" && !(signal in SIGNALS)) throw hooks.codedError(TypeError, "ERR_UNKNOWN_SIGNAL", `Unknown signal: ${signal}`);
      const number = typeof signal === "number" ? signal : SIGNALS[signal ?? "SIGTERM"];
      if (!(number >= 0 && number < 65)) throw hooks.codedError(Error, "EINVAL", "kill EINVAL", { errno: -22, syscall: "kill" });
      process._kill(pid, number);
      return true;
    },
    _kill(pid, number) {
      if (![0, process.pid].includes(Number(pid))) throw hooks.codedError(Error, "ESRCH", "kill ESRCH", { errno: -3, syscall: "kill" });
      if (number !== 0) native.exit(128 + number);
    },
  });
  for (const name of ["getuid", "geteuid", "getgid", "getegid"]) process[name] = () => 1000;
  process.getgroups = () => [1000];
  Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });
  for (const object of [process, process.stdout, process.stderr])
    Object.defineProperty(object, "toJSON", { value: () => undefined, writable: true, configurable: true });

  function ProcessEmitter() {}
  Object.defineProperty(ProcessEmitter, "name", { value: "process" });
  ProcessEmitter.prototype = Object.create(hooks.EventEmitter.prototype, { constructor: { value: ProcessEmitter, writable: true, configurable: true } });
  Object.setPrototypeOf(process, ProcessEmitter.prototype);

  // A program's listeners end with its turn. Signals never come; these do: exit, uncaughtException, unhandledRejection.
  let listeners = { turn: -1, emitter: undefined };
  const emitter = () => {
    if (listeners.turn !== native.turn()) listeners = { turn: native.turn(), emitter: new hooks.EventEmitter() };
    return listeners.emitter;
  };
  for (const name of Object.getOwnPropertyNames(hooks.EventEmitter.prototype)) {
    if (name === "constructor" || name.startsWith("_")) continue;
    process[name] = (...args) => {
      if (args[0] === "exit") native.watchExit();
      const answer = emitter()[name](...args);
      return answer === emitter() ? process : answer;
    };
  }
  hooks.handOver = (error, isRejection) => {
    if (listeners.turn !== native.turn()) return false;
    const origin = isRejection ? "unhandledRejection" : "uncaughtException";
    return emitter().emit(origin, error, origin) || emitter().emit("uncaughtException", error, origin);
  };
  hooks.announceExit = (code) => {
    process._exiting = true;
    return emitter().emit("exit", code);
  };

  const custom = Symbol.for("nodejs.util.promisify.custom");
  const promisify = (f) => {
    hooks.checkFunction(f, "original");
    if (f[custom] === undefined) return promising(f);
    hooks.checkFunction(f[custom], "util.promisify.custom");
    return Object.defineProperty(f[custom], custom, { value: f[custom], configurable: true });
  };
  const promising = (f) =>
    function (...args) {
      return new Promise((resolve, reject) => f.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value))));
    };
  promisify.custom = custom;

  const VIEWS = [
    ...["Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array"],
    ...["Float16Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"],
  ];
  const typeTests = {
    isPromise: (v) => v instanceof Promise,
    isDate: (v) => v instanceof Date,
    isRegExp: (v) => v instanceof RegExp,
    ...Object.fromEntries(VIEWS.map((name) => [`is${name}`, (v) => v?.[Symbol.toStringTag] === name && ArrayBuffer.isView(v)])),
    isArrayBufferView: ArrayBuffer.isView,
    isDataView: (v) => v instanceof DataView,
    isSharedArrayBuffer: (v) => typeof SharedArrayBuffer === "function" && v instanceof SharedArrayBuffer,
    isMapIterator: (v) => native.kind(v) === 18 && v[Symbol.toStringTag] === "Map Iterator",
    isSetIterator: (v) => native.kind(v) === 18 && v[Symbol.toStringTag] === "Set Iterator",
    ...Object.fromEntries(
      ["Number", "String", "Boolean", "BigInt", "Symbol"].map((name) => [`is${name}Object`, (v) => native.kind(v) === 13 && v instanceof globalThis[name]]),
    ),
    isExternal: () => false,
    isKeyObject: () => false,
    isCryptoKey: () => false,
    isMap: (v) => v instanceof Map,
    isSet: (v) => v instanceof Set,
    isTypedArray: (v) => ArrayBuffer.isView(v) && !(v instanceof DataView),
    isArrayBuffer: (v) => v instanceof ArrayBuffer,
    isAnyArrayBuffer: (v) => v instanceof ArrayBuffer,
    isWeakMap: (v) => v instanceof WeakMap,
    isWeakSet: (v) => v instanceof WeakSet,
    isBoxedPrimitive: (v) => native.kind(v) === 13,
    isGeneratorObject: (v) => native.kind(v) === 15,
    isModuleNamespaceObject: (v) => native.kind(v) === 16,
    isArgumentsObject: (v) => native.kind(v) === 17,
    isAsyncFunction: (v) => typeof v === "function" && /^Async/.test(v[Symbol.toStringTag]),
    isGeneratorFunction: (v) => typeof v === "function" && /GeneratorFunction$/.test(v[Symbol.toStringTag]),
    isNativeError: (v) => v instanceof Error,
    isProxy: (v) => native.kind(v) === 14,
  };
  const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
  const STYLES = {
    ...{ reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], strikethrough: [9, 29] },
    ...Object.fromEntries(COLOURS.map((name, i) => [name, [30 + i, 39]])),
    ...Object.fromEntries(COLOURS.map((name, i) => [`bg${name[0].toUpperCase()}${name.slice(1)}`, [40 + i, 49]])),
    gray: [90, 39],
  };
  const unknownStyle = (name) => {
    throw Object.assign(new TypeError(`The argument 'format' is invalid. Received ${hooks.inspect(name)}`), {
      code: "ERR_INVALID_ARG_VALUE",
    });
  };
  const small = () => waiting("small_modules", "small");
  const toldCodes = new Set();
  const util = {
    inspect: hooks.inspect,
    format: hooks.format,
    promisify,
    types: typeTests,
    isDeepStrictEqual: (a, b) => hooks.deepEqual(a, b, true),
    callbackify: (f) => {
      hooks.checkFunction(f, "original");
      const made = function (...args) {
        const callback = hooks.checkFunction(args.pop(), "last argument");
        const failed = (error) =>
          callback.call(this, error || hooks.codedError(Error, "ERR_FALSY_VALUE_REJECTION", "Promise was rejected with falsy value", { reason: error }));
        f.apply(this, args).then(
          (value) => hooks.nextTick(() => callback.call(this, null, value)),
          (error) => hooks.nextTick(() => failed(error)),
        );
      };
      return Object.defineProperty(made, "name", { value: `${f.name}Callbackified` });
    },
    deprecate: (f, message, code) => {
      if (code !== undefined) hooks.checkString(code, "code");
      let isTold = false;
      const deprecated = function (...args) {
        if (!process.noDeprecation && !isTold && !(code && toldCodes.has(code))) {
          process.emitWarning(message, "DeprecationWarning", code);
          toldCodes.add(code);
        }
        isTold = true;
        return new.target ? Reflect.construct(f, args, new.target) : f.apply(this, args);
      };
      Object.setPrototypeOf(deprecated, f);
      if (f.prototype) deprecated.prototype = f.prototype;
      return deprecated;
    },
    debuglog: () => Object.assign(() => {}, { enabled: false }),
    formatWithOptions: (options, ...values) => hooks.formatWith(hooks.checkObject(options, "inspectOptions"), values),
    log: (...values) => console.log("%s - %s", new Date().toTimeString().slice(0, 8), hooks.format(...values)),
    inherits: (child, parent) => {
      hooks.checkFunction(child, "ctor");
      if (typeof parent !== "function" && parent?.prototype === undefined)
        throw parent && typeof parent === "object" ? hooks.invalidType("superCtor.prototype", "of type object", undefined) : hooks.invalidType("superCtor", "of type function", parent);
      if (parent.prototype === undefined) throw hooks.invalidType("superCtor.prototype", "of type object", parent.prototype);
      Object.defineProperty(child, "super_", { value: parent, writable: true, configurable: true });
      Object.setPrototypeOf(child.prototype, parent.prototype);
    },
    get parseArgs() {
      return small().parseArgs;
    },
    aborted: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
    getSystemErrorName: (number) => Object.entries(small().systemConstants.errno).find((pair) => pair[1] === -number)?.[0],
    debug: () => () => {},
    // Nothing here is a terminal, and such get no colours unless it is asked for.
    styleText: (style, text, options) => {
      for (const name of [style].flat()) if (!Object.hasOwn(STYLES, name)) unknownStyle(name);
      hooks.checkString(text, "text");
      if (options?.validateStream !== false) return `${text}`;
      const codes = [style].flat().map((name) => STYLES[name] ?? unknownStyle(name));
      return codes.reduceRight((inner, [on, off]) => `\u001b[${on}m${inner}\u001b[${off}m`, `${text}`);
    },
    isArray: Array.isArray,
    toUSVString: (text) => `${text}`.toWellFormed(),
    stripVTControlCharacters: (text) => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ""),
    TextEncoder,
    TextDecoder,
  };

  // A promise that a timer keeps, or a signal breaks.
  const promised = (start, clear, value, { signal, ref = true } = {}) =>
    new Promise((resolve, reject) => {
      const abort = () => {
        clear(timer);
        const error = new Error("The operation was aborted", { cause: signal.reason });
        reject(Object.assign(error, { name: "AbortError", code: "ABORT_ERR" }));
      };
      const timer = start(() => {
        signal?.removeEventListener("abort", abort);
        resolve(value);
      });
      if (!ref) timer.unref();
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  const sleep = (ms, value, options) => promised((done) => setTimeout(done, ms), clearTimeout, value, options);
  const soon = (value, options) => promised((done) => setImmediate(done), clearImmediate, value, options);
  async function* ticks(ms, value, options) {
    for (;;) yield await sleep(ms, value, options);
  }
  for (const [f, later] of [
    [setTimeout, sleep],
    [setImmediate, soon],
  ])
    Object.defineProperty(f, custom, { value: later, configurable: true });
  const os = {
    EOL: "\n",
    platform: () => "wasi",
    type: () => "WASI",
    arch: () => "wasm32",
    release: () => "1",
    hostname: () => "hatchway",
    homedir: () => "/workspace",
    tmpdir: () => "/tmp",
    cpus: () => [{ model: "wasm", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
    availableParallelism: () => 1,
    totalmem: () => 0,
    freemem: () => 0,
    uptime: () => 0,
    endianness: () => "LE",
    get constants() {
      return small().systemConstants;
    },
    devNull: "/dev/null",
    loadavg: () => [0, 0, 0],
    machine: () => "wasm32",
    networkInterfaces: () => ({}),
    version: () => "1",
    getPriority: () => 0,
    userInfo: () => ({ username: "sandbox", uid: 1000, gid: 1000, homedir: "/workspace", shell: null }),
  };
  const url = {
    URL,
    URLSearchParams,
    fileURLToPath: (given) => {
      if (typeof given !== "string" && !(given instanceof URL)) throw hooks.invalidType("path", "of type string or an instance of URL", given);
      const { protocol, hostname, pathname } = new URL(given);
      if (protocol !== "file:") throw hooks.codedError(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
      if (hostname !== "") throw hooks.codedError(TypeError, "ERR_INVALID_FILE_URL_HOST", 'File URL host must be "localhost" or empty on linux');
      if (/%2f/i.test(pathname)) throw hooks.codedError(TypeError, "ERR_INVALID_FILE_URL_PATH", "File URL path must not include encoded / characters");
      return decodeURIComponent(pathname);
    },
    pathToFileURL: (path) => {
      const full = hooks.path.resolve(hooks.checkString(path, "path")) + (path.endsWith("/") && path.length > 1 ? "/" : "");
      return new URL(`file://${full.replace(/[%\\\n\r\t?#]/g, encodeURIComponent)}`);
    },
    domainToASCII: (name) => native.domainTo(`${name}`, true),
    domainToUnicode: (name) => native.domainTo(`${name}`, false),
    urlToHttpOptions: ({ protocol, hostname, hash, search, pathname, href, port, username, password }) => ({
      ...{ protocol, hostname: hostname.replace(/^\[|\]$/g, ""), hash, search, pathname, path: `${pathname}${search}`, href },
      ...(port === "" ? {} : { port: Number(port) }),
      ...(username || password ? { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` } : {}),
    }),
  };
  // Modules and functions whose file is read when they are used.
  const waiting = (file, slot) => {
    if (hooks[slot] === undefined) native.load(`hatchway:${file}`);
    return hooks[slot];
  };
  const wait = (object, names, get) => {
    for (const name of names)
      Object.defineProperty(object, name, {
        get: () => get(name),
        set: (value) => Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true }),
        enumerable: true,
        configurable: true,
      });
  };
  const stream_ = () => waiting("stream", "stream");
  wait(url, ["Url", "parse", "format", "resolve", "resolveObject"], (name) => waiting("legacy_url", "legacyUrl")[name]);
  wait(hooks.path, ["win32"], () => waiting("windows_paths", "windowsPath"));
  const FILE_STREAMS = ["ReadStream", "WriteStream", "createReadStream", "createWriteStream"];
  wait(hooks.fs, FILE_STREAMS, (name) => (stream_(), waiting("file_streams", "fileStreams")[name]));
  hooks.fs.promises.open = async (path, flags, mode) => {
    stream_();
    const { FileHandle } = waiting("file_streams", "fileStreams");
    return new FileHandle(hooks.fs.openSync(path, flags, mode));
  };
  const timers = { ...hooks.oldTimers, setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
  const nodeCrypto = {
    ...hooks.hashes,
    webcrypto: crypto,
    subtle: crypto.subtle,
    randomUUID: crypto.randomUUID,
    getRandomValues: crypto.getRandomValues,
    randomBytes: (size, callback) => {
      if (typeof size !== "number") throw hooks.invalidType("size", "of type number", size);
      if (!(size >= 0 && size <= 2 ** 31 - 1)) throw hooks.outOfRange("size", ">= 0 && <= 2147483647", size);
      if (callback !== undefined) hooks.checkFunction(callback, "callback");
      const made = Buffer.alloc(size);
      native.random(made);
      if (!callback) return made;
      setImmediate(callback, null, made);
    },
    randomFillSync: (target, offset = 0, size) => {
      const bytes = hooks.viewBytes(target);
      native.random(bytes.subarray(offset, size === undefined ? undefined : offset + size));
      return target;
    },
    randomFill: (target, ...rest) => {
      const callback = hooks.checkFunction(rest.pop(), "callback");
      setImmediate(callback, null, nodeCrypto.randomFillSync(target, ...rest));
    },
    getCiphers: () => [],
    getCurves: () => [],
    constants: {},
    timingSafeEqual: (a, b) => {
      for (const [name, value] of [["buf1", a], ["buf2", b]])
        if (!(value instanceof ArrayBuffer) && !ArrayBuffer.isView(value))
          throw hooks.invalidType(name, "an instance of ArrayBuffer, Buffer, TypedArray, or DataView", value);
      const [left, right] = [hooks.viewBytes(a), hooks.viewBytes(b)];
      if (left.length !== right.length)
        throw Object.assign(new RangeError("Input buffers must have the same byte length"), {
          code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH",
        });
      return left.reduce((differing, byte, i) => differing | (byte ^ right[i]), 0) === 0;
    },
    randomInt: (low, high, callback) => {
      if (high === undefined || typeof high === "function") [low, high, callback] = [0, low, high];
      if (!Number.isSafeInteger(low)) throw hooks.invalidType("min", "a safe integer", low);
      if (!Number.isSafeInteger(high)) throw hooks.invalidType("max", "a safe integer", high);
      if (high <= low) throw hooks.outOfRange("max", `greater than the value of "min" (${low})`, high);
      if (callback) return void setImmediate(callback, null, nodeCrypto.randomInt(low, high));
      const b = new Uint32Array(2);
      native.random(new Uint8Array(b.buffer));
      return low + Number(((BigInt(b[0]) << 32n) | BigInt(b[1])) % BigInt(high - low));
    },
  };

  wait(nodeCrypto, ["pbkdf2", "pbkdf2Sync", "scrypt", "scryptSync", "hkdf", "hkdfSync"], (name) => waiting("keys", "keys")[name]);
  const checkBytes = (input) => {
    if (!(input instanceof ArrayBuffer) && !ArrayBuffer.isView(input))
      throw hooks.invalidType("input", "an instance of ArrayBuffer, Buffer, or TypedArray", input);
    if ((input.buffer ?? input).detached)
      throw hooks.codedError(Error, "ERR_INVALID_STATE", "Invalid state: Cannot validate on a detached buffer");
    return hooks.viewBytes(input);
  };
  const bufferModule = {
    ...{ Buffer, SlowBuffer: (size) => Buffer.alloc(Number.isNaN(size) ? -1 : size), atob, btoa, kMaxLength: 2 ** 32, kStringMaxLength: 2 ** 29 - 24 },
    get INSPECT_MAX_BYTES() {
      return hooks.inspectMaxBytes;
    },
    set INSPECT_MAX_BYTES(most) {
      hooks.inspectMaxBytes = hooks.checkRange(most, "INSPECT_MAX_BYTES", 0);
    },
    constants: { MAX_LENGTH: 2 ** 32, MAX_STRING_LENGTH: 2 ** 29 - 24 },
    isUtf8: (bytes) => {
      checkBytes(bytes);
      try {
        native.decode(checkBytes(bytes), true);
        return true;
      } catch {
        return false;
      }
    },
    isAscii: (bytes) => checkBytes(bytes).every((byte) => byte < 128),
    transcode: (source, from, to) => Buffer.from(Buffer.from(source).toString(from), to),
  };
  const BODIES = ["Blob", "File", "FormData", "Headers", "Request", "Response"];
  const STREAMS = [
    ...["ReadableStream", "ReadableStreamDefaultReader", "ReadableStreamDefaultController", "WritableStream", "WritableStreamDefaultWriter"],
    ...["WritableStreamDefaultController", "TransformStream", "CountQueuingStrategy", "ByteLengthQueuingStrategy", "TextEncoderStream"],
    ...["TextDecoderStream", "CompressionStream", "DecompressionStream"],
  ];
  hooks.defineWaiting("web_bodies", BODIES);
  hooks.defineWaiting("small_modules", ["MessageChannel", "MessagePort"]);
  hooks.defineWaiting("web_streams", STREAMS);
  wait(bufferModule, ["Blob", "File"], (name) => globalThis[name]);

  hooks.define("process", process);
  hooks.builtins = {
    fs: hooks.fs,
    "fs/promises": hooks.fs.promises,
    path: hooks.path,
    "path/posix": hooks.path,
    process,
    util,
    "util/types": typeTests,
    events: hooks.EventEmitter,
    assert: hooks.assert,
    "assert/strict": hooks.assert.strict,
    os,
    url,
    timers,
    "timers/promises": {
      ...{ setTimeout: sleep, setImmediate: soon, setInterval: ticks },
      scheduler: { wait: (ms, options) => sleep(ms, undefined, options), yield: () => soon() },
    },
    buffer: bufferModule,
    crypto: nodeCrypto,
    perf_hooks: { performance },
    querystring: hooks.querystring,
    string_decoder: { StringDecoder: hooks.StringDecoder },
    console,
  };
  const SMALL = ["async_hooks", "diagnostics_channel", "http", "https", "http2", "net", "tls", "dns", "dns/promises", "worker_threads", "v8", "vm", "tty"];
  wait(hooks.builtins, SMALL, (name) => small()[name]);
  wait(hooks.builtins, ["stream"], () => stream_().stream);
  wait(hooks.builtins, ["stream/promises", "stream/consumers"], (name) => stream_()[name.slice(7)]);
  wait(hooks.builtins, ["stream/web"], () => (globalThis.ReadableStream, hooks.webStreams));
  wait(hooks.builtins, ["zlib"], () => (stream_(), waiting("zlib", "zlib")));
  wait(hooks.builtins, ["child_process"], () => (stream_(), waiting("child_process", "childProcess")));
  wait(hooks.builtins, ["path/win32"], () => hooks.path.win32);
  hooks.builtins.constants = { ...hooks.fs.constants };
  hooks.builtins.sys = util;
});
