// globals.js: how the other files put names into the global object: writable and hidden from enumeration, as in Node.
(function (native, hooks) {
  hooks.define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  hooks.defineLazy = (name, get) =>
    Object.defineProperty(globalThis, name, {
      get,
      set: (value) => hooks.define(name, value),
      configurable: true,
      enumerable: false,
    });
  hooks.define("global", globalThis);
  hooks.define("gc", () => native.collect());

  // What a WeakRef was made for lives until the running job has ended, as the language wants it; the engine lets go at once.
  let kept = { turn: -1, targets: [] };
  const later = queueMicrotask;
  const keep = (target) => {
    if (kept.turn !== native.turn() || kept.targets.length === 0) {
      kept = { turn: native.turn(), targets: [] };
      later(() => (kept.targets = []));
    }
    kept.targets.push(target);
  };
  const EngineWeakRef = WeakRef;
  function KeepingWeakRef(target) {
    if (!new.target) throw new TypeError("Constructor WeakRef requires 'new'");
    const made = Reflect.construct(EngineWeakRef, [target], new.target);
    keep(target);
    return made;
  }
  KeepingWeakRef.prototype = EngineWeakRef.prototype;
  Object.defineProperty(KeepingWeakRef, "name", { value: "WeakRef" });
  Object.defineProperty(EngineWeakRef.prototype, "constructor", { value: KeepingWeakRef });
  hooks.define("WeakRef", KeepingWeakRef);
});
