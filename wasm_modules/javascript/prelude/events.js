// events.js: the class EventEmitter of the module `events`.
(function (native, hooks) {
  // By emitter: whatever has the methods is one, also what old code makes with EventEmitter.call(this).
  const known = new WeakMap(),
    most = new WeakMap();
  const listsOf = (emitter) => {
    if (!known.has(emitter)) known.set(emitter, new Map());
    return known.get(emitter);
  };
  const failure = (kind, message, code) => Object.assign(new kind(message), { code });
  const checkListener = (listener) => hooks.checkFunction(listener, "listener");
  const MONITOR = Symbol("events.errorMonitor");
  const add = (emitter, name, listener, first) => {
    const lists = listsOf(emitter);
    checkListener(listener);
    if (lists.get("newListener")?.length) emitter.emit("newListener", name, listener.listener ?? listener);
    const list = lists.get(name) ?? [];
    lists.set(name, first ? [listener, ...list] : [...list, listener]);
    return emitter;
  };

  const onlyOnce = (emitter, name, listener) => {
    checkListener(listener);
    const wrapped = (...args) => {
      emitter.off(name, wrapped);
      listener.apply(emitter, args);
    };
    return Object.assign(wrapped, { listener });
  };

  class Methods {
    on(name, listener) {
      return add(this, name, listener, false);
    }
    addListener(name, listener) {
      return this.on(name, listener);
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
    off(name, listener) {
      const list = listsOf(this).get(name) ?? [],
        at = list.findLastIndex((l) => l === listener || l.listener === listener);
      if (at < 0) return this;
      listsOf(this).set(name, list.toSpliced(at, 1));
      if (listsOf(this).get("removeListener")?.length) this.emit("removeListener", name, listener.listener ?? listener);
      return this;
    }
    removeListener(name, listener) {
      return this.off(name, listener);
    }
    removeAllListeners(name) {
      name === undefined ? listsOf(this).clear() : listsOf(this).delete(name);
      return this;
    }
    emit(name, ...args) {
      const list = listsOf(this).get(name) ?? [];
      if (name === "error") for (const listener of listsOf(this).get(MONITOR) ?? []) listener.apply(this, args);
      if (list.length === 0 && name === "error")
        throw args[0] instanceof Error
          ? args[0]
          : failure(Error, `Unhandled error. (${hooks.inspect(args[0])})`, "ERR_UNHANDLED_ERROR");
      for (const listener of list) listener.apply(this, args);
      return list.length > 0;
    }
    listeners(name) {
      return (listsOf(this).get(name) ?? []).map((l) => l.listener ?? l);
    }
    rawListeners(name) {
      return [...(listsOf(this).get(name) ?? [])];
    }
    listenerCount(name, listener) {
      const list = listsOf(this).get(name) ?? [];
      return listener === undefined ? list.length : list.filter((l) => l === listener || l.listener === listener).length;
    }
    eventNames() {
      return [...listsOf(this).keys()].filter((n) => this.listenerCount(n));
    }
    // The number is kept and warns of nothing.
    setMaxListeners(count) {
      if (typeof count !== "number" || !(count >= 0)) throw hooks.outOfRange("setMaxListeners", "a non-negative number", count);
      most.set(this, count);
      return this;
    }
    getMaxListeners() {
      return most.get(this) ?? EventEmitter.defaultMaxListeners;
    }
  }

  function EventEmitter() {}
  EventEmitter.prototype = Methods.prototype;
  Object.defineProperty(EventEmitter.prototype, "constructor", { value: EventEmitter, writable: true, configurable: true });

  // Properties of the class, and so names that can be imported.
  Object.assign(EventEmitter, {
    EventEmitter,
    defaultMaxListeners: 10,
    errorMonitor: MONITOR,
    captureRejectionSymbol: Symbol.for("nodejs.rejection"),
    captureRejections: false,
    usingDomains: false,
    init() {},
    setMaxListeners: (count, ...emitters) => {
      if (typeof count !== "number" || !(count >= 0)) throw hooks.outOfRange("setMaxListeners", "a non-negative number", count);
      for (const emitter of emitters) emitter.setMaxListeners?.(count);
    },
    getMaxListeners: (emitter) => emitter.getMaxListeners?.() ?? EventEmitter.defaultMaxListeners,
    addAbortListener: (signal, listener) => {
      signal.aborted ? queueMicrotask(listener) : signal.addEventListener("abort", listener, { once: true });
      return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
    },
    once: (emitter, name) =>
      new Promise((resolve, reject) => {
        if (typeof emitter.addEventListener === "function")
          return emitter.addEventListener(name, (event) => resolve([event]), { once: true });
        const done = (...args) => (emitter.off("error", failed), resolve(args));
        const failed = (error) => (emitter.off(name, done), reject(error));
        emitter.once(name, done);
        if (name !== "error") emitter.once("error", failed);
      }),
    // What is emitted, one after the other, for `for await`.
    on: (emitter, name, { signal } = {}) => {
      const waiting = [],
        queue = [];
      let failure,
        isOver = false;
      const next = () => {
        while (waiting.length && (queue.length || failure || isOver)) {
          const { resolve, reject } = waiting.shift();
          if (queue.length) resolve({ value: queue.shift(), done: false });
          else if (failure) reject(failure.error), (failure = undefined), (isOver = true);
          else resolve({ value: undefined, done: true });
        }
      };
      const take = (...args) => (queue.push(args), next());
      const fail = (error) => ((failure = { error }), next());
      const stop = () => {
        emitter.off(name, take);
        emitter.off("error", fail);
        isOver = true;
        next();
        return Promise.resolve({ value: undefined, done: true });
      };
      emitter.on(name, take);
      if (name !== "error") emitter.on("error", fail);
      const aborted = () =>
        fail(Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR" }));
      signal?.addEventListener("abort", aborted, { once: true });
      return {
        next: () => new Promise((resolve, reject) => (waiting.push({ resolve, reject }), next())),
        return: stop,
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    },
    listenerCount: (emitter, name) => emitter.listenerCount(name),
    getEventListeners: (emitter, name) => emitter.listeners(name),
  });
  hooks.EventEmitter = EventEmitter;
});
