// inspect.js: shows a value as text the way Node's console does: two levels deep, broken over lines when long.
// It runs getters of no object and traps of no proxy.
(function (native, hooks) {
  const KINDS = [
    "other", "plain", "array", "function", "error", "date", "regexp", "map", "set", "weak", "promise", "buffer", "typed",
    "boxed", "proxy", "generator", "namespace", "arguments", "iterator",
  ];
  const LINE_WIDTH = 80, SHORT_WIDTH = 72, MAX_ITEMS = 100, MAX_TEXT = 10000;
  const CUSTOM = Symbol.for("nodejs.util.inspect.custom");
  const defaults = { depth: 2, showHidden: false, compact: 3, breakLength: LINE_WIDTH, sorted: false };

  const kindOf = (value) => KINDS[native.kind(value)];
  const isIdentifier = (text) => /^[A-Za-z_$][\w$]*$/.test(text);

  // Quotes a string as Node does: single quotes unless those occur and others do not.
  const quote = (text) => {
    const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") && !text.includes("${") ? "`" : "'";
    let out = "";
    for (const c of text) {
      const code = c.codePointAt(0);
      if (c === mark || c === "\\") out += "\\" + c;
      else if (c === "\n") out += "\\n";
      else if (c === "\t") out += "\\t";
      else if (c === "\r") out += "\\r";
      else if (c === "\b") out += "\\b";
      else if (c === "\f") out += "\\f";
      else if (c === "\v") out += "\\v";
      else if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) out += "\\x" + code.toString(16).toUpperCase().padStart(2, "0");
      else if (code >= 0xd800 && code <= 0xdfff) out += "\\u" + code.toString(16).toUpperCase();
      else out += c;
    }
    return mark + out + mark;
  };

  const primitive = (value) => {
    if (typeof value === "string") return quote(value);
    if (typeof value === "bigint") return `${value}n`;
    if (Object.is(value, -0)) return "-0";
    return typeof value === "symbol" ? value.toString() : String(value);
  };

  // The name of the class of an object, found without running user code.
  const className = (object) => {
    for (let at = object; at !== null; at = Object.getPrototypeOf(at)) {
      if (kindOf(at) === "proxy") return "";
      const constructor = Object.getOwnPropertyDescriptor(at, "constructor")?.value;
      if (typeof constructor === "function" && constructor.name !== "" && (at !== object || constructor.prototype !== at))
        return constructor.name;
      if (typeof constructor === "function" && constructor.name !== "" && at === Object.prototype) return "Object";
    }
    return null;
  };

  const tagOf = (object, name) => {
    let tag = "";
    for (let at = object; at !== null && kindOf(at) !== "proxy"; at = Object.getPrototypeOf(at)) {
      const property = Object.getOwnPropertyDescriptor(at, Symbol.toStringTag);
      if (property) {
        if (typeof property.value === "string") tag = property.value;
        break;
      }
    }
    return tag && tag !== name ? ` [${tag}]` : "";
  };

  const prefix = (object, name, fallback, size) => {
    const shown = name === null ? `[${fallback}${size ?? ""}: null prototype]` : `${name}${size ?? ""}`;
    return `${shown}${tagOf(object, name ?? fallback)} `;
  };

  const key = (name) => (typeof name === "symbol" ? `[${name.toString()}]` : isIdentifier(name) ? name : quote(name));

  const property = (state, object, name, plainKey) => {
    const d = Object.getOwnPropertyDescriptor(object, name);
    let text;
    if (d && (d.get || d.set)) text = d.get ? (d.set ? "[Getter/Setter]" : "[Getter]") : "[Setter]";
    else text = show(state, d ? d.value : undefined);
    if (plainKey) return text;
    return `${d && !d.enumerable ? `[${String(name)}]` : key(name)}: ${text}`;
  };

  const ownKeys = (state, object, skipIndexes) => {
    const hidden = state.options.showHidden;
    const names = hidden ? Object.getOwnPropertyNames(object) : Object.keys(object);
    const symbols = Object.getOwnPropertySymbols(object).filter((s) => hidden || Object.prototype.propertyIsEnumerable.call(object, s));
    const kept = skipIndexes ? names.filter((n) => !/^(0|[1-9]\d*)$/.test(n)) : names;
    if (state.options.sorted) kept.sort();
    return [...kept, ...symbols];
  };

  const more = (count) => `... ${count} more item${count > 1 ? "s" : ""}`;

  const arrayItems = (state, array) => {
    const items = [];
    let holes = 0;
    const flush = () => {
      if (holes) items.push(`<${holes} empty item${holes > 1 ? "s" : ""}>`);
      holes = 0;
    };
    let i = 0;
    for (; i < array.length && items.length < MAX_ITEMS; i++) {
      if (!Object.hasOwn(array, i)) {
        holes++;
        if (holes > 100000) {
          const next = Object.keys(array).find((k) => +k > i && /^\d+$/.test(k));
          const end = next === undefined ? array.length : +next;
          holes += end - i - 1;
          i = end - 1;
        }
        continue;
      }
      flush();
      items.push(property(state, array, String(i), true));
    }
    flush();
    if (i < array.length) items.push(more(array.length - i));
    return items;
  };

  const limited = (state, values, each) => {
    const items = [];
    for (const value of values) {
      if (items.length === MAX_ITEMS) break;
      items.push(each(value));
    }
    return items;
  };

  // Lays many short items out in columns, numbers aligned to the right.
  const inColumns = (items, values) => {
    const extra = items.length > MAX_ITEMS ? 1 : 0;
    const count = items.length - extra;
    const lengths = items.slice(0, count).map((t) => t.length);
    const widest = Math.max(...lengths) + 2;
    const total = lengths.reduce((sum, n) => sum + n + 2, 0);
    if (widest * 3 + 6 >= LINE_WIDTH && !(total / widest > 5 || Math.max(...lengths) <= 6)) return items;
    if (!(total / widest > 5 || widest - 2 <= 6)) return items;
    const bias = Math.max(Math.sqrt(widest - total / items.length), 0) || 1;
    const columns = Math.min(
      Math.round(Math.sqrt(2.5 * Math.max(widest - 3 - 1 + 1, 1) * count) / Math.max(widest - 3 - 1 + 1, 1)) || 1,
      Math.floor((LINE_WIDTH - 0) / widest),
      4 * 4,
      15,
    );
    const right = values.every((v) => typeof v === "number" || typeof v === "bigint");
    void bias;
    if (columns <= 1) return items;
    const widths = [];
    for (let c = 0; c < columns; c++) {
      let width = 0;
      for (let i = c; i < count; i += columns) width = Math.max(width, lengths[i]);
      widths.push(width + 2);
    }
    const rows = [];
    for (let i = 0; i < count; i += columns) {
      let row = "";
      const last = Math.min(i + columns, count) - 1;
      for (let j = i; j < last; j++) {
        const cell = `${items[j]}, `;
        row += right ? cell.padStart(widths[j - i]) : cell.padEnd(widths[j - i]);
      }
      row += right ? items[last].padStart(widths[last - i] - 2) : items[last];
      rows.push(row);
    }
    if (extra) rows.push(items[count]);
    return rows;
  };

  // Joins items into one line when they are short and shallow enough, else one per line.
  const join = (state, open, close, items, prefixText, depthBelow, grouped) => {
    if (items.length === 0) return `${prefixText}${open}${close}`;
    const total = items.reduce((sum, t) => sum + t.length, items.length + state.indent);
    const flat = items.every((t) => !t.includes("\n"));
    if (!grouped && depthBelow < state.options.compact && flat && total + items.length + open.length + prefixText.length < SHORT_WIDTH + 8)
      if (total + items.length <= state.options.breakLength) {
        const line = `${prefixText}${open} ${items.join(", ")} ${close}`;
        if (!line.includes("\n")) return line;
      }
    const pad = " ".repeat(state.indent + 2);
    return `${prefixText}${open}\n${pad}${items.join(`,\n${pad}`)}\n${" ".repeat(state.indent)}${close}`;
  };

  // How the inside of each kind is shown: the items before the named properties, brackets and prefix.
  const parts = (state, object, kind) => {
    const name = className(object);
    switch (kind) {
      case "array": {
        const plain = name === "Array";
        return { open: "[", close: "]", prefix: plain ? "" : prefix(object, name, "Array", `(${object.length})`), list: () => arrayItems(state, object), indexed: true };
      }
      case "arguments":
        return { open: "[", close: "]", prefix: "[Arguments] ", list: () => arrayItems(state, object), indexed: true };
      case "typed":
        return { open: "[", close: "]", prefix: prefix(object, name, "TypedArray", `(${object.length})`), indexed: true,
          list: () => {
            const items = limited(state, object, primitive);
            if (object.length > items.length) items.push(more(object.length - items.length));
            return items;
          } };
      case "map":
        return { open: "{", close: "}", prefix: prefix(object, name, "Map", `(${object.size})`),
          list: () => limited(state, Map.prototype.entries.call(object), ([k, v]) => `${show(state, k)} => ${show(state, v)}`) };
      case "set":
        return { open: "{", close: "}", prefix: prefix(object, name, "Set", `(${object.size})`),
          list: () => limited(state, Set.prototype.values.call(object), (v) => show(state, v)) };
      case "promise": {
        const [status, value] = native.promiseState(object);
        const inside = status === 0 ? ["<pending>"] : null;
        return { open: "{", close: "}", prefix: prefix(object, name, "Promise"),
          list: () => inside ?? [status === 2 ? `<rejected> ${show(state, value)}` : show(state, value)] };
      }
      case "buffer":
        if (object instanceof DataView)
          return { open: "{", close: "}", prefix: "DataView ", list: () => [`byteLength: ${object.byteLength}`, `byteOffset: ${object.byteOffset}`, `buffer: ${show(state, object.buffer)}`] };
        return { open: "{", close: "}", prefix: prefix(object, name, "ArrayBuffer"),
          list: () => {
            const bytes = new Uint8Array(object, 0, Math.min(50, object.byteLength));
            const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join(" ");
            const rest = object.byteLength > 50 ? ` ... ${object.byteLength - 50} more bytes` : "";
            return [`[Uint8Contents]: <${hex}${rest}>`, `byteLength: ${object.byteLength}`];
          } };
      case "weak":
        return { open: "{", close: "}", prefix: prefix(object, name, "WeakMap"), list: () => ["<items unknown>"] };
      case "generator":
        return { open: "{", close: "}", prefix: `Object [${tagOf(object, "").slice(2, -1) || "Generator"}] `, list: () => [] };
      case "iterator":
        return { open: "{", close: "}", prefix: `[${tagOf(object, "").slice(2, -1) || "Iterator"}] `, list: () => ["<items unknown>"] };
      case "namespace":
        return { open: "{", close: "}", prefix: "[Module: null prototype] ", list: () => [] };
      default: {
        const plain = name === "Object" && tagOf(object, "Object") === "";
        return { open: "{", close: "}", prefix: plain ? "" : prefix(object, name, "Object"), list: () => [] };
      }
    }
  };

  // Kinds shown by one word, followed by their extra properties if they have some.
  const word = (state, object, kind) => {
    switch (kind) {
      case "function": {
        const source = Function.prototype.toString.call(object);
        if (/^class\b/.test(source)) {
          const parent = Object.getPrototypeOf(object)?.name;
          return `[class ${object.name || "(anonymous)"}${parent ? ` extends ${parent}` : ""}]`;
        }
        const type = tagOf(object, "").slice(2, -1) || "Function";
        return `[${type}${object.name ? `: ${object.name}` : " (anonymous)"}]`;
      }
      case "regexp":
        return RegExp.prototype.toString.call(object);
      case "date":
        return Number.isNaN(Date.prototype.getTime.call(object)) ? "Invalid Date" : Date.prototype.toISOString.call(object);
      case "boxed": {
        const value = object.valueOf();
        const type = typeof value;
        return `[${type[0].toUpperCase()}${type.slice(1)}: ${primitive(value)}]`;
      }
      case "error":
        return showError(state, object);
    }
    return null;
  };

  // Name, message and frames of an error; `[…]` when it has no frames.
  const showError = (state, error) => {
    const name = className(error) ?? "Error";
    const own = (n) => { try { return error[n]; } catch { return undefined; } };
    const title = typeof own("name") === "string" && own("name") !== "Error" ? own("name") : name;
    const message = own("message");
    const head = message === undefined || message === "" ? title : `${title}: ${message}`;
    const stack = own("stack");
    const frames = hooks.frames(stack);
    const pad = " ".repeat(state.indent);
    if (frames.length === 0) return state.depth > 0 || state.listed ? `[${head}]` : head;
    return `${head}\n${frames.join("\n")}`.replaceAll("\n", `\n${pad}`);
  };

  const errorKeys = (state, error) => {
    const keys = ownKeys(state, error, false).filter((k) => k !== "stack" && k !== "message");
    for (const hidden of ["cause", "errors"])
      if (Object.hasOwn(error, hidden) && !keys.includes(hidden)) keys.push(hidden);
    return keys;
  };

  const show = (state, value) => {
    if ((typeof value !== "object" || value === null) && typeof value !== "function") {
      if (typeof value === "string" && value.length > MAX_TEXT)
        return `${quote(value.slice(0, MAX_TEXT))}... ${value.length - MAX_TEXT} more characters`;
      if (typeof value === "string" && state.depth > 0 && value.length > 16 && value.includes("\n") &&
          value.length > state.options.breakLength - state.indent - 4)
        return value.split(/(?<=\n)/).map(quote).join(` +\n${" ".repeat(state.indent + 2)}`);
      return primitive(value);
    }
    let object = value, kind = kindOf(value);
    while (kind === "proxy") {
      object = native.proxyTarget(object);
      if (object === null || (typeof object !== "object" && typeof object !== "function")) return "<Revoked Proxy>";
      kind = kindOf(object);
    }
    const custom = state.custom !== false && Object.getPrototypeOf(object) !== null ? object[CUSTOM] : undefined;
    if (typeof custom === "function" && object === value) {
      const shown = custom.call(object, state.options.depth - state.depth, { ...state.options }, hooks.inspect);
      return typeof shown === "string" ? shown.replaceAll("\n", `\n${" ".repeat(state.indent)}`) : show(state, shown);
    }
    const seenAt = state.path.indexOf(object);
    if (seenAt >= 0) {
      if (!state.circular.has(object)) state.circular.set(object, state.circular.size + 1);
      return `[Circular *${state.circular.get(object)}]`;
    }
    const first = state.depth > state.options.depth && kind !== "error" ? null : word(withPath(state, object), object, kind);
    if (state.depth > state.options.depth && !["error", "function", "regexp", "date", "boxed"].includes(kind))
      return kind === "array" ? "[Array]" : `[${(className(object) ?? "Object: null prototype") + tagOf(object, className(object))}]`;
    const text = first ?? word(state, object, kind);
    const inner = { ...withPath(state, object), depth: state.depth + 1, indent: state.indent + 2, deepest: { level: 0 } };
    const shape = text === null ? parts(inner, object, kind) : { open: "{", close: "}", prefix: "", list: () => [] };
    const keys = kind === "error" ? errorKeys(state, object) : ownKeys(state, object, shape.indexed);
    if (text !== null && (keys.length === 0 || state.depth > state.options.depth)) return text;
    const items = shape.list();
    let grouped = false;
    let laid = items;
    if (shape.indexed && items.length > 6 && keys.length === 0 && items.every((t) => t.length <= 16 + 0 || true) && state.options.compact >= 1) {
      if (items.every((t) => !t.includes("\n")) && inner.deepest.level === 0) {
        laid = inColumns(items, kind === "array" ? object.slice(0, MAX_ITEMS) : kind === "typed" ? [...object.subarray(0, MAX_ITEMS)] : []);
        grouped = laid !== items && laid.length > 1;
        if (laid !== items && laid.length === 1) laid = items;
      }
    }
    for (const name of keys) laid = laid.concat(errorProperty(inner, object, name, kind));
    state.deepest.level = Math.max(state.deepest.level, inner.deepest.level + 1);
    const mark = state.circular.get(object);
    const before = `${mark ? `<ref *${mark}> ` : ""}${text === null ? shape.prefix : `${text} `}`;
    return join(state, shape.open, shape.close, laid, before, inner.deepest.level, grouped);
  };

  const errorProperty = (state, object, name, kind) => {
    const text = property(state, object, name, false);
    if (kind !== "error" || (name !== "cause" && name !== "errors")) return text;
    return text.startsWith("[") ? text : `[${name}]: ${text.slice(text.indexOf(": ") + 2)}`;
  };

  const withPath = (state, object) => ({ ...state, path: [...state.path, object] });

  // inspect(value, options): options are those of Node that change the text here (depth, showHidden, compact, sorted).
  hooks.inspect = (value, options) => {
    const merged = { ...defaults, ...(typeof options === "object" ? options : undefined) };
    if (merged.depth === null) merged.depth = Infinity;
    if (merged.compact === true) merged.compact = 3;
    if (merged.compact === false) merged.compact = 0;
    const state = { options: merged, depth: 0, indent: 0, path: [], circular: new Map(), deepest: { level: 0 } };
    const text = show(state, value);
    // The mark of a circular reference is only known once its inside was shown.
    return state.circular.size && !text.startsWith("<ref") ? show({ ...state, deepest: { level: 0 } }, value) : text;
  };
  hooks.inspect.custom = CUSTOM;

  // format("%s is %d", …): console.log's first argument may hold placeholders.
  hooks.format = (...values) => {
    let at = 0;
    const out = [];
    if (typeof values[0] === "string") {
      at = 1;
      out.push(values.length === 1 ? values[0] : values[0].replace(/%[sdifjoOc%]/g, (place) => {
        if (place === "%%") return "%";
        if (at >= values.length) return place;
        const value = values[at++];
        switch (place) {
          case "%s": return typeof value === "string" ? value : typeof value === "object" && value !== null ? hooks.inspect(value, { depth: 0 }) : typeof value === "function" ? hooks.inspect(value) : primitive(value);
          case "%d": return typeof value === "object" ? "NaN" : typeof value === "bigint" ? `${value}n` : typeof value === "symbol" ? "NaN" : String(Number(value));
          case "%i": return typeof value === "object" ? "NaN" : typeof value === "bigint" ? `${value}n` : String(parseInt(value));
          case "%f": return typeof value === "symbol" ? "NaN" : String(parseFloat(value));
          case "%j": try { return JSON.stringify(value); } catch { return "[Circular]"; }
          case "%o": return hooks.inspect(value, { showHidden: true, depth: 4 });
          case "%O": return hooks.inspect(value);
          default: return "";
        }
      }));
    }
    for (; at < values.length; at++) out.push(typeof values[at] === "string" ? values[at] : hooks.inspect(values[at]));
    return out.join(" ");
  };

  // What stderr shows for an exception nobody caught.
  hooks.showError = (thrown) =>
    typeof thrown === "object" && thrown !== null && kindOf(thrown) === "error" ? hooks.inspect(thrown) : `Uncaught ${hooks.inspect(thrown)}`;
})
