// errors.js: errors that carry a code of the contract, stacks as V8 has them but without the prelude's own frames, and hints.
// It does not know how errors are shown; inspect.js does that.
(function (native, hooks) {
  hooks.NO_NETWORK = "there is no network; call a tool instead";
  const branded = new WeakMap();

  // Gives an error the contract code it keeps when nobody catches it.
  hooks.brand = (error, code, hint) => {
    branded.set(error, { code, hint });
    return error;
  };

  hooks.brandedCode = (error) => (typeof error === "object" && error !== null ? branded.get(error)?.code : undefined);

  // Edit distance, cut off: enough to tell a slip of the finger from another word.
  const distance = (a, b) => {
    let row = Array.from({ length: b.length + 1 }, (_, i) => i);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++)
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      row = next;
    }
    return row[b.length];
  };

  // The name in `names` that `name` was probably meant to be, or undefined.
  hooks.nearest = (name, names) => {
    let best,
      least = Math.floor(name.length / 3) + 1;
    for (const candidate of names) {
      if (Math.abs(candidate.length - name.length) >= least) continue;
      const d = distance(name.toLowerCase(), candidate.toLowerCase());
      if (d < least) [best, least] = [candidate, d];
    }
    return best;
  };

  // What to do about an error; `declared` has the names that programs declared with let, const and class.
  hooks.hintFor = (error, code, declared) => {
    const own = typeof error === "object" && error !== null ? branded.get(error)?.hint : undefined;
    if (own) return own;
    if (code === "NAME_ERROR") {
      const name = /^(.*) is not defined/.exec(error.message)?.[1] ?? "";
      if (name === "fetch" || name === "XMLHttpRequest") return hooks.NO_NETWORK;
      const tools = hooks.toolNames();
      if (tools.includes(name) || tools.includes(hooks.snakeCase(name))) return `did you mean tools.${name}?`;
      const near = hooks.nearest(
        name,
        [...Object.getOwnPropertyNames(declared), ...Object.getOwnPropertyNames(globalThis)].filter((one) => one !== "undefined"),
      );
      return near ? `did you mean ${near}?` : undefined;
    }
    return undefined;
  };

  // The frames of a stack, without those of the prelude, named as Node names them.
  hooks.frames = (stack) => {
    if (typeof stack !== "string") return [];
    return stack
      .split("\n")
      .filter((line) => line.startsWith("    at ") && !line.includes("hatchway:"))
      .map((line) => line.replace(/^    at <eval> \((.*)\)$/, "    at $1"));
  };

  // The text of `stack` as V8 has it: the error in a line, then the frames. What a program put there stays.
  const withHead = (error, stack) => {
    if (typeof stack !== "string" || !(stack === "" || stack.startsWith("    at "))) return stack;
    return [toText.call(error), ...hooks.frames(stack)].join("\n");
  };
  const toText = Error.prototype.toString,
    capture = Error.captureStackTrace;
  Object.defineProperty(Error.prototype, "stack", {
    get() {
      return withHead(this, native.stack(this));
    },
    set(value) {
      Object.defineProperty(this, "stack", { value, writable: true, configurable: true, enumerable: false });
    },
    configurable: true,
    enumerable: false,
  });
  const captured = (target, above) => {
    capture(target, above ?? captured);
    const own = Object.getOwnPropertyDescriptor(target, "stack");
    Object.defineProperty(target, "stack", { ...own, value: withHead(target, own.value) });
  };
  Object.defineProperty(captured, "name", { value: "captureStackTrace" });
  Object.defineProperty(Error, "captureStackTrace", { value: captured, writable: true, configurable: true, enumerable: false });
  Error.stackTraceLimit = 10;

  hooks.domException = (message, name) => {
    const error = new DOMException(message, name);
    Object.defineProperty(error, "stack", { value: withHead(error, error.stack), writable: true, configurable: true });
    return error;
  };

  // What a frame of Error.prepareStackTrace is asked for besides what the engine tells.
  const prepare = Error.prepareStackTrace;
  Error.prepareStackTrace = (_, frames) => frames;
  const holder = {};
  capture(holder);
  Error.prepareStackTrace = prepare;
  const Frame = Object.getPrototypeOf(holder.stack?.[0] ?? {});
  const unknown = { getThis: undefined, getTypeName: null, getMethodName: null, getEvalOrigin: undefined, getPromiseIndex: null };
  const never = { isEval: false, isToplevel: true, isAsync: false, isPromiseAll: false };
  if (Frame !== Object.prototype)
    for (const [name, value] of Object.entries({ ...unknown, ...never }))
      Object.defineProperty(Frame, name, { value: () => value, writable: true, configurable: true });
});
