// timers.js: setTimeout and its relatives, and the objects they give, as Node has them. What runs when is said in timers.c.
(function (native, hooks) {
  const TIMEOUT = 0,
    INTERVAL = 1,
    IMMEDIATE = 2;

  // `start` sets the timer off under the number it is given, or under a new one for 0.
  class Timer {
    #start;
    #number;
    #held = true;
    constructor(start) {
      this.#start = start;
      this.#number = start(0);
    }
    #hold(whether) {
      this.#held = whether;
      native.holdTimer(this.#number, whether);
      return this;
    }
    ref() {
      return this.#hold(true);
    }
    unref() {
      return this.#hold(false);
    }
    hasRef() {
      return this.#held;
    }
    // A timer is no part of a result: a program that ends with setTimeout(…) has none.
    toJSON() {
      return undefined;
    }
    [Symbol.dispose]() {
      stop(this);
    }
    static stop(timer) {
      if (#number in timer) {
        native.stopTimer(timer.#number);
        timer.#start = undefined;
      }
    }
    static restart(timer) {
      if (timer.#start === undefined) return;
      native.stopTimer(timer.#number);
      timer.#start(timer.#number);
      timer.#hold(timer.#held);
    }
    static numberOf(timer) {
      return timer.#number;
    }
  }
  const { stop, restart, numberOf } = Timer;
  for (const name of ["stop", "restart", "numberOf"]) delete Timer[name];

  class Timeout extends Timer {
    refresh() {
      restart(this);
      return this;
    }
    close() {
      stop(this);
      return this;
    }
    [Symbol.toPrimitive]() {
      return numberOf(this);
    }
  }
  class Immediate extends Timer {}

  const checkFunction = (callback) => {
    if (typeof callback === "function") return;
    throw Object.assign(new TypeError(`The "callback" argument must be of type function. Received ${hooks.inspect(callback)}`), {
      code: "ERR_INVALID_ARG_TYPE",
    });
  };
  const start = (kind, callback, delay, args) => {
    checkFunction(callback);
    return (number) => native.startTimer(number, kind, callback, delay, ...args);
  };
  const clear = (timer) => {
    if (typeof timer === "object" && timer !== null) stop(timer);
    else if (typeof timer === "number" || typeof timer === "string") native.stopTimer(Number(timer));
  };
  // process.nextTick: loop.h says when they run. What a program left behind when it ended is gone.
  let ticks = { turn: -1, waiting: [] };
  hooks.nextTick = (callback, ...args) => {
    checkFunction(callback);
    if (ticks.turn !== native.turn()) ticks = { turn: native.turn(), waiting: [] };
    ticks.waiting.push([callback, args]);
    native.watchTicks();
  };
  hooks.runTicks = () => {
    while (ticks.waiting.length) {
      const batch = ticks.waiting;
      ticks.waiting = [];
      let at = 0;
      try {
        while (at < batch.length) {
          const [callback, args] = batch[at++];
          callback(...args);
        }
      } finally {
        if (at < batch.length) ticks.waiting = [...batch.slice(at), ...ticks.waiting];
        if (ticks.waiting.length) native.watchTicks();
      }
    }
  };

  for (const [name, value] of Object.entries({
    setTimeout: (callback, delay, ...args) => new Timeout(start(TIMEOUT, callback, delay, args)),
    setInterval: (callback, delay, ...args) => new Timeout(start(INTERVAL, callback, delay, args)),
    setImmediate: (callback, ...args) => new Immediate(start(IMMEDIATE, callback, 0, args)),
    clearTimeout: (timer) => clear(timer),
    clearInterval: (timer) => clear(timer),
    clearImmediate: (timer) => clear(timer),
  }))
    hooks.define(name, value);
});
