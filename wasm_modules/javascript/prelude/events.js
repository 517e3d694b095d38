// events.js: the class EventEmitter of the module `events`.
(function (native, hooks) {
  class EventEmitter {
    #listeners = new Map();
    #add(name, listener, first) {
      if (typeof listener !== "function") throw new TypeError('The "listener" argument must be of type function');
      const list = this.#listeners.get(name) ?? [];
      this.#listeners.set(name, first ? [listener, ...list] : [...list, listener]);
      return this;
    }
    on(name, listener) {
      return this.#add(name, listener, false);
    }
    addListener(name, listener) {
      return this.on(name, listener);
    }
    prependListener(name, listener) {
      return this.#add(name, listener, true);
    }
    once(name, listener) {
      const wrapped = (...args) => {
        this.off(name, wrapped);
        listener.apply(this, args);
      };
      wrapped.listener = listener;
      return this.on(name, wrapped);
    }
    off(name, listener) {
      const list = this.#listeners.get(name) ?? [],
        at = list.findLastIndex((l) => l === listener || l.listener === listener);
      if (at >= 0) this.#listeners.set(name, list.toSpliced(at, 1));
      return this;
    }
    removeListener(name, listener) {
      return this.off(name, listener);
    }
    removeAllListeners(name) {
      name === undefined ? this.#listeners.clear() : this.#listeners.delete(name);
      return this;
    }
    emit(name, ...args) {
      const list = this.#listeners.get(name) ?? [];
      if (list.length === 0 && name === "error")
        throw args[0] instanceof Error ? args[0] : new Error(`Unhandled error. (${hooks.inspect(args[0])})`);
      for (const listener of list) listener.apply(this, args);
      return list.length > 0;
    }
    listeners(name) {
      return (this.#listeners.get(name) ?? []).map((l) => l.listener ?? l);
    }
    rawListeners(name) {
      return [...(this.#listeners.get(name) ?? [])];
    }
    listenerCount(name) {
      return this.#listeners.get(name)?.length ?? 0;
    }
    eventNames() {
      return [...this.#listeners.keys()].filter((n) => this.listenerCount(n));
    }
    setMaxListeners() {
      return this;
    }
  }

  // Properties of the class, and so names that can be imported.
  Object.assign(EventEmitter, {
    EventEmitter,
    defaultMaxListeners: 10,
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
