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
    listenerCount(name) {
      return this.#listeners.get(name)?.length ?? 0;
    }
    eventNames() {
      return [...this.#listeners.keys()].filter((n) => this.listenerCount(n));
    }
    setMaxListeners() {
      return this;
    }
    static once(emitter, name) {
      return new Promise((resolve, reject) => {
        emitter.once(name, (...args) => resolve(args));
        if (name !== "error") emitter.once("error", reject);
      });
    }
  }

  EventEmitter.EventEmitter = EventEmitter;
  hooks.EventEmitter = EventEmitter;
});
