// console.js: the global console. Output goes to stdout, warnings and errors to stderr, one write per call.
(function (native, hooks) {
  const counts = new Map(),
    timers = new Map();
  let indent = "";

  const print = (descriptor, text) => {
    const lines = indent ? indent + text.replaceAll("\n", `\n${indent}`) : text;
    native.print(descriptor, `${lines}\n`);
  };
  const out = (...values) => print(1, hooks.format(...values));
  const err = (...values) => print(2, hooks.format(...values));

  const elapsed = (ms) => {
    if (ms < 1000) return `${Number(ms.toFixed(3))}ms`;
    return `${(ms / 1000).toFixed(3)}s`;
  };

  // Rows and columns of tabular data, as text cells.
  const cells = (data, only) => {
    const rows =
      data instanceof Map
        ? [...data].map(([k, v], i) => [i, { Key: k, Values: v }])
        : data instanceof Set
          ? [...data].map((v, i) => [i, v])
          : Object.entries(data);
    const columns = [];
    let hasValues = false;
    for (const [, row] of rows) {
      if (typeof row === "object" && row !== null)
        for (const k of Object.keys(row)) {
          if (!columns.includes(k)) columns.push(k);
        }
      else hasValues = true;
    }
    const shown = only ?? columns;
    const index = data instanceof Map || data instanceof Set ? "(iteration index)" : "(index)";
    const head = [index, ...shown, ...(hasValues && !only ? ["Values"] : [])];
    const body = rows.map(([index, row]) => {
      const isObject = typeof row === "object" && row !== null;
      const cell = (k) => (isObject && Object.hasOwn(row, k) ? hooks.inspect(row[k], { depth: 0 }) : "");
      return [String(index), ...shown.map(cell), ...(hasValues && !only ? [isObject ? "" : hooks.inspect(row)] : [])];
    });
    return [head, ...body];
  };

  const table = (data, only) => {
    if (typeof data !== "object" || data === null) return out(data);
    const rows = cells(data, only);
    const widths = rows[0].map((_, c) => Math.max(...rows.map((row) => [...row[c]].length)) + 2);
    const line = (l, m, r) => l + widths.map((w) => "─".repeat(w)).join(m) + r;
    const row = (values) => "│" + values.map((v, c) => ` ${v}${" ".repeat(widths[c] - [...v].length - 1)}`).join("│") + "│";
    print(
      1,
      [line("┌", "┬", "┐"), row(rows[0]), line("├", "┼", "┤"), ...rows.slice(1).map(row), line("└", "┴", "┘")].join("\n"),
    );
  };

  const methods = {
    log: out,
    info: out,
    debug: out,
    error: err,
    warn: err,
    table,
    dir: (value, options) => print(1, hooks.inspect(value, options)),
    dirxml: out,
    trace: (...values) => {
      const text = hooks.format(...values);
      print(2, [`Trace${text ? `: ${text}` : ""}`, ...hooks.frames(new Error().stack)].join("\n"));
    },
    assert: (condition, ...values) => {
      if (condition) return;
      if (typeof values[0] === "string") values[0] = `Assertion failed: ${values[0]}`;
      else values.unshift(values.length ? "Assertion failed:" : "Assertion failed");
      err(...values);
    },
    count: (label = "default") => {
      counts.set(`${label}`, (counts.get(`${label}`) ?? 0) + 1);
      out(`${label}: ${counts.get(`${label}`)}`);
    },
    countReset: (label = "default") => void counts.delete(`${label}`),
    time: (label = "default") => void timers.set(`${label}`, performance.now()),
    timeLog: (label = "default", ...values) => {
      if (timers.has(`${label}`)) out(`${label}: ${elapsed(performance.now() - timers.get(`${label}`))}`, ...values);
      else err(`Warning: No such label '${label}' for console.timeLog()`);
    },
    timeEnd: (label = "default") => {
      if (timers.has(`${label}`)) out(`${label}: ${elapsed(performance.now() - timers.get(`${label}`))}`);
      else err(`Warning: No such label '${label}' for console.timeEnd()`);
      timers.delete(`${label}`);
    },
    group: (...values) => {
      if (values.length) out(...values);
      indent += "  ";
    },
    groupEnd: () => {
      indent = indent.slice(2);
    },
    clear: () => {}, // there is no screen
  };
  methods.groupCollapsed = methods.group;

  const console = {};
  for (const [name, method] of Object.entries(methods)) {
    Object.defineProperty(method, "name", { value: name });
    console[name] = method;
  }
  Object.defineProperty(console, Symbol.toStringTag, { value: "console", configurable: true });
  hooks.define("console", console);
});
