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
      native.print(fd, typeof data === "string" ? data : native.decode(hooks.viewBytes(data), false));
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
      set: (target, name, value) => Reflect.set(target, name, `${value}`),
      defineProperty: (target, name, field) => Reflect.defineProperty(target, name, { ...field, value: `${field.value}` }),
    }),
    get argv() {
      return ["node", native.programName()];
    },
    cwd: () => native.cwd(),
    umask: (mask) => native.umask(mask === undefined ? -1 : hooks.modeOf(mask)),
    chdir: (path) => {
      const full = hooks.path.resolve(path);
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
        const ns = Math.round(performance.now() * 1e6),
          now = [Math.floor(ns / 1e9), ns % 1e9];
        if (!before) return now;
        const diff = (now[0] - before[0]) * 1e9 + now[1] - before[1];
        return [Math.floor(diff / 1e9), diff % 1e9];
      },
      { bigint: () => BigInt(Math.round(performance.now() * 1e6)) },
    ),
    memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
    emitWarning: (warning) => console.error(`Warning: ${warning?.message ?? warning}`),
  };
  for (const name of ["getuid", "geteuid", "getgid", "getegid"]) process[name] = () => 1000;
  Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });
  for (const object of [process, process.stdout, process.stderr])
    Object.defineProperty(object, "toJSON", { value: () => undefined, writable: true, configurable: true });

  // A program's listeners end with its turn. Signals never come; these do: exit, uncaughtException, unhandledRejection.
  let listeners = { turn: -1, emitter: undefined };
  const emitter = () => {
    if (listeners.turn !== native.turn()) listeners = { turn: native.turn(), emitter: new hooks.EventEmitter() };
    return listeners.emitter;
  };
  for (const name of Object.getOwnPropertyNames(hooks.EventEmitter.prototype)) {
    if (name === "constructor") continue;
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
  hooks.announceExit = (code) => emitter().emit("exit", code);

  const custom = Symbol.for("nodejs.util.promisify.custom");
  const promisify = (f) => {
    if (typeof f !== "function")
      throw Object.assign(new TypeError(`The "original" argument must be of type function. Received ${hooks.inspect(f)}`), {
        code: "ERR_INVALID_ARG_TYPE",
      });
    return f[custom] ?? promising(f);
  };
  const promising = (f) =>
    function (...args) {
      return new Promise((resolve, reject) => f.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value))));
    };
  promisify.custom = custom;

  const typeTests = {
    isPromise: (v) => v instanceof Promise,
    isDate: (v) => v instanceof Date,
    isRegExp: (v) => v instanceof RegExp,
    isMap: (v) => v instanceof Map,
    isSet: (v) => v instanceof Set,
    isTypedArray: (v) => ArrayBuffer.isView(v) && !(v instanceof DataView),
    isArrayBuffer: (v) => v instanceof ArrayBuffer,
    isAnyArrayBuffer: (v) => v instanceof ArrayBuffer,
    isUint8Array: (v) => v instanceof Uint8Array,
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
  const util = {
    inspect: hooks.inspect,
    format: hooks.format,
    promisify,
    types: typeTests,
    isDeepStrictEqual: (a, b) => hooks.deepEqual(a, b, true),
    callbackify:
      (f) =>
      (...args) => {
        const callback = args.pop();
        f(...args).then((v) => callback(null, v), callback);
      },
    deprecate: (f) => f,
    debuglog: () => () => {},
    inherits: (child, parent) => {
      Object.setPrototypeOf(child.prototype, parent.prototype);
    },
    // Nothing here is a terminal, and such get no colours unless it is asked for.
    styleText: (style, text, options) => {
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
    userInfo: () => ({ username: "sandbox", uid: 1000, gid: 1000, homedir: "/workspace", shell: null }),
  };
  const url = {
    URL,
    URLSearchParams,
    fileURLToPath: (u) => decodeURIComponent(new URL(u).pathname),
    pathToFileURL: (p) => new URL("file://" + hooks.path.resolve(p).split("/").map(encodeURIComponent).join("/")),
  };
  const timers = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
  const nodeCrypto = {
    ...hooks.hashes,
    webcrypto: crypto,
    subtle: crypto.subtle,
    randomUUID: crypto.randomUUID,
    getRandomValues: crypto.getRandomValues,
    randomBytes: (n) => {
      const b = Buffer.alloc(n);
      native.random(b);
      return b;
    },
    timingSafeEqual: (a, b) => {
      const [left, right] = [hooks.viewBytes(a), hooks.viewBytes(b)];
      if (left.length !== right.length)
        throw Object.assign(new RangeError("Input buffers must have the same byte length"), {
          code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH",
        });
      return left.reduce((differing, byte, i) => differing | (byte ^ right[i]), 0) === 0;
    },
    randomInt: (low, high) => {
      if (high === undefined) [low, high] = [0, low];
      const b = new Uint32Array(2);
      native.random(new Uint8Array(b.buffer));
      return low + Number(((BigInt(b[0]) << 32n) | BigInt(b[1])) % BigInt(high - low));
    },
  };

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
    buffer: { Buffer },
    crypto: nodeCrypto,
    perf_hooks: { performance },
    querystring: hooks.querystring,
    string_decoder: { StringDecoder: hooks.StringDecoder },
    console,
  };
});
