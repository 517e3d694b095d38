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
  const escape = (value) => encodeURIComponent(`${value}`);
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
        most = options.maxKeys ?? 1000;
      if (typeof text !== "string" || text === "") return found;
      let parts = text.split(separator || "&");
      if (most > 0) parts = parts.slice(0, most);
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

  class StringDecoder {
    #held = new Uint8Array(0);
    #decoder;
    constructor(encoding = "utf8") {
      hooks.encodingOf(encoding);
      const name = `${encoding}`.toLowerCase();
      this.encoding = ALIASES[name] ?? name;
      const label = { utf8: "utf-8", utf16le: "utf-16le" }[this.encoding];
      if (label) this.#decoder = new TextDecoder(label, { ignoreBOM: true });
    }
    #take(bytes, isLast) {
      if (this.#decoder) return this.#decoder.decode(bytes, { stream: !isLast });
      const joined = new Uint8Array([...this.#held, ...bytes]),
        rest = isLast ? 0 : joined.length % (WHOLE[this.encoding] ?? 1);
      this.#held = joined.slice(joined.length - rest);
      return hooks.encodingOf(this.encoding).decode(joined.subarray(0, joined.length - rest));
    }
    write(data) {
      return typeof data === "string" ? data : this.#take(hooks.viewBytes(data), false);
    }
    end(data) {
      return (data === undefined ? "" : this.write(data)) + this.#take(new Uint8Array(0), true);
    }
  }

  hooks.querystring = querystring;
  hooks.StringDecoder = StringDecoder;
});
