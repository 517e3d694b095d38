// checks.js: errors with Node's codes, and the checks of arguments that throw them.
(function (native, hooks) {
  hooks.codedError = (Kind, code, message, more) => Object.assign(new Kind(message), { code, ...more });
  const received = (value) => {
    if (value === null || value === undefined) return `${value}`;
    if (typeof value === "function") return `function ${value.name}`;
    if (typeof value === "object")
      return value.constructor?.name ? `an instance of ${value.constructor.name}` : hooks.inspect(value, { depth: -1 });
    const shown = hooks.inspect(value);
    return `type ${typeof value} (${shown.length > 28 ? `${shown.slice(0, 25)}...` : shown})`;
  };
  const named = (name) => {
    if (name.endsWith(" argument")) return `The ${name}`;
    return `The "${name}" ${name.includes(".") ? "property" : "argument"}`;
  };
  // `wanted` is said as Node says it: "of type string", "an instance of Buffer".
  hooks.invalidType = (name, wanted, value) =>
    hooks.codedError(TypeError, "ERR_INVALID_ARG_TYPE", `${named(name)} must be ${wanted}. Received ${received(value)}`);
  hooks.invalidValue = (name, value, reason = "is invalid") => {
    const kind = name.includes(".") ? "property" : "argument";
    const shown = hooks.inspect(value).slice(0, 128);
    return hooks.codedError(TypeError, "ERR_INVALID_ARG_VALUE", `The ${kind} '${name}' ${reason}. Received ${shown}`);
  };
  hooks.outOfRange = (name, range, value) => {
    const digits = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, "_");
    const isLong = Number.isInteger(value) ? Math.abs(value) > 2 ** 32 : typeof value === "bigint" && (value > 2n ** 32n || value < -(2n ** 32n));
    const shown = isLong ? digits(`${value}`) + (typeof value === "bigint" ? "n" : "") : hooks.inspect(value);
    const message = `The value of "${name}" is out of range. It must be ${range}. Received ${shown}`;
    return hooks.codedError(RangeError, "ERR_OUT_OF_RANGE", message);
  };
  hooks.checkType = (value, name, type) => {
    if (typeof value !== type) throw hooks.invalidType(name, `of type ${type}`, value);
    return value;
  };
  hooks.checkString = (value, name) => hooks.checkType(value, name, "string");
  hooks.checkFunction = (value, name) => hooks.checkType(value, name, "function");
  hooks.checkObject = (value, name) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw hooks.invalidType(name, "of type object", value);
    return value;
  };
  hooks.checkInteger = (value, name, low = Number.MIN_SAFE_INTEGER, high = Number.MAX_SAFE_INTEGER) => {
    hooks.checkType(value, name, "number");
    if (!Number.isInteger(value)) throw hooks.outOfRange(name, "an integer", value);
    if (value < low || value > high) throw hooks.outOfRange(name, `>= ${low} && <= ${high}`, value);
    return value;
  };
  // A number that need not be whole.
  hooks.checkRange = (value, name, low, high) => {
    hooks.checkType(value, name, "number");
    const range = [low === undefined ? "" : `>= ${low}`, high === undefined ? "" : `<= ${high}`].filter(Boolean).join(" && ");
    if (Number.isNaN(value) || value < low || value > high) throw hooks.outOfRange(name, range, value);
    return value;
  };
  hooks.abortError = (reason) =>
    Object.assign(new Error("The operation was aborted", reason === undefined ? undefined : { cause: reason }), {
      name: "AbortError",
      code: "ABORT_ERR",
    });
  // Global names and modules whose file is read when one of them is used.
  hooks.defineWaiting = (file, names) => {
    for (const name of names)
      hooks.defineLazy(name, () => {
        native.load(`hatchway:${file}`);
        return globalThis[name];
      });
  };
});
