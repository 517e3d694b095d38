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
  const text = (value, options) => {
    if (typeof value === "string") return value;
    if (typeof value === "function") return String(value);
    if (typeof value !== "object" || value === null) return hooks.inspectPrimitive(value);
    return hasOwnText(value) ? String(value) : hooks.inspect(value, { ...options, depth: 0, colors: false });
  };
  const placeholders = {
    "%s": text,
    "%d": number((value) => (Object.is(Number(value), -0) ? "-0" : Number(value))),
    "%i": number(parseInt),
    "%f": (value) => (typeof value === "symbol" ? "NaN" : String(parseFloat(value))),
    "%j": json,
    "%o": (value, options) => hooks.inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 }),
    "%O": (value, options) => hooks.inspect(value, options),
    "%c": () => "",
  };

  // formatWith(options, ["%s is %d", …]): the first value may hold placeholders.
  hooks.formatWith = (options, values) => {
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
              return placeholders[place](values[at++], options);
            }),
      );
    }
    for (; at < values.length; at++) out.push(typeof values[at] === "string" ? values[at] : hooks.inspect(values[at], options));
    return out.join(" ");
  };
  hooks.format = (...values) => hooks.formatWith(undefined, values);

  // What stderr shows for an exception nobody caught.
  hooks.describeThrown = (thrown) => (hooks.isError(thrown) ? String(thrown) : hooks.inspect(thrown));
  hooks.showError = (thrown) => (hooks.isError(thrown) ? hooks.inspect(thrown) : `Uncaught ${hooks.inspect(thrown)}`);
});
