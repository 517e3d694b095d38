// timers.js: setTimeout and its relatives, and the objects they give, as Node has them. What runs when is said in timers.c.
(function (native, hooks) {
  const TIMEOUT = 0,
    INTERVAL = 1,
    IMMEDIATE = 2;
  // The timers that wait, by number. They end with their turn.
  let waiting = { turn: -1, timers: new Map() };
  const waitingTimers = () => {
    if (waiting.turn !== native.turn()) waiting = { turn: native.turn(), timers: new Map() };
    return waiting.timers;
  };

  // Node's fields: `_onTimeout`, `_repeat` (the interval, or null), `_idleTimeout`, `_destroyed`; programs read and set them.
  class Timer {
    #kind;
    #number;
    #held = true;
    #args;
    constructor(kind, callback, delay, args) {
      this.#kind = kind;
      this.#args = args;
      this._onTimeout = callback;
      if (kind !== IMMEDIATE) {
        this._idleTimeout = delay;
        this._repeat = kind === INTERVAL ? delay : null;
      }
      this._destroyed = false;
      this.#number = this.#start(0);
    }
    // Sets the timer off under the number it is given, or under a new one for 0.
    #start(given) {
      const number = this.#set(given);
      waitingTimers().set(number, this);
      return number;
    }
    #set(number) {
      return native.startTimer(number, this.#kind === IMMEDIATE, () => this.#run(), Math.trunc(this._idleTimeout ?? 0));
    }
    #run() {
      const number = this.#number;
      this.#number = 0;
      if (this.#kind === IMMEDIATE) waitingTimers().delete(number);
      try {
        this._onTimeout?.(...this.#args);
      } finally {
        if (this.#number === 0 && !this._destroyed && this._repeat) {
          this._idleTimeout = this._repeat;
          this.#restart(number);
        } else if (this.#number === 0) {
          this._destroyed = true;
          waitingTimers().delete(number);
        }
      }
    }
    #restart(number) {
      this.#number = number;
      this.#start(number);
      if (!this.#held) native.holdTimer(number, false);
    }
    #hold(whether) {
      if (!(#held in this)) return this;
      this.#held = whether;
      if (this.#number) native.holdTimer(this.#number, whether);
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
      if (!(#number in timer)) return;
      native.stopTimer(timer.#number);
      waitingTimers().delete(timer.#number);
      timer._destroyed = true;
      if (timer.#kind !== IMMEDIATE) [timer._idleTimeout, timer._repeat] = [-1, null];
    }
    static restart(timer) {
      if (timer._destroyed && timer._idleTimeout === -1) return;
      const number = timer.#number || ++refreshed;
      native.stopTimer(number);
      timer._destroyed = false;
      timer.#restart(number);
    }
    static numberOf(timer) {
      return timer.#number;
    }
  }
  hooks.activeTimers = () => [...waitingTimers().values()].filter((timer) => timer.hasRef()).map((timer) => timer.constructor.name);
  let refreshed = 2 ** 30; // numbers of timers that were set off again after they had run
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
  class Immediate extends Timer {
    get _onImmediate() {
      return this._onTimeout;
    }
  }
  // What old code sets off by hand: any object with `_onTimeout`.
  const enroll = (item, delay) => {
    hooks.checkType(delay, "msecs", "number");
    if (!(delay >= 0) || delay === Infinity) throw hooks.outOfRange("msecs", "a non-negative finite number", delay);
    Object.assign(item, { _idleTimeout: delay > LONGEST ? LONGEST : delay });
    if (delay > LONGEST) checkDelay(delay);
  };
  const enrolled = new WeakMap();
  const unenroll = (item) => {
    if (typeof item !== "object" || item === null) return;
    if (item instanceof Timer) return stop(item);
    if (enrolled.has(item)) stop(enrolled.get(item));
    enrolled.delete(item);
    item._idleTimeout = -1;
  };
  const activate = (item, isHeld) => {
    if (item._idleTimeout === undefined || item._idleTimeout < 0) return;
    if (item instanceof Timeout) return void item.refresh();
    if (enrolled.has(item)) stop(enrolled.get(item));
    const timer = new Timeout(TIMEOUT, () => item._onTimeout?.(), checkDelay(item._idleTimeout), []);
    enrolled.set(item, isHeld ? timer : timer.unref());
  };
  hooks.oldTimers = { enroll, unenroll, active: (item) => activate(item, true), _unrefActive: (item) => activate(item, false) };
  {  }

  const LONGEST = 2 ** 31 - 1;
  const checkDelay = (delay) => {
    const ms = +delay;
    if (ms > LONGEST) process.emitWarning(`${ms} does not fit into a 32-bit signed integer.\nTimeout duration was set to 1.`, "TimeoutOverflowWarning");
    return ms >= 1 && ms <= LONGEST ? ms : 1;
  };
  const checkFunction = (callback) => hooks.checkFunction(callback, "callback");
  const clear = (timer) => {
    if (typeof timer === "object" && timer !== null) stop(timer);
    else if (waitingTimers().has(Number(timer))) stop(waitingTimers().get(Number(timer)));
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
    setTimeout: (callback, delay, ...args) => new Timeout(TIMEOUT, checkFunction(callback), checkDelay(delay), args),
    setInterval: (callback, delay, ...args) => new Timeout(INTERVAL, checkFunction(callback), checkDelay(delay), args),
    setImmediate: (callback, ...args) => new Immediate(IMMEDIATE, checkFunction(callback), 0, args),
    clearTimeout: (timer) => clear(timer),
    clearInterval: (timer) => clear(timer),
    clearImmediate: (timer) => clear(timer),
  }))
    hooks.define(name, value);
});
