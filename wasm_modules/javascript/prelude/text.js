// text.js: the modules `querystring` and `string_decoder`.
(function (native, hooks) {
  // Bytes are taken one by one, so that what is no UTF-8 becomes U+FFFD and nothing throws.
  const unescape = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      const bytes = hooks.asBytes(text.replace(/[^\0-\x7f]+/g, encodeURIComponent)),
        latin = hooks.encodingOf("latin1");
      return native.decode(
        latin.encode(latin.decode(bytes).replace(/%([0-9a-fA-F]{2})/g, (_, pair) => String.fromCharCode(parseInt(pair, 16)))),
        false,
      );
    }
  };
  // Half of a surrogate pair is joined with whatever follows it, as Node does.
  const escape = (value) => {
    const text = typeof value === "object" ? String(value) : `${value}`;
    if (text.isWellFormed()) return encodeURIComponent(text);
    const paired = text.replace(/[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]([^]?)/g, (found, next) => {
      if (next === undefined) return found;
      if (next === "") throw hooks.codedError(URIError, "ERR_INVALID_URI", "URI malformed");
      return String.fromCodePoint(0x10000 + (((found.charCodeAt(0) & 0x3ff) << 10) | (next.charCodeAt(0) & 0x3ff)));
    });
    return encodeURIComponent(paired);
  };
  const plain = (value) => {
    if (typeof value === "string") return value;
    return Number.isFinite(value) || typeof value === "bigint" || typeof value === "boolean" ? `${value}` : "";
  };

  const querystring = {
    escape,
    unescape,
    parse(text, separator = "&", sign = "=", options = {}) {
      const found = Object.create(null),
        decode = options.decodeURIComponent ?? querystring.unescape,
        most = typeof options.maxKeys === "number" ? options.maxKeys : 1000;
      if (typeof text !== "string" || text === "") return found;
      let parts = text.split(separator || "&");
      if (most > 0 && most < parts.length) parts = parts.slice(0, most);
      for (const part of parts) {
        if (part === "") continue;
        const at = part.indexOf(sign || "="),
          words = at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + (sign || "=").length)],
          [name, value] = words.map((word) => decode(word.replaceAll("+", " ")));
        if (!(name in found)) found[name] = value;
        else if (Array.isArray(found[name])) found[name].push(value);
        else found[name] = [found[name], value];
      }
      return found;
    },
    stringify(object, separator = "&", sign = "=", options = {}) {
      if (typeof object !== "object" || object === null) return "";
      const encode = options.encodeURIComponent ?? querystring.escape;
      const pair = (name, value) => encode(plain(name)) + (sign || "=") + encode(plain(value));
      return Object.entries(object)
        .flatMap(([name, value]) => (Array.isArray(value) ? value.map((one) => pair(name, one)) : [pair(name, value)]))
        .join(separator || "&");
    },
  };
  querystring.decode = querystring.parse;
  querystring.encode = querystring.stringify;

  const ALIASES = { "utf-8": "utf8", ucs2: "utf16le", "ucs-2": "utf16le", "utf-16le": "utf16le", binary: "latin1" };
  // How many bytes make whole characters of text, in encodings that are not decoded by TextDecoder.
  const WHOLE = { base64: 3, base64url: 3 };

  // A function, because old code calls it without `new`.
  const states = new WeakMap();
  function StringDecoder(encoding) {
    const name = `${encoding ?? "utf8"}`.toLowerCase();
    hooks.encodingOf(encoding);
    this.encoding = ALIASES[name] ?? name;
    const label = { utf8: "utf-8", utf16le: "utf-16le" }[this.encoding];
    states.set(this, { held: new Uint8Array(0), decoder: label && new TextDecoder(label, { ignoreBOM: true }) });
  }
  const take = (self, bytes, isLast) => {
    const state = states.get(self);
    if (!state) throw hooks.codedError(TypeError, "ERR_INVALID_THIS", 'Value of "this" must be of type StringDecoder');
    if (state.decoder) return state.decoder.decode(bytes, { stream: !isLast });
    const joined = new Uint8Array([...state.held, ...bytes]),
      rest = isLast ? 0 : joined.length % (WHOLE[self.encoding] ?? 1);
    state.held = joined.slice(joined.length - rest);
    return hooks.encodingOf(self.encoding).decode(joined.subarray(0, joined.length - rest));
  };
  StringDecoder.prototype.write = function write(data) {
    if (typeof data === "string") return data;
    if (!ArrayBuffer.isView(data)) throw hooks.invalidType("buf", "an instance of Buffer, TypedArray, or DataView", data);
    return take(this, hooks.viewBytes(data), false);
  };
  StringDecoder.prototype.end = function end(data) {
    return (data === undefined ? "" : this.write(data)) + take(this, new Uint8Array(0), true);
  };

  hooks.querystring = querystring;
  hooks.StringDecoder = StringDecoder;
});
