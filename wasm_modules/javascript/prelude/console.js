// console.js: the class Console and the global console. Output goes to stdout, warnings and errors to stderr, one write per call.
(function (native, hooks) {
  const MARK = Symbol("kIsConsole");

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

  const drawTable = (rows) => {
    const widths = rows[0].map((_, c) => Math.max(...rows.map((row) => [...row[c]].length)) + 2);
    const line = (l, m, r) => l + widths.map((w) => "─".repeat(w)).join(m) + r;
    const row = (values) => "│" + values.map((v, c) => ` ${v}${" ".repeat(widths[c] - [...v].length - 1)}`).join("│") + "│";
    return [line("┌", "┬", "┐"), row(rows[0]), line("├", "┼", "┤"), ...rows.slice(1).map(row), line("└", "┴", "┘")].join("\n");
  };

  // The methods of one console. `streamOf` gives where a text goes, for each text anew: programs replace process.stdout.write.
  const methodsOf = (streamOf, { ignoreErrors = true, inspectOptions, groupIndentation = 2 } = {}) => {
    const counts = new Map(),
      timers = new Map();
    let indent = "";
    const optionsFor = (stream) => inspectOptions?.(stream);
    const print = (isError, text) => {
      const stream = streamOf(isError),
        lines = `${indent ? indent + text.replaceAll("\n", `\n${indent}`) : text}\n`;
      if (!ignoreErrors) return void stream.write(lines);
      const ignore = () => {};
      try {
        stream.once?.("error", ignore);
        stream.write(lines, ignore);
      } catch (error) {
        if (error instanceof RangeError && /call stack/.test(error.message)) throw error;
      } finally {
        stream.removeListener?.("error", ignore);
      }
    };
    const format = (isError, values) => hooks.formatWith(optionsFor(streamOf(isError)), values);
    const warn = (text) => process.emitWarning(text);
    const takeTime = (label, method) => {
      if (timers.has(label)) return `${label}: ${elapsed(performance.now() - timers.get(label))}`;
      warn(`No such label '${label}' for console.${method}()`);
      return undefined;
    };
    return {
      log(...values) {
        print(false, format(false, values));
      },
      warn(...values) {
        print(true, format(true, values));
      },
      table(data, only) {
        if (only !== undefined && !Array.isArray(only)) throw hooks.invalidType("properties", "an instance of Array", only);
        if (typeof data !== "object" || data === null) return this.log(data);
        this.log(drawTable(cells(data, only)));
      },
      dir: (value, options) => print(false, hooks.inspect(value, { customInspect: false, ...optionsFor(streamOf(false)), ...options })),
      trace(...values) {
        const text = format(true, values);
        this.error([`Trace${text ? `: ${text}` : ""}`, ...hooks.frames(new Error().stack)].join("\n"));
      },
      assert(condition, ...values) {
        if (condition) return;
        if (typeof values[0] === "string") values[0] = `Assertion failed: ${values[0]}`;
        else values.unshift(values.length ? "Assertion failed:" : "Assertion failed");
        this.warn(...values);
      },
      count(label = "default") {
        counts.set(`${label}`, (counts.get(`${label}`) ?? 0) + 1);
        this.log(`${label}: ${counts.get(`${label}`)}`);
      },
      countReset(label = "default") {
        if (!counts.delete(`${label}`)) warn(`Count for '${label}' does not exist`);
      },
      time(label = "default") {
        if (timers.has(`${label}`)) warn(`Label '${label}' already exists for console.time()`);
        else timers.set(`${label}`, performance.now());
      },
      timeLog(label = "default", ...values) {
        const text = takeTime(`${label}`, "timeLog");
        if (text) this.log(text, ...values);
      },
      timeEnd(label = "default") {
        const text = takeTime(`${label}`, "timeEnd");
        if (text) this.log(text);
        timers.delete(`${label}`);
      },
      group(...values) {
        if (values.length) this.log(...values);
        indent += " ".repeat(groupIndentation);
      },
      groupEnd() {
        indent = indent.slice(0, Math.max(0, indent.length - groupIndentation));
      },
      clear() {
        const stream = streamOf(false);
        if (stream.isTTY && process.env.TERM !== "dumb") stream.write("\x1b[1;1H\x1b[0J");
      },
    };
  };
  const ALIASES = { info: "log", debug: "log", dirxml: "log", error: "warn", groupCollapsed: "group" };
  // Every method is a function of its own that knows its console; those of another name call the one that the console has then.
  const fill = (console, methods) => {
    const names = { ...Object.fromEntries(Object.keys(methods).map((name) => [name, name])), ...ALIASES };
    // A class that extends Console may have methods of its own.
    for (const [name, method] of Object.entries(names))
      if (!(name in console)) console[name] = Object.defineProperty(methods[method].bind(console), "name", { value: name });
    for (const name of ["profile", "profileEnd", "timeStamp", "context"]) console[name] ??= { [name]() {} }[name];
    return Object.defineProperty(console, MARK, { value: true });
  };

  const COLOR_MODES = ["auto", true, false];
  function Console(given, stderr, ignoreErrors) {
    if (!new.target) return new Console(...arguments);
    const isStream = (stream) => typeof stream?.write === "function";
    const options = given && !isStream(given) ? given : { stdout: given, stderr, ignoreErrors };
    const { stdout, stderr: errors = stdout, inspectOptions, colorMode = "auto", groupIndentation } = options;
    for (const [name, stream] of Object.entries({ stdout, stderr: errors }))
      if (!isStream(stream))
        throw hooks.codedError(TypeError, "ERR_CONSOLE_WRITABLE_STREAM", `Console expects a writable stream instance for ${name}`);
    if (!COLOR_MODES.includes(colorMode)) throw hooks.invalidValue("colorMode", colorMode);
    if (groupIndentation !== undefined) hooks.checkInteger(groupIndentation, "groupIndentation", 0, 1000);
    if (inspectOptions !== undefined) {
      hooks.checkObject(inspectOptions, "options.inspectOptions");
      if (inspectOptions.colors !== undefined && options.colorMode !== undefined)
        throw hooks.codedError(TypeError, "ERR_INCOMPATIBLE_OPTION_PAIR", 'Option "options.inspectOptions.color" cannot be used in combination with option "colorMode"');
    }
    const colors = (stream) => (colorMode === "auto" ? !!stream.isTTY && (stream.getColorDepth?.() ?? 1) > 2 : colorMode);
    const settings = {
      ...{ ignoreErrors: options.ignoreErrors ?? true, groupIndentation: groupIndentation ?? 2 },
      inspectOptions: (stream) => ({ colors: colors(stream), ...inspectOptions }),
    };
    for (const [name, value] of Object.entries({ _stdout: stdout, _stderr: errors, _ignoreErrors: settings.ignoreErrors }))
      Object.defineProperty(this, name, { value, writable: true, configurable: true });
    fill(this, methodsOf((isError) => (isError ? this._stderr : this._stdout), settings));
  }
  Object.defineProperty(Console, Symbol.hasInstance, { value: (object) => !!object?.[MARK] });

  const console = fill({}, methodsOf((isError) => (isError ? process.stderr : process.stdout)));
  for (const [name, stream] of Object.entries({ _stdout: "stdout", _stderr: "stderr" }))
    Object.defineProperty(console, name, { get: () => process[stream], set: (value) => Object.defineProperty(console, name, { value, writable: true, configurable: true }), configurable: true });
  console.Console = Console;
  Object.defineProperty(console, Symbol.toStringTag, { value: "console", configurable: true });
  hooks.define("console", console);
});
