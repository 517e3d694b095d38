// tools.js: the global `tools`, one async function per capability. Names may be written fetch_json or fetchJson.
(function (native, hooks) {
  let names = [],
    namesTurn = -1;

  const toolNames = () => {
    if (namesTurn !== native.turn()) {
      names = native.names();
      namesTurn = native.turn();
    }
    return names;
  };
  const snakeCase = (name) =>
    name
      .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
      .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
      .toLowerCase();
  const camelCase = (name) => name.replace(/_+([a-z0-9])/g, (_, c) => c.toUpperCase());
  hooks.toolNames = toolNames;
  hooks.snakeCase = snakeCase;

  // The registered name `written` stands for, or undefined.
  const find = (written) => {
    const all = toolNames();
    if (all.includes(written)) return written;
    const snake = snakeCase(written);
    return all.includes(snake) ? snake : all.find((name) => camelCase(name) === written || snakeCase(name) === snake);
  };

  class ToolError extends Error {
    constructor(message, code, hint) {
      super(message);
      this.code = code;
      hooks.brand(this, code, hint);
    }
  }
  Object.defineProperty(ToolError.prototype, "name", { value: "ToolError", configurable: true, writable: true });

  const unknown = (written) => {
    const all = toolNames(),
      near = hooks.nearest(snakeCase(written), all);
    const hint = near
      ? `did you mean tools.${near}?`
      : all.length
        ? `registered tools: ${all.slice(0, 20).join(", ")}`
        : "no tools are registered";
    return new ToolError(`unknown tool: ${written}`, "UNKNOWN_TOOL", hint);
  };

  const isPlain = (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    const proto = Object.getPrototypeOf(value);
    return proto === null || proto === Object.prototype;
  };

  const invoke = (written, args) => {
    const name = find(written);
    if (name === undefined) throw unknown(written);
    const keyword = args.length === 1 && isPlain(args[0]);
    const reply = native.call(name, keyword ? [] : args, keyword ? args[0] : {});
    if (reply.error) throw new ToolError(reply.error.message, reply.error.code ?? "TOOL_ERROR", reply.error.hint);
    return reply.value;
  };

  const functions = new Map();
  const functionFor = (written) => {
    if (!functions.has(written)) {
      const tool = async (...args) => invoke(written, args);
      Object.defineProperty(tool, "name", { value: written });
      functions.set(written, tool);
    }
    return functions.get(written);
  };

  const own = new Set(["then", "toJSON", "constructor", "toString", "valueOf", "hasOwnProperty"]);
  const tools = new Proxy(Object.create(null), {
    get: (_, name) => (typeof name === "symbol" || own.has(name) ? undefined : functionFor(name)),
    has: (_, name) => typeof name === "string" && find(name) !== undefined,
    ownKeys: () => toolNames(),
    getOwnPropertyDescriptor: (_, name) =>
      typeof name === "string" && find(name) !== undefined
        ? { value: functionFor(name), enumerable: true, configurable: true, writable: false }
        : undefined,
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  });

  hooks.define("tools", tools);
  hooks.define("ToolError", ToolError);
});
