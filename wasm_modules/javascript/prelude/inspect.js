// inspect.js: shows a value as text the way Node's console does: two levels deep, broken over lines when long.
// It runs getters of no object and traps of no proxy.
(function (native, hooks) {
  const KINDS = [
    "other",
    "plain",
    "array",
    "function",
    "error",
    "date",
    "regexp",
    "map",
    "set",
    "weak",
    "promise",
    "buffer",
    "typed",
    "boxed",
    "proxy",
    "generator",
    "namespace",
    "arguments",
    "iterator",
  ];
  const LINE_WIDTH = 80;
  const DISPLAY_CHARS = 1 << 16;
  const BOXES = { bigint: "BigInt", symbol: "Symbol", number: "Number", string: "String", boolean: "Boolean" };
  const CUSTOM = Symbol.for("nodejs.util.inspect.custom");
  const defaults = {
    ...{ depth: 2, showHidden: false, compact: 3, breakLength: LINE_WIDTH, sorted: false },
    ...{ maxArrayLength: 100, maxStringLength: 10000 },
  };

  const kindOf = (value) => KINDS[native.kind(value)];
  const isIdentifier = (text) => /^[A-Za-z_$][\w$]*$/.test(text);

  // Quotes a string as Node does: single quotes unless those occur and others do not.
  const quote = (text) => {
    const mark = !text.includes("'")
      ? "'"
      : !text.includes('"')
        ? '"'
        : !text.includes("`") && !text.includes("${")
          ? "`"
          : "'";
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
      else if (code >= 0xd800 && code <= 0xdfff) out += "\\u" + code.toString(16);
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
    if (Object.hasOwn(object, Symbol.toStringTag)) return "";
    const tag = object[Symbol.toStringTag];
    return typeof tag === "string" && tag !== "" && tag !== name ? ` [${tag}]` : "";
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
    const symbols = Object.getOwnPropertySymbols(object).filter(
      (s) => hidden || Object.prototype.propertyIsEnumerable.call(object, s),
    );
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
    for (; i < array.length && items.length < state.options.maxArrayLength; i++) {
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

  const limited = (state, size, values, each) => {
    const items = [];
    for (const value of values) {
      if (items.length >= state.options.maxArrayLength) break;
      items.push(each(value));
    }
    if (size > items.length) items.push(more(size - items.length));
    return items;
  };

  // Lays many short items out in columns, numbers aligned to the right. Gives `items` back when that would not look well.
  const inColumns = (state, items, values) => {
    const extra = values.length > state.options.maxArrayLength ? 1 : 0;
    const count = items.length - extra;
    const lengths = items.slice(0, count).map((t) => t.length + 2);
    const widest = Math.max(...lengths),
      total = lengths.reduce((sum, n) => sum + n, 0);
    if (widest * 3 + state.indent >= state.options.breakLength || !(total / widest > 5 || widest <= 8)) return items;
    // About 2.5 times as many columns as rows look square; uneven items count as narrower than the widest.
    const typical = Math.max(widest - 3 - Math.sqrt(widest - total / items.length), 1);
    const columns = Math.min(
      Math.round(Math.sqrt(2.5 * typical * count) / typical),
      Math.floor((state.options.breakLength - state.indent) / widest),
      state.options.compact * 4,
      15,
    );
    if (columns <= 1) return items;
    const widths = Array.from({ length: columns }, (_, c) => {
      let width = 0;
      for (let i = c; i < count; i += columns) width = Math.max(width, lengths[i]);
      return width;
    });
    const right = Array.prototype.every.call(values, (v) => typeof v === "number" || typeof v === "bigint");
    const rows = [];
    for (let i = 0; i < count; i += columns) {
      const last = Math.min(i + columns, count) - 1;
      let row = "";
      for (let j = i; j < last; j++)
        row += right ? `${items[j]}, `.padStart(widths[j - i]) : `${items[j]}, `.padEnd(widths[j - i]);
      rows.push(row + (right ? items[last].padStart(widths[last - i] - 2) : items[last]));
    }
    if (extra) rows.push(items[count]);
    return rows;
  };

  // Joins items into one line when they are short and not nested too deeply, else one per line.
  const join = (state, word, open, close, items, mayJoin) => {
    const before = word ? `${word} ${open}` : open;
    if (items.length === 0) return before + close;
    if (mayJoin && state.shared.lastDepth - state.depth < state.options.compact) {
      const total = items.reduce((sum, t) => sum + t.length + 2, 0) + state.indent + open.length + word.length + 10;
      if (total <= state.options.breakLength && !word.includes("\n") && !items.some((t) => t.includes("\n")))
        return `${before} ${items.join(", ")} ${close}`;
    }
    const pad = " ".repeat(state.indent + 2);
    return `${before}\n${pad}${items.join(`,\n${pad}`)}\n${" ".repeat(state.indent)}${close}`;
  };

  // How the inside of each kind is shown: brackets (with what stands before them) and the items before the named properties.
  const parts = (state, object, kind) => {
    const name = className(object);
    const braces = (fallback, size, list) => ({ open: `${prefix(object, name, fallback, size)}{`, close: "}", list });
    switch (kind) {
      case "array":
        return {
          open: name === "Array" ? "[" : `${prefix(object, name, "Array", `(${object.length})`)}[`,
          close: "]",
          list: () => arrayItems(state, object),
          indexed: true,
        };
      case "arguments":
        return { open: "[Arguments] {", close: "}", list: () => [] };
      case "typed":
        return {
          open: `${prefix(object, name, "TypedArray", `(${object.length})`)}[`,
          close: "]",
          list: () => limited(state, object.length, object, primitive),
          indexed: true,
        };
      case "map":
        return braces("Map", `(${object.size})`, () =>
          limited(state, object.size, Map.prototype.entries.call(object), ([k, v]) => `${show(state, k)} => ${show(state, v)}`),
        );
      case "set":
        return braces("Set", `(${object.size})`, () =>
          limited(state, object.size, Set.prototype.values.call(object), (v) => show(state, v)),
        );
      case "promise":
        return braces("Promise", "", () => {
          const [status, value] = native.promiseState(object);
          return [status === 0 ? "<pending>" : status === 2 ? `<rejected> ${show(state, value)}` : show(state, value)];
        });
      case "buffer":
        if (object instanceof DataView)
          return {
            open: "DataView {",
            close: "}",
            list: () => [
              `byteLength: ${object.byteLength}`,
              `byteOffset: ${object.byteOffset}`,
              `buffer: ${show(state, object.buffer)}`,
            ],
          };
        return braces("ArrayBuffer", "", () => {
          const hex = Array.from(new Uint8Array(object, 0, Math.min(50, object.byteLength)), (b) =>
            b.toString(16).padStart(2, "0"),
          ).join(" ");
          const rest =
            object.byteLength > 50 ? ` ... ${object.byteLength - 50} more byte${object.byteLength > 51 ? "s" : ""}` : "";
          return [`[Uint8Contents]: <${hex}${rest}>`, `byteLength: ${object.byteLength}`];
        });
      case "weak":
        return braces("WeakMap", "", () => ["<items unknown>"]);
      case "generator":
        return { open: `Object${tagOf(object, "")} {`, close: "}", list: () => [] };
      case "iterator":
        return { open: `Object${tagOf(object, "")} {`, close: "}", list: () => [] };
      case "namespace":
        return { open: "[Module: null prototype] {", close: "}", list: () => [] };
      default:
        if (name === "Object" && tagOf(object, "Object") === "") return { open: "{", close: "}", list: () => [] };
        return braces("Object", "", () => []);
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
        return `[${BOXES[typeof value]}: ${primitive(value)}]`;
      }
      case "error":
        return showError(state, object);
    }
    return null;
  };

  // Name, message and frames of an error; `[…]` when it has no frames.
  const showError = (state, error) => {
    const name = className(error) ?? "Error";
    const own = (n) => {
      try {
        return error[n];
      } catch {
        return undefined;
      }
    };
    const given = typeof own("name") === "string" && own("name") !== "Error" ? own("name") : name;
    const title = name === "DOMException" && given !== name ? `${name} [${given}]` : given;
    const message = own("message");
    const head = message === undefined || message === "" ? title : `${title}: ${message}`;
    const frames = hooks.frames(native.stack(error));
    const pad = " ".repeat(state.indent);
    if (frames.length === 0) return state.depth > 0 ? `[${head}]` : head;
    return `${head}\n${frames.join("\n")}`.replaceAll("\n", `\n${pad}`);
  };

  const errorKeys = (state, error) => {
    // The name stands before the message already.
    const keys = ownKeys(state, error, false).filter((k) => k !== "stack" && k !== "message" && k !== "name");
    for (const hidden of ["cause", "errors"]) if (Object.hasOwn(error, hidden) && !keys.includes(hidden)) keys.push(hidden);
    return keys;
  };

  const showPrimitive = (state, value) => {
    if (typeof value !== "string") return primitive(value);
    const most = state.options.maxStringLength;
    if (value.length > most)
      return `${quote(value.slice(0, most))}... ${value.length - most} more character${value.length - most > 1 ? "s" : ""}`;
    if (
      state.depth > 0 &&
      value.length > 16 &&
      value.length > state.options.breakLength - state.indent - 4 &&
      value.includes("\n")
    )
      return value
        .split(/(?<=\n)/)
        .map(quote)
        .join(` +\n${" ".repeat(state.indent + 2)}`);
    return quote(value);
  };

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  const show = (state, value) => {
    if (!isObject(value)) return showPrimitive(state, value);
    let object = value;
    while (kindOf(object) === "proxy") {
      object = native.proxyTarget(object);
      if (!isObject(object)) return "<Revoked Proxy>";
    }
    const custom = object === value ? object[CUSTOM] : undefined;
    if (typeof custom === "function") {
      const shown = custom.call(object, state.options.depth - state.depth, { ...state.options }, hooks.inspect);
      return typeof shown === "string" ? shown.replaceAll("\n", `\n${" ".repeat(state.indent)}`) : show(state, shown);
    }
    if (state.path.includes(object)) {
      const { circular } = state.shared;
      if (!circular.has(object)) circular.set(object, circular.size + 1);
      return `[Circular *${circular.get(object)}]`;
    }
    return showObject(state, object, kindOf(object));
  };

  // Of these only the brackets are left to show, however deep they are.
  const isEmpty = (state, object, kind) =>
    ["plain", "array", "map", "set"].includes(kind) &&
    !(kind === "array" ? object.length : kind === "plain" ? 0 : object.size) &&
    ownKeys(state, object, false).length === 0;

  const showObject = (state, object, kind) => {
    const oneWord = word(state, object, kind);
    const empty = isEmpty(state, object, kind);
    if (state.depth > state.options.depth && oneWord === null && !empty) {
      const name = className(object);
      return kind === "array" ? "[Array]" : `[${name ?? "Object: null prototype"}${tagOf(object, name)}]`;
    }
    const inner = { ...state, path: [...state.path, object], depth: state.depth + 1, indent: state.indent + 2 };
    const shape = oneWord === null ? parts(inner, object, kind) : { open: "{", close: "}", list: () => [] };
    const skipIndexes = shape.indexed || (kind === "boxed" && typeof object.valueOf() === "string");
    const keys = kind === "error" ? errorKeys(state, object) : ownKeys(state, object, skipIndexes);
    if (oneWord !== null && (keys.length === 0 || state.depth > state.options.depth)) return oneWord;
    if (!empty) state.shared.lastDepth = state.depth;
    const items = shape.list();
    for (const [i, name] of keys.entries()) {
      if (state.shared.room <= 0) {
        items.push(`... ${keys.length - i} more properties`);
        break;
      }
      items.push(errorProperty(inner, object, name, kind));
      state.shared.room -= items.at(-1).length;
    }
    const laid = shape.indexed && items.length > 6 && state.options.compact >= 1 ? inColumns(state, items, object) : items;
    const mark = state.shared.circular.get(object);
    return join(state, oneWord ?? "", `${mark ? `<ref *${mark}> ` : ""}${shape.open}`, shape.close, laid, laid === items);
  };

  const errorProperty = (state, object, name, kind) => {
    const text = property(state, object, name, false);
    if (kind !== "error" || (name !== "cause" && name !== "errors")) return text;
    return text.startsWith("[") ? text : `[${name}]: ${text.slice(text.indexOf(": ") + 2)}`;
  };

  // inspect(value, options), or as it was once: inspect(value, showHidden, depth). There are no colours.
  hooks.inspect = (value, options, ...old) => inspectWithin(Infinity, value, options, ...old);

  // A program's last value, as people look at it: of a large object the beginning.
  hooks.display = (value) => inspectWithin(DISPLAY_CHARS, value);

  const inspectWithin = (room, value, options, ...old) => {
    const given = typeof options === "object" ? options : { showHidden: !!options, ...(old.length && { depth: old[0] ?? null }) };
    const merged = { ...defaults, ...given };
    for (const name of ["depth", "maxArrayLength", "maxStringLength"])
      merged[name] ??= given?.[name] === null ? Infinity : defaults[name];
    if (merged.compact === true) merged.compact = 3;
    if (merged.compact === false) merged.compact = 0;
    const shared = { circular: new Map(), lastDepth: 0, room };
    return show({ options: merged, depth: 0, indent: 0, path: [], shared }, value);
  };
  hooks.inspect.custom = CUSTOM;
  Object.defineProperty(hooks.inspect, "defaultOptions", {
    get: () => defaults,
    set: (options) => void Object.assign(defaults, options),
    enumerable: true,
  });
  hooks.inspectPrimitive = primitive;
  hooks.isError = (value) => typeof value === "object" && value !== null && kindOf(value) === "error";
});
