// node.js: process, and the small modules scripts import without thinking: util, events, assert, os, url, timers.
(function (native, hooks) {
  const environment = {};
  hooks.setEnvironment = (values) => {
    for (const name of Object.keys(environment)) delete environment[name];
    Object.assign(environment, values);
  };

  const stream = (fd) => ({
    fd, isTTY: false, columns: 80,
    write: (data, encoding, done) => {
      native.print(fd, typeof data === "string" ? data : native.decode(hooks.viewBytes(data), false));
      const callback = typeof encoding === "function" ? encoding : done;
      if (callback) queueMicrotask(callback);
      return true;
    },
    end: () => {}, on() { return this; }, once() { return this; },
  });

  let exitCode = { turn: 0, value: undefined };
  const process = {
    title: "hatchway", version: "v22.0.0", versions: { quickjs: "0.17.0", hatchway: "1" }, platform: "wasi", arch: "wasm32", pid: 1, ppid: 0,
    get exitCode() { return exitCode.turn === native.turn() ? exitCode.value : undefined; },
    set exitCode(value) {
      exitCode = { turn: native.turn(), value };
      native.exitCode(Number(value ?? 0));
    },
    execArgv: [], execPath: "/usr/bin/node",
    env: environment,
    get argv() { return ["node", native.programName()]; },
    cwd: () => native.cwd(),
    chdir: (path) => {
      const full = hooks.path.resolve(path);
      if (!hooks.fs.statSync(full).isDirectory())
        throw Object.assign(new Error(`ENOTDIR: not a directory, chdir '${path}'`), { code: "ENOTDIR", syscall: "chdir" });
      native.cwd(full);
    },
    exit: (code) => native.exit(Number(code ?? process.exitCode ?? 0)),
    abort: () => native.exit(134),
    stdout: stream(1), stderr: stream(2),
    stdin: { fd: 0, isTTY: false, read: () => native.decode(native.read(0), false) },
    nextTick: (f, ...args) => queueMicrotask(() => f(...args)),
    uptime: () => performance.now() / 1000,
    hrtime: Object.assign((before) => {
      const ns = Math.round(performance.now() * 1e6), now = [Math.floor(ns / 1e9), ns % 1e9];
      if (!before) return now;
      const diff = (now[0] - before[0]) * 1e9 + now[1] - before[1];
      return [Math.floor(diff / 1e9), diff % 1e9];
    }, { bigint: () => BigInt(Math.round(performance.now() * 1e6)) }),
    memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
    emitWarning: (warning) => console.error(`Warning: ${warning?.message ?? warning}`),
    on() { return process; }, once() { return process; }, off() { return process; }, emit: () => false,
    removeListener() { return process; }, listenerCount: () => 0,
  };
  Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });

  class EventEmitter {
    #listeners = new Map();
    #add(name, listener, first) {
      if (typeof listener !== "function") throw new TypeError('The "listener" argument must be of type function');
      const list = this.#listeners.get(name) ?? [];
      this.#listeners.set(name, first ? [listener, ...list] : [...list, listener]);
      return this;
    }
    on(name, listener) { return this.#add(name, listener, false); }
    addListener(name, listener) { return this.on(name, listener); }
    prependListener(name, listener) { return this.#add(name, listener, true); }
    once(name, listener) {
      const wrapped = (...args) => {
        this.off(name, wrapped);
        listener.apply(this, args);
      };
      wrapped.listener = listener;
      return this.on(name, wrapped);
    }
    off(name, listener) {
      const list = this.#listeners.get(name) ?? [], at = list.findLastIndex((l) => l === listener || l.listener === listener);
      if (at >= 0) this.#listeners.set(name, list.toSpliced(at, 1));
      return this;
    }
    removeListener(name, listener) { return this.off(name, listener); }
    removeAllListeners(name) {
      name === undefined ? this.#listeners.clear() : this.#listeners.delete(name);
      return this;
    }
    emit(name, ...args) {
      const list = this.#listeners.get(name) ?? [];
      if (list.length === 0 && name === "error") throw args[0] instanceof Error ? args[0] : new Error(`Unhandled error. (${hooks.inspect(args[0])})`);
      for (const listener of list) listener.apply(this, args);
      return list.length > 0;
    }
    listeners(name) { return (this.#listeners.get(name) ?? []).map((l) => l.listener ?? l); }
    listenerCount(name) { return this.#listeners.get(name)?.length ?? 0; }
    eventNames() { return [...this.#listeners.keys()].filter((n) => this.listenerCount(n)); }
    setMaxListeners() { return this; }
    static once(emitter, name) {
      return new Promise((resolve, reject) => {
        emitter.once(name, (...args) => resolve(args));
        if (name !== "error") emitter.once("error", reject);
      });
    }
  }
  EventEmitter.EventEmitter = EventEmitter;

  const promisify = (f) => (...args) =>
    new Promise((resolve, reject) => f(...args, (error, value) => (error ? reject(error) : resolve(value))));
  promisify.custom = Symbol.for("nodejs.util.promisify.custom");

  // Compares by structure, with cycles, from a queue.
  const deepEqual = (left, right, strict) => {
    const seen = new Map(), queue = [[left, right]];
    const same = (a, b) => (strict ? Object.is(a, b) : a == b || (a !== a && b !== b));
    while (queue.length) {
      const [a, b] = queue.pop();
      if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
        if (!same(a, b)) return false;
        continue;
      }
      if (a === b || seen.get(a) === b) continue;
      seen.set(a, b);
      if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
      if (native.kind(a) !== native.kind(b)) return false;
      if (a instanceof Date && b instanceof Date) { if (a.getTime() !== b.getTime()) return false; continue; }
      if (a instanceof RegExp && b instanceof RegExp) { if (`${a}` !== `${b}`) return false; continue; }
      if (a instanceof Error && (a.name !== b.name || a.message !== b.message)) return false;
      if (a instanceof Map) {
        if (a.size !== b.size) return false;
        for (const [k, v] of a) {
          const twin = b.has(k) ? k : [...b.keys()].find((other) => typeof k === "object" && deepEqual(k, other, strict));
          if (twin === undefined && !b.has(k)) return false;
          queue.push([v, b.get(twin)]);
        }
        continue;
      }
      if (a instanceof Set) {
        if (a.size !== b.size) return false;
        for (const v of a) if (!b.has(v) && !(typeof v === "object" && [...b].some((other) => deepEqual(v, other, strict)))) return false;
        continue;
      }
      const keys = Object.keys(a);
      if (keys.length !== Object.keys(b).length || (Array.isArray(a) && a.length !== b.length)) return false;
      for (const k of keys) {
        if (!Object.hasOwn(b, k)) return false;
        queue.push([a[k], b[k]]);
      }
    }
    return true;
  };

  const typeTests = {
    isPromise: (v) => v instanceof Promise, isDate: (v) => v instanceof Date, isRegExp: (v) => v instanceof RegExp,
    isMap: (v) => v instanceof Map, isSet: (v) => v instanceof Set, isTypedArray: (v) => ArrayBuffer.isView(v) && !(v instanceof DataView),
    isNativeError: (v) => v instanceof Error, isProxy: (v) => native.kind(v) === 14,
  };
  const util = {
    inspect: hooks.inspect, format: hooks.format, promisify, types: typeTests,
    isDeepStrictEqual: (a, b) => deepEqual(a, b, true),
    callbackify: (f) => (...args) => {
      const callback = args.pop();
      f(...args).then((v) => callback(null, v), callback);
    },
    deprecate: (f) => f, debuglog: () => () => {},
    inherits: (child, parent) => { Object.setPrototypeOf(child.prototype, parent.prototype); },
    stripVTControlCharacters: (text) => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ""),
    TextEncoder, TextDecoder,
  };

  class AssertionError extends Error {
    constructor({ message, actual, expected, operator }) {
      super(message);
      this.name = "AssertionError";
      Object.assign(this, { generatedMessage: false, code: "ERR_ASSERTION", actual, expected, operator });
    }
  }
  const fail = (message, actual, expected, operator, fallback) => {
    if (message instanceof Error) throw message;
    throw new AssertionError({ message: message ?? fallback, actual, expected, operator });
  };
  const show = hooks.inspect;
  const assert = (value, message) => { if (!value) fail(message, value, true, "==", "The expression evaluated to a falsy value"); };
  const matches = (error, expected) =>
    expected === undefined || (typeof expected === "function" ? (expected.prototype !== undefined && error instanceof expected) || (!(expected.prototype instanceof Error) && expected !== Error && expected(error) === true)
      : expected instanceof RegExp ? expected.test(`${error}`) : Object.keys(expected).every((k) => expected[k] instanceof RegExp ? expected[k].test(error[k]) : deepEqual(error[k], expected[k], true)));
  Object.assign(assert, {
    AssertionError, ok: assert,
    equal: (a, b, m) => { if (!(a == b || (a !== a && b !== b))) fail(m, a, b, "==", `${show(a)} == ${show(b)}`); },
    notEqual: (a, b, m) => { if (a == b) fail(m, a, b, "!=", `${show(a)} != ${show(b)}`); },
    strictEqual: (a, b, m) => { if (!Object.is(a, b)) fail(m, a, b, "strictEqual", `Expected values to be strictly equal:\n\n${show(a)} !== ${show(b)}\n`); },
    notStrictEqual: (a, b, m) => { if (Object.is(a, b)) fail(m, a, b, "notStrictEqual", `Expected "actual" to be strictly unequal to: ${show(b)}`); },
    deepEqual: (a, b, m) => { if (!deepEqual(a, b, false)) fail(m, a, b, "deepEqual", `Expected values to be loosely deep-equal:\n\n${show(a)}\n\nshould loosely deep-equal\n\n${show(b)}`); },
    deepStrictEqual: (a, b, m) => { if (!deepEqual(a, b, true)) fail(m, a, b, "deepStrictEqual", `Expected values to be strictly deep-equal:\n\n${show(a)}\n\nshould equal\n\n${show(b)}\n`); },
    notDeepStrictEqual: (a, b, m) => { if (deepEqual(a, b, true)) fail(m, a, b, "notDeepStrictEqual", "Expected values not to be deep-equal"); },
    fail: (m = "Failed") => fail(m, undefined, undefined, "fail"),
    match: (text, pattern, m) => { if (!pattern.test(text)) fail(m, text, pattern, "match", `The input did not match the regular expression ${pattern}. Input:\n\n${show(text)}\n`); },
    throws: (f, expected, m) => {
      try { f(); } catch (error) {
        if (!matches(error, typeof expected === "string" ? undefined : expected)) throw error;
        return;
      }
      fail(m, undefined, expected, "throws", "Missing expected exception.");
    },
    rejects: async (promise, expected, m) => {
      try { await (typeof promise === "function" ? promise() : promise); } catch (error) {
        if (!matches(error, expected)) throw error;
        return;
      }
      fail(m, undefined, expected, "rejects", "Missing expected rejection.");
    },
    doesNotThrow: (f) => f(),
  });
  assert.strict = assert;

  const sleep = (ms, value) => new Promise((resolve) => setTimeout(resolve, ms, value));
  const os = {
    EOL: "\n", platform: () => "wasi", type: () => "WASI", arch: () => "wasm32", release: () => "1", hostname: () => "hatchway", homedir: () => "/workspace",
    tmpdir: () => "/tmp", cpus: () => [], totalmem: () => 0, freemem: () => 0, uptime: () => 0, endianness: () => "LE", userInfo: () => ({ username: "sandbox", uid: 1000, gid: 1000, homedir: "/workspace", shell: null }),
  };
  const url = {
    URL, URLSearchParams, fileURLToPath: (u) => decodeURIComponent(new URL(u).pathname),
    pathToFileURL: (p) => new URL("file://" + hooks.path.resolve(p).split("/").map(encodeURIComponent).join("/")),
  };
  const timers = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
  const nodeCrypto = {
    webcrypto: crypto, randomUUID: crypto.randomUUID, getRandomValues: crypto.getRandomValues,
    randomBytes: (n) => { const b = Buffer.alloc(n); native.random(b); return b; },
    randomInt: (low, high) => {
      if (high === undefined) [low, high] = [0, low];
      const b = new Uint32Array(2);
      native.random(new Uint8Array(b.buffer));
      return low + Number((BigInt(b[0]) << 32n | BigInt(b[1])) % BigInt(high - low));
    },
  };

  hooks.define("process", process);
  hooks.builtins = {
    fs: hooks.fs, "fs/promises": hooks.fs.promises, path: hooks.path, "path/posix": hooks.path, process, util, events: EventEmitter, assert, "assert/strict": assert,
    os, url, timers, "timers/promises": { setTimeout: sleep, setImmediate: (v) => sleep(0, v), scheduler: { wait: sleep } },
    buffer: { Buffer }, crypto: nodeCrypto, perf_hooks: { performance }, console,
  };
})
