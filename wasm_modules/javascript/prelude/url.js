// url.js: URL and URLSearchParams by the WHATWG's rules. The parts of a URL are found by Ada, which urls.c calls.
(function (native, hooks) {
  const formEncode = (text) => {
    let out = "";
    for (const byte of native.encode(text.toWellFormed())) {
      const c = String.fromCharCode(byte);
      out += /[A-Za-z0-9*\-._]/.test(c) ? c : c === " " ? "+" : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    }
    return out;
  };
  const formDecode = (text) => {
    const plain = text.replaceAll("+", " ");
    if (!plain.includes("%")) return plain;
    const bytes = [];
    for (let i = 0; i < plain.length;) {
      if (plain[i] === "%" && /^[0-9A-Fa-f]{2}$/.test(plain.slice(i + 1, i + 3))) {
        bytes.push(parseInt(plain.slice(i + 1, i + 3), 16));
        i += 3;
      } else {
        const c = String.fromCodePoint(plain.codePointAt(i));
        bytes.push(...native.encode(c));
        i += c.length;
      }
    }
    return native.decode(Uint8Array.from(bytes), false);
  };

  const text = (value) => `${value}`.toWellFormed();
  const pairsOf = (init) => {
    if (typeof init[Symbol.iterator] !== "function") throw hooks.codedError(TypeError, "ERR_ARG_NOT_ITERABLE", "Query pairs must be iterable");
    return [...init].map((pair) => {
      const isPair = ((typeof pair === "object" && pair !== null) || typeof pair === "function") && typeof pair[Symbol.iterator] === "function";
      const both = isPair ? [...pair] : [];
      if (both.length !== 2) throw hooks.codedError(TypeError, "ERR_INVALID_TUPLE", "Each query pair must be an iterable [name, value] tuple");
      return both.map(text);
    });
  };
  const expect = (args, ...names) => {
    if (args.length >= names.length) return;
    const list = names.map((name) => `"${name}"`).join(" and ");
    throw hooks.codedError(TypeError, "ERR_MISSING_ARGS", `The ${list} argument${names.length > 1 ? "s" : ""} must be specified`);
  };
  const wrongThis = (name) => hooks.codedError(TypeError, "ERR_INVALID_THIS", `Value of "this" must be of type ${name}`);
  // Each function of a class, called on what is not one of its objects, says so before it looks at its arguments.
  const guard = (Kind, isOne) => {
    for (const [name, field] of Object.entries(Object.getOwnPropertyDescriptors(Kind.prototype))) {
      if (name === "constructor") continue;
      for (const part of ["value", "get", "set"]) {
        const f = field[part];
        if (typeof f !== "function") continue;
        const { [part === "value" ? name : `${part} ${name}`]: guarded } = {
          [part === "value" ? name : `${part} ${name}`](...args) {
            if (!isOne(this)) throw wrongThis(Kind.name);
            return Reflect.apply(f, this, args);
          },
        };
        field[part] = Object.defineProperty(guarded, "length", { value: f.length });
      }
      Object.defineProperty(Kind.prototype, name, { ...field, enumerable: true });
    }
  };
  const IteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
  class ParamsIterator {
    #pairs;
    #pick;
    #at = 0;
    constructor(pairs, pick) {
      this.#pairs = pairs;
      this.#pick = pick;
    }
    next() {
      if (typeof this !== "object" || this === null || !(#pairs in this)) throw wrongThis("URLSearchParamsIterator");
      const pair = this.#pairs()[this.#at];
      if (pair === undefined) return { value: undefined, done: true };
      this.#at++;
      return { value: this.#pick(pair), done: false };
    }
    [hooks.inspect.custom](depth, options, inspect) {
      const left = this.#pairs().slice(this.#at).map(this.#pick);
      if (depth < 0) return "[Object]";
      return `URLSearchParams Iterator {${left.length ? ` ${left.map((each) => inspect(each, options)).join(", ")} ` : "  "}}`;
    }
  }
  Object.setPrototypeOf(ParamsIterator.prototype, IteratorPrototype);
  Object.defineProperty(ParamsIterator.prototype, Symbol.toStringTag, { value: "URLSearchParams Iterator", configurable: true });
  Object.defineProperty(ParamsIterator.prototype, "next", { enumerable: true });

  class URLSearchParams {
    #pairs = [];
    #changed = () => {};
    static isOne(object) {
      return typeof object === "object" && object !== null && #pairs in object;
    }
    constructor(given, changed) {
      const init = given ?? "";
      if (typeof changed === "function") this.#changed = () => changed(this.toString());
      const isMany = (typeof init === "object" && init !== null) || typeof init === "function";
      if (isMany && init[Symbol.iterator] !== undefined && init[Symbol.iterator] !== null) this.#pairs = pairsOf(init);
      else if (isMany)
        for (const k of Reflect.ownKeys(init)) {
          if (!Object.getOwnPropertyDescriptor(init, k)?.enumerable) continue;
          this.#pairs.push([text(k), text(init[k])]);
        }
      else this.#parse(text(init));
    }
    _replace(search) {
      this.#pairs = [];
      this.#parse(search);
    }
    #parse(text) {
      for (const part of text.replace(/^\?/, "").split("&")) {
        if (!part) continue;
        const at = part.indexOf("=");
        this.#pairs.push(at < 0 ? [formDecode(part), ""] : [formDecode(part.slice(0, at)), formDecode(part.slice(at + 1))]);
      }
    }
    get size() {
      return this.#pairs.length;
    }
    append(k, v) {
      expect(arguments, "name", "value");
      this.#pairs.push([text(k), text(v)]);
      this.#changed();
    }
    delete(k, v) {
      expect(arguments, "name");
      this.#pairs = this.#pairs.filter(([n, m]) => n !== text(k) || (v !== undefined && m !== text(v)));
      this.#changed();
    }
    get(k) {
      expect(arguments, "name");
      return this.#pairs.find(([n]) => n === text(k))?.[1] ?? null;
    }
    getAll(k) {
      expect(arguments, "name");
      return this.#pairs.filter(([n]) => n === text(k)).map(([, v]) => v);
    }
    has(k, v) {
      expect(arguments, "name");
      return this.#pairs.some(([n, m]) => n === text(k) && (v === undefined || m === text(v)));
    }
    set(k, v) {
      expect(arguments, "name", "value");
      const at = this.#pairs.findIndex(([n]) => n === text(k));
      if (at < 0) this.#pairs.push([text(k), text(v)]);
      else {
        this.#pairs[at][1] = text(v);
        this.#pairs = this.#pairs.filter(([n], i) => n !== text(k) || i === at);
      }
      this.#changed();
    }
    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed();
    }
    forEach(f, self) {
      hooks.checkFunction(f, "callback");
      for (const [k, v] of this.#pairs) f.call(self, v, k, this);
    }
    entries() {
      return new ParamsIterator(() => this.#pairs, ([k, v]) => [k, v]);
    }
    keys() {
      return new ParamsIterator(() => this.#pairs, ([k]) => k);
    }
    values() {
      return new ParamsIterator(() => this.#pairs, ([, v]) => v);
    }
    toString() {
      return this.#pairs.map(([k, v]) => `${formEncode(k)}=${formEncode(v)}`).join("&");
    }
    [hooks.inspect.custom](depth, options, inspect) {
      if (!isParams(this)) throw wrongThis("URLSearchParams");
      if (depth < 0) return "[Object]";
      return this.#pairs.length
        ? `URLSearchParams { ${this.#pairs.map(([k, v]) => `${inspect(k)} => ${inspect(v)}`).join(", ")} }`
        : "URLSearchParams {}";
    }
  }

  const isParams = URLSearchParams.isOne;
  delete URLSearchParams.isOne;
  const replaceParams = URLSearchParams.prototype._replace;
  delete URLSearchParams.prototype._replace;
  guard(URLSearchParams, isParams);
  Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });

  const invalid = (input, base) =>
    hooks.codedError(TypeError, "ERR_INVALID_URL", "Invalid URL", base === undefined ? { input } : { input, base });
  const asText = (value) => `${value}`.toWellFormed();
  const parse = (text, base) => native.parseUrl(asText(text), base === undefined ? undefined : asText(base));

  class URL {
    #parts;
    #params;
    constructor(text, base = undefined) {
      if (arguments.length === 0) throw hooks.codedError(TypeError, "ERR_MISSING_ARGS", 'The "url" argument must be specified');
      this.#parts = parse(text, base);
      if (this.#parts === null) throw invalid(asText(text), base === undefined ? undefined : asText(base));
    }
    static canParse(text, base = undefined) {
      if (arguments.length === 0) throw hooks.codedError(TypeError, "ERR_MISSING_ARGS", 'The "url" argument must be specified');
      return parse(text, base) !== null;
    }
    static parse(text, base = undefined) {
      return URL.canParse(text, base) ? new URL(text, base) : null;
    }
    static createObjectURL() {
      throw hooks.codedError(Error, "ERR_METHOD_NOT_IMPLEMENTED", "URL.createObjectURL() is not implemented");
    }
    static revokeObjectURL() {
      if (arguments.length === 0) throw hooks.codedError(TypeError, "ERR_MISSING_ARGS", 'The "url" argument must be specified');
    }
    static isOne(object) {
      return typeof object === "object" && object !== null && #parts in object;
    }
    static part(url, name) {
      return url.#parts[name];
    }
    static change(url, ...change) {
      url.#change(...change);
    }
    #change(name, value) {
      this.#parts = native.changeUrl(this.#parts.href, name, asText(value));
      if (name === "search" && this.#params) replaceParams.call(this.#params, this.#parts.search);
    }
    get href() {
      return this.#parts.href;
    }
    set href(text) {
      const parts = parse(text);
      if (parts === null) throw invalid(asText(text));
      this.#parts = parts;
      if (this.#params) replaceParams.call(this.#params, parts.search);
    }
    get origin() {
      return this.#parts.origin;
    }
    get searchParams() {
      this.#params ??= new URLSearchParams(this.#parts.search, (text) => {
        this.#parts = native.changeUrl(this.#parts.href, "search", text);
      });
      return this.#params;
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
    [hooks.inspect.custom](depth, options, inspect) {
      if (depth < 0) return "[URL]";
      const names = ["href", "origin", ...PARTS.slice(0, -1), "searchParams", "hash"];
      return `URL {\n${names.map((n) => `  ${n}: ${inspect(this[n])}`).join(",\n")}\n}`;
    }
  }
  const PARTS = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
  const { isOne, part, change } = URL;
  for (const name of ["isOne", "part", "change"]) delete URL[name];
  for (const name of PARTS)
    Object.defineProperty(URL.prototype, name, {
      get() {
        return part(this, name);
      },
      set(value) {
        change(this, name, value);
      },
      enumerable: true,
      configurable: true,
    });
  guard(URL, isOne);
  for (const [Kind, name] of [
    [URL, "URL"],
    [URLSearchParams, "URLSearchParams"],
  ]) {
    Object.defineProperty(Kind.prototype, Symbol.toStringTag, { value: name, configurable: true });
    hooks.define(name, Kind);
  }
});
