// small_modules.js: modules that are small here: async_hooks, diagnostics_channel, worker_threads, tty, http and its kin, v8,
// and util.parseArgs.
(function (native, hooks) {
  const failure = hooks.codedError;

  // A store is found again in what a promise or a timer starts, as far as the functions are bound to it.
  class AsyncLocalStorage {
    #store;
    run(store, f, ...args) {
      const before = this.#store;
      this.#store = store;
      let isLate = false;
      const back = () => (this.#store = before);
      try {
        const made = f(...args);
        if (typeof made?.then === "function") {
          isLate = true;
          return made.finally(back);
        }
        return made;
      } finally {
        if (!isLate) back();
      }
    }
    exit(f, ...args) {
      return this.run(undefined, f, ...args);
    }
    getStore() {
      return this.#store;
    }
    enterWith(store) {
      this.#store = store;
    }
    disable() {
      this.#store = undefined;
    }
    static bind(f) {
      return f;
    }
    static snapshot() {
      return (f, ...args) => f(...args);
    }
  }
  class AsyncResource {
    constructor(type) {
      this.type = hooks.checkString(type, "type");
    }
    runInAsyncScope(f, self, ...args) {
      return f.apply(self, args);
    }
    bind(f) {
      return f.bind(null);
    }
    static bind(f) {
      return f;
    }
    emitDestroy() {
      return this;
    }
    asyncId() {
      return 1;
    }
    triggerAsyncId() {
      return 0;
    }
  }
  // An emitter that is a resource of its own.
  const resources = new WeakMap();
  const resourceOf = (emitter) => {
    if (!resources.has(emitter)) throw hooks.codedError(TypeError, "ERR_INVALID_THIS", 'Value of "this" must be of type EventEmitterAsyncResource');
    return resources.get(emitter);
  };
  class EventEmitterAsyncResource extends hooks.EventEmitter {
    constructor(options) {
      super(typeof options === "string" ? undefined : options);
      const name = typeof options === "string" ? options : (options?.name ?? new.target.name);
      resources.set(this, Object.assign(new AsyncResource(name), { eventEmitter: this }));
    }
    emit(...args) {
      return resourceOf(this).runInAsyncScope(() => super.emit(...args));
    }
    get asyncResource() {
      return resourceOf(this);
    }
    get asyncId() {
      return resourceOf(this).asyncId();
    }
    get triggerAsyncId() {
      return resourceOf(this).triggerAsyncId();
    }
    emitDestroy() {
      return resourceOf(this).emitDestroy();
    }
  }
  hooks.EventEmitterAsyncResource = EventEmitterAsyncResource;
  const hook = { enable: () => hook, disable: () => hook };
  const asyncHooks = { AsyncLocalStorage, AsyncResource, createHook: () => hook, executionAsyncId: () => 1, triggerAsyncId: () => 0, executionAsyncResource: () => ({}) };

  // What a subscriber throws is nobody's who publishes.
  const throwLater = (error) =>
    hooks.nextTick(() => {
      throw error;
    });
  const attempt = (f, ...args) => {
    try {
      return f(...args);
    } catch (error) {
      throwLater(error);
      return undefined;
    }
  };
  const channels = new Map();
  class Channel {
    #subscribers = [];
    #stores = new Map();
    constructor(name) {
      this.name = name;
    }
    get hasSubscribers() {
      return this.#subscribers.length > 0 || this.#stores.size > 0;
    }
    subscribe(f) {
      hooks.checkFunction(f, "subscription");
      this.#subscribers = [...this.#subscribers, f];
    }
    unsubscribe(f) {
      const at = this.#subscribers.indexOf(f);
      this.#subscribers = this.#subscribers.filter((_, i) => i !== at);
      return at >= 0;
    }
    publish(message) {
      for (const f of this.#subscribers) attempt(f, message, this.name);
    }
    bindStore(store, transform = (data) => data) {
      this.#stores.set(store, transform);
    }
    unbindStore(store) {
      return this.#stores.delete(store);
    }
    runStores(data, f, self, ...args) {
      const inner = () => {
        this.publish(data);
        return Reflect.apply(f, self, args);
      };
      const run = [...this.#stores].reduce((next, [store, transform]) => () => {
        let context;
        try {
          context = transform(data);
        } catch (error) {
          throwLater(error);
          return next();
        }
        return store.run(context, next);
      }, inner);
      return run();
    }
  }
  const channel = (name) => {
    if (typeof name !== "string" && typeof name !== "symbol") throw hooks.invalidType("channel", "one of type string or symbol", name);
    if (!channels.has(name)) channels.set(name, new Channel(name));
    return channels.get(name);
  };
  const PARTS = ["start", "end", "asyncStart", "asyncEnd", "error"];
  class TracingChannel {
    constructor(given) {
      if (typeof given !== "string" && (typeof given !== "object" || given === null))
        throw hooks.invalidType("nameOrChannels", "of type string or an instance of TracingChannel or Object", given);
      if (typeof given === "object" && Object.keys(given).length === 0) throw new TypeError("Cannot convert undefined or null to object");
      for (const part of PARTS) {
        const made = typeof given === "string" ? channel(`tracing:${given}:${part}`) : given[part];
        if (!(made instanceof Channel)) throw hooks.invalidType(`nameOrChannels.${part}`, "an instance of Channel", made);
        this[part] = made;
      }
    }
    get hasSubscribers() {
      return PARTS.some((part) => this[part].hasSubscribers);
    }
    subscribe(handlers) {
      for (const [part, f] of Object.entries(handlers)) this[part]?.subscribe(f);
    }
    unsubscribe(handlers) {
      return Object.entries(handlers).map(([part, f]) => this[part]?.unsubscribe(f) ?? true).every(Boolean);
    }
    // Calls `f` between start and end; what it throws is published and thrown on.
    #trace(f, context) {
      return this.start.runStores(context, () => {
        try {
          return f();
        } catch (error) {
          context.error = error;
          this.error.publish(context);
          throw error;
        } finally {
          this.end.publish(context);
        }
      });
    }
    traceSync(f, context = {}, self, ...args) {
      if (!this.hasSubscribers) return Reflect.apply(f, self, args);
      return this.#trace(() => (context.result = Reflect.apply(f, self, args)), context);
    }
    tracePromise(f, context = {}, self, ...args) {
      if (!this.hasSubscribers) return Reflect.apply(f, self, args);
      const settle = (name, value) => {
        context[name] = value;
        if (name === "error") this.error.publish(context);
        this.asyncStart.publish(context);
        this.asyncEnd.publish(context);
        return value;
      };
      return this.#trace(() => {
        const made = Reflect.apply(f, self, args);
        return Promise.resolve(made).then(
          (value) => settle("result", value),
          (error) => {
            throw settle("error", error);
          },
        );
      }, context);
    }
    traceCallback(f, position = -1, context = {}, self, ...args) {
      if (!this.hasSubscribers) return Reflect.apply(f, self, args);
      const tracing = this,
        callback = hooks.checkFunction(args.at(position), "callback");
      const traced = function (error, value, ...more) {
        if (error) {
          context.error = error;
          tracing.error.publish(context);
        } else context.result = value;
        return tracing.asyncStart.runStores(context, () => {
          try {
            return Reflect.apply(callback, this, [error, value, ...more].slice(0, arguments.length));
          } finally {
            tracing.asyncEnd.publish(context);
          }
        });
      };
      args.splice(position < 0 ? args.length + position : position, 1, traced);
      return this.#trace(() => Reflect.apply(f, self, args), context);
    }
  }
  const diagnostics = {
    ...{ Channel, channel, tracingChannel: (given) => new TracingChannel(given) },
    hasSubscribers: (name) => channel(name).hasSubscribers,
    subscribe: (name, f) => channel(name).subscribe(f),
    unsubscribe: (name, f) => channel(name).unsubscribe(f),
  };

  const refuse = (what, hint) => () => {
    throw hooks.brand(failure(Error, "ERR_METHOD_NOT_IMPLEMENTED", `${what} is not supported here: ${hint}`), "UNSUPPORTED_FEATURE", hint);
  };
  const offline = (...names) => Object.fromEntries(names.map((name) => [name, refuse(name, hooks.NO_NETWORK)]));
  const codes = [[100, "Continue"], [101, "Switching Protocols"], [200, "OK"], [201, "Created"], [202, "Accepted"], [204, "No Content"], [206, "Partial Content"], [301, "Moved Permanently"], [302, "Found"], [303, "See Other"], [304, "Not Modified"], [307, "Temporary Redirect"], [308, "Permanent Redirect"], [400, "Bad Request"], [401, "Unauthorized"], [402, "Payment Required"], [403, "Forbidden"], [404, "Not Found"], [405, "Method Not Allowed"], [406, "Not Acceptable"], [408, "Request Timeout"], [409, "Conflict"], [410, "Gone"], [411, "Length Required"], [412, "Precondition Failed"], [413, "Payload Too Large"], [414, "URI Too Long"], [415, "Unsupported Media Type"], [416, "Range Not Satisfiable"], [417, "Expectation Failed"], [418, "I'm a Teapot"], [422, "Unprocessable Entity"], [423, "Locked"], [425, "Too Early"], [426, "Upgrade Required"], [428, "Precondition Required"], [429, "Too Many Requests"], [431, "Request Header Fields Too Large"], [451, "Unavailable For Legal Reasons"], [500, "Internal Server Error"], [501, "Not Implemented"], [502, "Bad Gateway"], [503, "Service Unavailable"], [504, "Gateway Timeout"], [505, "HTTP Version Not Supported"], [507, "Insufficient Storage"], [511, "Network Authentication Required"]];
  const { EventEmitter } = hooks;
  class Agent extends EventEmitter {}
  class IncomingMessage extends EventEmitter {}
  class ServerResponse extends EventEmitter {}
  class ClientRequest extends EventEmitter {}
  class Server extends EventEmitter {
    listen() {
      refuse("listen", hooks.NO_NETWORK)();
    }
  }
  const http = {
    ...{ Agent, IncomingMessage, ServerResponse, ClientRequest, Server, globalAgent: new Agent(), STATUS_CODES: Object.fromEntries(codes) },
    METHODS: ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"],
    createServer: () => new Server(),
    ...offline("request", "get"),
  };
  class Socket extends EventEmitter {
    connect() {
      refuse("connect", hooks.NO_NETWORK)();
    }
  }
  const isIPv4 = (text) => /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}$/.test(`${text}`) && !/(^|\.)0\d/.test(`${text}`);
  const isIPv6 = (text) => /^[0-9a-f:.]+(%\w+)?$/i.test(`${text}`) && URL.canParse(`http://[${`${text}`.replace(/%.*/, "")}]`);
  const net = { Socket, Server, isIPv4, isIPv6, isIP: (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0), createServer: () => new Server(), ...offline("connect", "createConnection") };
  const dns = { ...offline("lookup", "resolve", "resolve4", "resolve6", "reverse"), promises: offline("lookup", "resolve", "resolve4", "resolve6", "reverse") };

  const NO_THREADS = "there are no threads; run the work in the program itself";
  class MessageChannel {
    constructor() {
      const make = (other) =>
        Object.assign(new MessagePort(), {
          postMessage: (data) => setImmediate(() => other().dispatchEvent(Object.assign(new Event("message"), { data: structuredClone(data) }))),
          ...{ start() {}, close() {}, ref() {}, unref() {} },
          on(name, f) {
            this.addEventListener(name, (event) => f(event.data));
            return this;
          },
          set onmessage(f) {
            this.addEventListener("message", f);
          },
        });
      this.port1 = make(() => this.port2);
      this.port2 = make(() => this.port1);
    }
  }
  class MessagePort extends EventTarget {}
  for (const [name, value] of Object.entries({ MessageChannel, MessagePort })) hooks.define(name, value);
  const threads = { MessagePort, isMainThread: true, parentPort: null, workerData: null, threadId: 0, resourceLimits: {}, MessageChannel, Worker: refuse("Worker", NO_THREADS), SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"), markAsUntransferable() {}, setEnvironmentData() {}, getEnvironmentData() {} };

  const v8 = {
    getHeapStatistics: () => ({ total_heap_size: 0, used_heap_size: 0, heap_size_limit: 0, total_available_size: 0, malloced_memory: 0 }),
    setFlagsFromString() {},
    serialize: refuse("v8.serialize", "use JSON or structuredClone"),
    deserialize: refuse("v8.deserialize", "use JSON or structuredClone"),
  };
  const runInThisContext = (code) => (0, eval)(`${code}`);
  class Script {
    #code;
    constructor(code) {
      this.#code = code;
      new Function(code);
    }
    runInThisContext() {
      return runInThisContext(this.#code);
    }
    runInNewContext(context) {
      return runInNewContext(this.#code, context);
    }
  }
  // The names of the context are those that the code sees first; everything else is this realm's.
  const runInNewContext = (code, context = {}) => Function("$code", `with (this) { return eval($code) }`).call(context, `${code}`);
  const vm = { Script, runInThisContext, runInNewContext, runInContext: runInNewContext, createContext: (context = {}) => context, isContext: (value) => typeof value === "object" };

  class Tty extends EventEmitter {
    isTTY = false;
  }
  const tty = { isatty: () => false, ReadStream: Tty, WriteStream: Tty };

  // util.parseArgs

  const stored = (values, name, value, option) => {
    if (name === "__proto__") return;
    if (option?.multiple) (values[name] ??= []).push(value);
    else values[name] = value;
  };
  const wrongArgument = (code, message) => failure(TypeError, code, message);
  const parseArgs = (config = {}) => {
    const { options = {}, strict = true, allowNegative = false, tokens: withTokens = false } = hooks.checkObject(config, "config");
    const args = config.args ?? process.argv.slice(2),
      allowPositionals = config.allowPositionals ?? !strict;
    for (const [name, option] of Object.entries(options)) {
      if (!["string", "boolean"].includes(option.type)) throw hooks.invalidType(`options.${name}.type`, "one of type string or boolean", option.type);
      if (option.short !== undefined && option.short.length !== 1) throw hooks.invalidValue(`options.${name}.short`, option.short, "must be a single character");
    }
    const values = Object.create(null),
      positionals = [],
      tokens = [];
    const long = (short) => Object.keys(options).find((name) => options[name].short === short) ?? short;
    const take = (index, rawName, name, value, inlineValue) => {
      const option = Object.hasOwn(options, name) ? options[name] : undefined;
      if (strict && !option) {
        const negated = allowNegative && name.startsWith("no-") && options[name.slice(3)]?.type === "boolean";
        if (!negated) throw wrongArgument("ERR_PARSE_ARGS_UNKNOWN_OPTION", `Unknown option '${rawName}'${allowPositionals ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- "${rawName}"` : ""}`);
      }
      const shown = option?.short ? `-${option.short}, --${name}` : `--${name}`;
      if (strict && option?.type === "string" && value === undefined) throw wrongArgument("ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '${shown} <value>' argument missing`);
      if (strict && option?.type === "boolean" && value !== undefined) throw wrongArgument("ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '${shown}' does not take an argument`);
      tokens.push({ kind: "option", name, rawName, index, value, inlineValue });
      if (allowNegative && !option && name.startsWith("no-")) stored(values, name.slice(3), false, options[name.slice(3)]);
      else stored(values, name, value ?? true, option);
    };
    for (let i = 0; i < args.length; i++) {
      const arg = args[i];
      if (arg === "--") {
        tokens.push({ kind: "option-terminator", index: i });
        for (let j = i + 1; j < args.length; j++) positional(j);
        break;
      }
      const wantsNext = (name) => options[name]?.type === "string" && i + 1 < args.length && (!strict || !/^-./.test(args[i + 1]) || ambiguous(name, args[i + 1]));
      if (/^--[^=]/.test(arg)) {
        const at = arg.indexOf("=");
        const name = at < 0 ? arg.slice(2) : arg.slice(2, at);
        if (at >= 0) take(i, `--${name}`, name, arg.slice(at + 1), true);
        else if (wantsNext(name)) take(i, arg, name, args[++i], false);
        else take(i, arg, name, undefined, undefined);
      } else if (/^-[^-]/.test(arg)) {
        for (let at = 1; at < arg.length; at++) {
          const name = long(arg[at]),
            isLast = at === arg.length - 1;
          if (options[name]?.type === "string" && !isLast) {
            take(i, `-${arg[at]}`, name, arg.slice(at + 1), true);
            break;
          }
          if (isLast && wantsNext(name)) take(i, `-${arg[at]}`, name, args[++i], false);
          else take(i, `-${arg[at]}`, name, undefined, undefined);
        }
      } else positional(i);
    }
    function ambiguous(name, value) {
      const shown = `--${name}`;
      throw wrongArgument("ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '${shown}' argument is ambiguous.\nDid you forget to specify the option argument for '${shown}'?\nTo specify an option argument starting with a dash use '${shown}=${value}'.`);
    }
    function positional(index) {
      if (!allowPositionals) throw wrongArgument("ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL", `Unexpected argument '${args[index]}'. This command does not take positional arguments`);
      positionals.push(args[index]);
      tokens.push({ kind: "positional", index, value: args[index] });
    }
    for (const [name, option] of Object.entries(options)) if (option.default !== undefined && !(name in values)) values[name] = option.default;
    return withTokens ? { values, positionals, tokens } : { values, positionals };
  };
  const numbersOf = (text) => Object.fromEntries(text.split(", ").map((pair) => pair.split(" ")).map(([name, number]) => [name, Number(number)]));
  const systemConstants = {
    UV_UDP_REUSEADDR: 4,
    dlopen: numbersOf("RTLD_LAZY 1, RTLD_NOW 2, RTLD_GLOBAL 256, RTLD_LOCAL 0, RTLD_DEEPBIND 8"),
    errno: numbersOf(
      "E2BIG 7, EACCES 13, EADDRINUSE 98, EADDRNOTAVAIL 99, EAFNOSUPPORT 97, EAGAIN 11, EALREADY 114, EBADF 9, EBADMSG 74, EBUSY 16, ECANCELED 125, ECHILD 10, ECONNABORTED 103, ECONNREFUSED 111, ECONNRESET 104, EDEADLK 35, EDESTADDRREQ 89, EDOM 33, EDQUOT 122, EEXIST 17, EFAULT 14, EFBIG 27, EHOSTUNREACH 113, EIDRM 43, EILSEQ 84, EINPROGRESS 115, EINTR 4, EINVAL 22, EIO 5, EISCONN 106, EISDIR 21, ELOOP 40, EMFILE 24, EMLINK 31, EMSGSIZE 90, EMULTIHOP 72, ENAMETOOLONG 36, ENETDOWN 100, ENETRESET 102, ENETUNREACH 101, ENFILE 23, ENOBUFS 105, ENODATA 61, ENODEV 19, ENOENT 2, ENOEXEC 8, ENOLCK 37, ENOLINK 67, ENOMEM 12, ENOMSG 42, ENOPROTOOPT 92, ENOSPC 28, ENOSR 63, ENOSTR 60, ENOSYS 38, ENOTCONN 107, ENOTDIR 20, ENOTEMPTY 39, ENOTSOCK 88, ENOTSUP 95, ENOTTY 25, ENXIO 6, EOPNOTSUPP 95, EOVERFLOW 75, EPERM 1, EPIPE 32, EPROTO 71, EPROTONOSUPPORT 93, EPROTOTYPE 91, ERANGE 34, EROFS 30, ESPIPE 29, ESRCH 3, ESTALE 116, ETIME 62, ETIMEDOUT 110, ETXTBSY 26, EWOULDBLOCK 11, EXDEV 18",
    ),
    signals: numbersOf(
      "SIGHUP 1, SIGINT 2, SIGQUIT 3, SIGILL 4, SIGTRAP 5, SIGABRT 6, SIGIOT 6, SIGBUS 7, SIGFPE 8, SIGKILL 9, SIGUSR1 10, SIGSEGV 11, SIGUSR2 12, SIGPIPE 13, SIGALRM 14, SIGTERM 15, SIGCHLD 17, SIGSTKFLT 16, SIGCONT 18, SIGSTOP 19, SIGTSTP 20, SIGTTIN 21, SIGTTOU 22, SIGURG 23, SIGXCPU 24, SIGXFSZ 25, SIGVTALRM 26, SIGPROF 27, SIGWINCH 28, SIGIO 29, SIGPOLL 29, SIGPWR 30, SIGSYS 31",
    ),
    priority: numbersOf("PRIORITY_LOW 19, PRIORITY_BELOW_NORMAL 10, PRIORITY_NORMAL 0, PRIORITY_ABOVE_NORMAL -7, PRIORITY_HIGH -14, PRIORITY_HIGHEST -20"),
  };
  hooks.small = { systemConstants, async_hooks: asyncHooks, diagnostics_channel: diagnostics, http, https: http, http2: { ...http, constants: {} }, net, tls: net, dns, "dns/promises": dns.promises, worker_threads: threads, v8, vm, tty, parseArgs };
});
