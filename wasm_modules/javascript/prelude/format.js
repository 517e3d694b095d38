// format.js: what console.log makes of its arguments, and what stderr shows of an exception.
(function (native, hooks) {
  const PROXY = 14;
  const isBuiltIn = /\[native code\]\s*\}$/;
  const number = (convert) => (value) => {
    if (typeof value === "bigint") return `${value}n`;
    return typeof value === "object" || typeof value === "symbol" ? "NaN" : String(convert(value));
  };
  const json = (value) => {
    try {
      return JSON.stringify(value);
    } catch {
      return "[Circular]";
    }
  };
  // Has the object, or a class of the program's that it belongs to, a text of its own?
  const hasOwnText = (object) => {
    for (let at = object; at !== null; at = Object.getPrototypeOf(at)) {
      if (native.kind(at) === PROXY || at === Date.prototype) return false;
      if (Object.hasOwn(at, "toString")) return !isBuiltIn.test(Function.prototype.toString.call(at.toString ?? hooks.format));
      if (Object.hasOwn(at, Symbol.toPrimitive)) return true;
    }
    return false;
  };
  const text = (value) => {
    if (typeof value === "string") return value;
    if (typeof value === "function") return String(value);
    if (typeof value !== "object" || value === null) return hooks.inspectPrimitive(value);
    return hasOwnText(value) ? String(value) : hooks.inspect(value, { depth: 0 });
  };
  const placeholders = {
    "%s": text,
    "%d": number(Number),
    "%i": number(parseInt),
    "%f": (value) => (typeof value === "symbol" ? "NaN" : String(parseFloat(value))),
    "%j": json,
    "%o": (value) => hooks.inspect(value, { showHidden: true, depth: 4 }),
    "%O": (value) => hooks.inspect(value),
    "%c": () => "",
  };

  // format("%s is %d", …): console.log's first argument may hold placeholders.
  hooks.format = (...values) => {
    let at = 0;
    const out = [];
    if (typeof values[0] === "string") {
      at = 1;
      out.push(
        values.length === 1
          ? values[0]
          : values[0].replace(/%[sdifjoOc%]/g, (place) => {
              if (place === "%%") return "%";
              if (at >= values.length) return place;
              const value = values[at++];
              return placeholders[place](value);
            }),
      );
    }
    for (; at < values.length; at++) out.push(typeof values[at] === "string" ? values[at] : hooks.inspect(values[at]));
    return out.join(" ");
  };

  // What stderr shows for an exception nobody caught.
  hooks.describeThrown = (thrown) => (hooks.isError(thrown) ? String(thrown) : hooks.inspect(thrown));
  hooks.showError = (thrown) => (hooks.isError(thrown) ? hooks.inspect(thrown) : `Uncaught ${hooks.inspect(thrown)}`);
});
