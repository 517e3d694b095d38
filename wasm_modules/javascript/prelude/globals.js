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
  for (const name of ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"])
    hooks.define(name, globalThis[name]);
});
