// format.js: what console.log makes of its arguments, and what stderr shows of an exception.
(function (native, hooks) {
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
  const text = (value) => {
    if (typeof value === "string") return value;
    if (typeof value === "object" && value !== null) return hooks.inspect(value, { depth: 0 });
    return typeof value === "function" ? hooks.inspect(value) : hooks.inspectPrimitive(value);
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
  hooks.showError = (thrown) => (hooks.isError(thrown) ? hooks.inspect(thrown) : `Uncaught ${hooks.inspect(thrown)}`);
});
