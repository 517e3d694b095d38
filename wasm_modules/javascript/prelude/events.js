// events.js: the class EventEmitter of the module `events`. An emitter keeps its listeners where Node does, in `_events`: a function,
// or a list of them, by name. Old code calls EventEmitter without `new`, or makes emitters that were never constructed.
(function (native, hooks) {
  const MONITOR = Symbol("events.errorMonitor"),
    REJECTION = Symbol.for("nodejs.rejection"),
    CAPTURES = Symbol("kCapture"),
    SHAPE = Symbol("shapeMode");
  let mostByDefault = 10;

  const checkListener = (listener) => hooks.checkFunction(listener, "listener");
  const checkMost = (count, name) => hooks.checkRange(count, name, 0);
  const eventsOf = (emitter) => {
    if (emitter._events === undefined || emitter._events === Object.getPrototypeOf(emitter)?._events) {
      emitter._events = Object.create(null);
      emitter._eventsCount = 0;
    }
    return emitter._events;
  };
  const listOf = (emitter, name) => {
    const found = emitter._events?.[name];
    return found === undefined ? [] : typeof found === "function" ? [found] : found;
  };
  const keep = (emitter, name, list) => {
    const events = eventsOf(emitter);
    if (list.length === 0 && name in events) {
      delete events[name];
      emitter._eventsCount--;
    } else if (list.length) {
      if (!(name in events)) emitter._eventsCount++;
      events[name] = list.length === 1 ? list[0] : list;
    }
  };

  const warnOfMany = (emitter, name, list) => {
    const most = emitter._maxListeners ?? mostByDefault;
    if (!(most > 0 && list.length > most) || list.warned) return;
    list.warned = true;
    const text = `Possible EventEmitter memory leak detected. ${list.length} ${String(name)} listeners added to ${hooks.inspect(emitter, { depth: -1 })}. MaxListeners is ${most}. Use emitter.setMaxListeners() to increase limit`;
    const warning = Object.assign(new Error(text), { name: "MaxListenersExceededWarning", emitter, type: name, count: list.length });
    process.emitWarning(warning);
  };
  const add = (emitter, name, listener, isFirst) => {
    checkListener(listener);
    if (eventsOf(emitter).newListener !== undefined) emitter.emit("newListener", name, listener.listener ?? listener);
    const before = listOf(emitter, name);
    const list = isFirst ? [listener, ...before] : [...before, listener];
    list.warned = before.warned;
    keep(emitter, name, list);
    warnOfMany(emitter, name, list);
    return emitter;
  };
  const onlyOnce = (emitter, name, listener) => {
    checkListener(listener);
    let isFired = false;
    const wrapped = function (...args) {
      if (isFired) return undefined;
      isFired = true;
      emitter.removeListener(name, wrapped);
      return listener.apply(emitter, args);
    };
    Object.defineProperty(wrapped, "name", { value: `bound onceWrapper` });
    return Object.assign(wrapped, { listener });
  };

  // What a listener's promise was rejected with, if the emitter captures that.
  const takeRejection = (emitter, error, name, args) => {
    if (typeof emitter[REJECTION] === "function") return emitter[REJECTION](error, name, ...args);
    const captures = emitter[CAPTURES];
    try {
      emitter[CAPTURES] = false;
      emitter.emit("error", error);
    } finally {
      emitter[CAPTURES] = captures;
    }
  };
  const callListener = (emitter, listener, name, args) => {
    const given = Reflect.apply(listener, emitter, args);
    if (given === undefined || given === null || !emitter[CAPTURES] || typeof given.then !== "function") return;
    given.then(undefined, (error) => process.nextTick(takeRejection, emitter, error, name, args));
  };
  const unhandled = (error) => {
    if (error instanceof Error) return error;
    let shown;
    try {
      shown = hooks.inspect(error);
    } catch {
      shown = `${error}`;
    }
    return hooks.codedError(Error, "ERR_UNHANDLED_ERROR", `Unhandled error. (${shown})`, { context: error });
  };

  const construct = (emitter, options) => {
    eventsOf(emitter);
    emitter._maxListeners ??= undefined;
    emitter[SHAPE] = false;
    if (options?.captureRejections !== undefined) hooks.checkType(options.captureRejections, "options.captureRejections", "boolean");
    emitter[CAPTURES] = options?.captureRejections ?? EventEmitter.prototype[CAPTURES];
  };
  function EventEmitter(options) {
    EventEmitter.init.call(this, options);
  }

  class Methods {
    on(name, listener) {
      return add(this, name, listener, false);
    }
    prependListener(name, listener) {
      return add(this, name, listener, true);
    }
    once(name, listener) {
      return this.on(name, onlyOnce(this, name, listener));
    }
    prependOnceListener(name, listener) {
      return this.prependListener(name, onlyOnce(this, name, listener));
    }
    removeListener(name, listener) {
      checkListener(listener);
      const list = listOf(this, name),
        at = list.findLastIndex((one) => one === listener || one.listener === listener);
      if (at < 0) return this;
      keep(this, name, list.toSpliced(at, 1));
      if (this._events.removeListener !== undefined) this.emit("removeListener", name, list[at].listener ?? listener);
      return this;
    }
    removeAllListeners(name) {
      const isTold = eventsOf(this).removeListener !== undefined;
      if (isTold && arguments.length === 0) {
        for (const each of Reflect.ownKeys(this._events)) if (each !== "removeListener") this.removeAllListeners(each);
        this.removeAllListeners("removeListener");
      } else if (isTold) {
        for (const listener of listOf(this, name).toReversed()) this.removeListener(name, listener);
      } else if (arguments.length > 0) keep(this, name, []);
      if (arguments.length === 0) [this._events, this._eventsCount] = [Object.create(null), 0];
      return this;
    }
    emit(name, ...args) {
      const alone = this._events?.[name];
      if (typeof alone === "function" && name !== "error") {
        callListener(this, alone, name, args);
        return true;
      }
      const list = listOf(this, name);
      if (name === "error") {
        for (const listener of listOf(this, MONITOR)) listener.apply(this, args);
        if (list.length === 0) throw unhandled(args[0]);
      }
      for (const listener of [...list]) callListener(this, listener, name, args);
      return list.length > 0;
    }
    listeners(name) {
      return listOf(this, name).map((one) => one.listener ?? one);
    }
    rawListeners(name) {
      return [...listOf(this, name)];
    }
    listenerCount(name, listener) {
      const list = listOf(this, name);
      return listener === undefined ? list.length : list.filter((one) => one === listener || one.listener === listener).length;
    }
    eventNames() {
      return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
    }
    setMaxListeners(count) {
      this._maxListeners = checkMost(count, "setMaxListeners");
      return this;
    }
    getMaxListeners() {
      return this._maxListeners ?? mostByDefault;
    }
  }
  EventEmitter.prototype = Methods.prototype;
  for (const [alias, name] of Object.entries({ addListener: "on", off: "removeListener" }))
    Object.defineProperty(EventEmitter.prototype, alias, { value: EventEmitter.prototype[name], writable: true, configurable: true });
  for (const [name, value] of [["constructor", EventEmitter], ["_events", undefined], ["_eventsCount", 0], ["_maxListeners", undefined], [CAPTURES, false]])
    Object.defineProperty(EventEmitter.prototype, name, { value, writable: true, configurable: true });

  const isTarget = (emitter) => typeof emitter?.addEventListener === "function";
  const isEmitter = (emitter) => typeof emitter?.on === "function";
  const checkEmitter = (emitter) => {
    if (!isEmitter(emitter) && !isTarget(emitter)) throw hooks.invalidType("emitter", "an instance of EventEmitter", emitter);
  };
  const checkSignal = (signal) => {
    if (signal === undefined) return;
    if (typeof signal !== "object" || signal === null || !("aborted" in signal))
      throw hooks.invalidType("options.signal", "an instance of AbortSignal", signal);
    if (signal.aborted) throw hooks.abortError(signal.reason);
  };
  // Listens until `stop` is called.
  const listen = (emitter, name, listener, isOnce) => {
    if (isEmitter(emitter)) emitter[isOnce ? "once" : "on"](name, listener);
    else emitter.addEventListener(name, listener, { once: isOnce });
    return () => (isEmitter(emitter) ? emitter.removeListener(name, listener) : emitter.removeEventListener(name, listener));
  };

  const once = async (emitter, name, options) => {
    const signal = options?.signal ?? undefined;
    checkSignal(signal);
    checkEmitter(emitter);
    const { promise, resolve, reject } = Promise.withResolvers();
    const stops = [listen(emitter, name, (...args) => (stopAll(), resolve(args)), true)];
    const stopAll = () => stops.forEach((stop) => stop());
    if (name !== "error" && isEmitter(emitter)) stops.push(listen(emitter, "error", (error) => (stopAll(), reject(error)), true));
    if (signal) stops.push(listen(signal, "abort", () => (stopAll(), reject(hooks.abortError(signal.reason))), true));
    return promise;
  };

  const AsyncIteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);
  // What is emitted, one after the other, for `for await`.
  const on = (emitter, name, options = {}) => {
    hooks.checkObject(options, "options");
    const { signal, close: closing = [] } = options;
    checkSignal(signal);
    checkEmitter(emitter);
    const waiting = [],
      queue = [];
    let failure,
      isOver = false;
    const finish = () => {
      isOver = true;
      stops.forEach((stop) => stop());
      while (waiting.length) waiting.shift().resolve({ value: undefined, done: true });
      return Promise.resolve({ value: undefined, done: true });
    };
    const take = (...args) => (waiting.length ? waiting.shift().resolve({ value: args, done: false }) : queue.push(args));
    const fail = (error) => {
      if (waiting.length) waiting.shift().reject(error);
      else failure = { error };
      finish();
    };
    const stops = [listen(emitter, name, take, false)];
    if (name !== "error" && isEmitter(emitter)) stops.push(listen(emitter, "error", fail, false));
    for (const each of closing) stops.push(listen(emitter, each, finish, false));
    if (signal) stops.push(listen(signal, "abort", () => fail(hooks.abortError(signal.reason)), true));
    return Object.setPrototypeOf(
      {
        next() {
          if (queue.length) return Promise.resolve({ value: queue.shift(), done: false });
          if (failure) {
            const { error } = failure;
            failure = undefined;
            return Promise.reject(error);
          }
          if (isOver) return Promise.resolve({ value: undefined, done: true });
          return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
        },
        return: finish,
        throw(error) {
          if (!(error instanceof Error)) throw hooks.invalidType("EventEmitter.AsyncIterator", "an instance of Error", error);
          fail(error);
        },
        [Symbol.asyncIterator]() {
          return this;
        },
      },
      AsyncIteratorPrototype,
    );
  };

  // Properties of the class, and so names that can be imported.
  Object.assign(EventEmitter, {
    ...{ EventEmitter, once, on },
    errorMonitor: MONITOR,
    captureRejectionSymbol: REJECTION,
    usingDomains: false,
    init(options) {
      construct(this, options);
    },
    setMaxListeners: (count = mostByDefault, ...emitters) => {
      checkMost(count, "setMaxListeners");
      if (emitters.length === 0) mostByDefault = count;
      for (const emitter of emitters) {
        if (isEmitter(emitter)) emitter.setMaxListeners(count);
        else if (isTarget(emitter)) hooks.mostListeners.set(emitter, count);
        else throw hooks.invalidType("eventTargets", "an instance of EventEmitter or EventTarget", emitter);
      }
    },
    getMaxListeners: (emitter) => {
      if (typeof emitter?.getMaxListeners === "function") return emitter.getMaxListeners();
      if (isTarget(emitter)) return hooks.mostListeners.get(emitter) ?? mostByDefault;
      throw hooks.invalidType("emitter", "an instance of EventEmitter or EventTarget", emitter);
    },
    addAbortListener: (signal, listener) => {
      if (signal === undefined) throw hooks.invalidType("signal", "an instance of AbortSignal", signal);
      if (typeof signal !== "object" || signal === null || !("aborted" in signal)) throw hooks.invalidType("signal", "an instance of AbortSignal", signal);
      checkListener(listener);
      signal.aborted ? queueMicrotask(listener) : signal.addEventListener("abort", listener, { once: true });
      return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
    },
    listenerCount: (emitter, name) => (typeof emitter.listenerCount === "function" ? emitter.listenerCount(name) : Methods.prototype.listenerCount.call(emitter, name)),
    getEventListeners: (emitter, name) => {
      if (typeof emitter?.listeners === "function") return emitter.listeners(name);
      if (isTarget(emitter)) return hooks.listenersOf(emitter, name);
      throw hooks.invalidType("emitter", "an instance of EventEmitter or EventTarget", emitter);
    },
  });
  hooks.mostListeners = new WeakMap();
  Object.defineProperties(EventEmitter, {
    defaultMaxListeners: {
      get: () => mostByDefault,
      set: (count) => (mostByDefault = checkMost(count, "defaultMaxListeners")),
      enumerable: true,
    },
    captureRejections: {
      get: () => EventEmitter.prototype[CAPTURES],
      set: (value) => (EventEmitter.prototype[CAPTURES] = hooks.checkType(value, "EventEmitter.captureRejections", "boolean")),
      enumerable: true,
    },
    EventEmitterAsyncResource: { get: () => hooks.builtins.async_hooks && hooks.EventEmitterAsyncResource, enumerable: true, configurable: true },
  });
  hooks.EventEmitter = EventEmitter;
});
