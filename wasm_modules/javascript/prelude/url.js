// url.js: URL and URLSearchParams for the schemes programs use. No IDNA: host names must be ASCII.
(function (native, hooks) {
  const DEFAULT_PORTS = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21" };
  const isSpecial = (protocol) => protocol in DEFAULT_PORTS || protocol === "file:";

  // Percent-encodes what `safe` does not match.
  const escape = (text, safe) => {
    let out = "";
    for (const c of text)
      out += safe.test(c)
        ? c
        : Array.from(native.encode(c), (b) => "%" + b.toString(16).toUpperCase().padStart(2, "0")).join("");
    return out;
  };
  const PATH = /^[A-Za-z0-9\-._~!$&'()*+,;=:@\/%\[\]|^\\]$/,
    QUERY = /^[A-Za-z0-9\-._~!$&()*+,;=:@\/?%\[\]|^\\{}`]$/;
  const FRAGMENT = /^[A-Za-z0-9\-._~!$&'()*+,;=:@\/?%\[\]|^\\{}#]$/,
    USER = /^[A-Za-z0-9\-._~!$&'()*+,%]$/;

  const formEncode = (text) => escape(text.toWellFormed(), /^[A-Za-z0-9*\-._ ]$/).replaceAll(" ", "+");
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

  class URLSearchParams {
    #pairs = [];
    #changed = () => {};
    constructor(init = "", changed) {
      if (typeof changed === "function") this.#changed = changed;
      if (typeof init === "object" && init !== null && Symbol.iterator in init)
        for (const [k, v] of init) this.#pairs.push([`${k}`, `${v}`]);
      else if (typeof init === "object" && init !== null)
        for (const k of Object.keys(init)) this.#pairs.push([k, `${init[k]}`]);
      else this.#parse(`${init}`);
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
      this.#pairs.push([`${k}`, `${v}`]);
      this.#changed();
    }
    delete(k, v) {
      this.#pairs = this.#pairs.filter(([n, m]) => n !== `${k}` || (v !== undefined && m !== `${v}`));
      this.#changed();
    }
    get(k) {
      return this.#pairs.find(([n]) => n === `${k}`)?.[1] ?? null;
    }
    getAll(k) {
      return this.#pairs.filter(([n]) => n === `${k}`).map(([, v]) => v);
    }
    has(k, v) {
      return this.#pairs.some(([n, m]) => n === `${k}` && (v === undefined || m === `${v}`));
    }
    set(k, v) {
      const at = this.#pairs.findIndex(([n]) => n === `${k}`);
      if (at < 0) this.#pairs.push([`${k}`, `${v}`]);
      else {
        this.#pairs[at][1] = `${v}`;
        this.#pairs = this.#pairs.filter(([n], i) => n !== `${k}` || i === at);
      }
      this.#changed();
    }
    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed();
    }
    forEach(f, self) {
      for (const [k, v] of this.#pairs) f.call(self, v, k, this);
    }
    *entries() {
      for (const [k, v] of this.#pairs) yield [k, v];
    }
    *keys() {
      for (const [k] of this.#pairs) yield k;
    }
    *values() {
      for (const [, v] of this.#pairs) yield v;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return this.#pairs.map(([k, v]) => `${formEncode(k)}=${formEncode(v)}`).join("&");
    }
    get [Symbol.toStringTag]() {
      return "URLSearchParams";
    }
    [hooks.inspect.custom](depth, options, inspect) {
      return this.#pairs.length
        ? `URLSearchParams { ${this.#pairs.map(([k, v]) => `${inspect(k)} => ${inspect(v)}`).join(", ")} }`
        : "URLSearchParams {}";
    }
  }

  const invalid = (text) => Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input: text });

  const removeDots = (path) => {
    const out = [];
    const parts = path.split("/");
    parts.forEach((part, i) => {
      const plain = part.replace(/%2e/gi, ".");
      if (plain === "..") {
        if (out.length > 1) out.pop();
        if (i === parts.length - 1) out.push("");
      } else if (plain === ".") {
        if (i === parts.length - 1) out.push("");
      } else out.push(part);
    });
    return out.join("/") || "/";
  };

  const parseHost = (text, special, whole) => {
    if (text.startsWith("[")) {
      if (!/^\[[0-9a-fA-F:.]+\]$/.test(text)) throw invalid(whole);
      return text.toLowerCase();
    }
    const host = special ? formDecode(text.replaceAll("+", "%2B")).toLowerCase() : text;
    if (/[\s#%/:<>?@[\\\]^|]/.test(host) || (special && /[^\x21-\x7e]/.test(host))) throw invalid(whole);
    return host;
  };

  // Splits an absolute URL into its parts, or gives null when it has no scheme.
  const parse = (text) => {
    const scheme = /^([A-Za-z][A-Za-z0-9+.\-]*):(.*)$/s.exec(text);
    if (!scheme) return null;
    const url = {
      protocol: scheme[1].toLowerCase() + ":",
      username: "",
      password: "",
      host: "",
      port: "",
      path: "",
      query: null,
      fragment: null,
    };
    let rest = scheme[2];
    const special = isSpecial(url.protocol);
    const cut = (mark) => {
      const at = rest.indexOf(mark);
      if (at < 0) return null;
      const tail = rest.slice(at + 1);
      rest = rest.slice(0, at);
      return tail;
    };
    url.fragment = cut("#");
    url.query = cut("?");
    if (special) rest = rest.replaceAll("\\", "/");
    if (special && url.protocol !== "file:") rest = rest.replace(/^\/*/, "//");
    if (rest.startsWith("//")) {
      const end = rest.indexOf("/", 2);
      let authority = end < 0 ? rest.slice(2) : rest.slice(2, end);
      rest = end < 0 ? "" : rest.slice(end);
      const at = authority.lastIndexOf("@");
      if (at >= 0) {
        const [user, ...secret] = authority.slice(0, at).split(":");
        url.username = escape(user, USER);
        url.password = escape(secret.join(":"), USER);
        authority = authority.slice(at + 1);
      }
      const port = /:(\d*)$/.exec(authority);
      if (port) {
        authority = authority.slice(0, -port[0].length);
        if (Number(port[1]) > 65535) throw invalid(text);
        url.port = port[1] === "" || String(Number(port[1])) === DEFAULT_PORTS[url.protocol] ? "" : String(Number(port[1]));
      } else if (/:[^\]]*$/.test(authority) && !authority.endsWith("]")) throw invalid(text);
      url.host = parseHost(authority, special, text);
      if (special && url.protocol !== "file:" && !url.host) throw invalid(text);
      url.hierarchical = true;
    } else if (rest.startsWith("/")) url.hierarchical = url.protocol === "file:";
    else url.opaque = !special;
    url.path = url.opaque
      ? escape(rest, /^[\x20-\x7e]$/)
      : removeDots(escape(rest || (special ? "/" : ""), PATH)).replace(/^(?!\/|$)/, "/");
    if (!special && rest === "") url.path = "";
    if (url.query !== null) url.query = escape(url.query, QUERY);
    if (url.fragment !== null) url.fragment = escape(url.fragment, FRAGMENT);
    return url;
  };

  const resolve = (text, base) => {
    const absolute = parse(text);
    if (absolute) return absolute;
    if (base === undefined) throw invalid(text);
    const from = parse(base);
    if (!from) throw invalid(text);
    if (from.opaque && !text.startsWith("#")) throw invalid(text);
    const [beforeFragment, ...fragment] = text.split("#");
    const tail = fragment.length ? "#" + fragment.join("#") : "";
    const origin = `${from.protocol}//${authorityOf(from)}`;
    const path = beforeFragment.replaceAll("\\", "/");
    if (path.startsWith("//")) return parse(from.protocol + path + tail);
    if (path.startsWith("/")) return parse(origin + path + tail);
    const query = from.query === null ? "" : "?" + from.query;
    if (path === "") return parse(origin + from.path + query + tail);
    if (path.startsWith("?")) return parse(origin + from.path + path + tail);
    return parse(origin + from.path.replace(/[^/]*$/, "") + path + tail);
  };

  const authorityOf = (u) =>
    (u.username || u.password ? u.username + (u.password ? ":" + u.password : "") + "@" : "") +
    u.host +
    (u.port ? ":" + u.port : "");

  const serialize = (u) =>
    u.protocol +
    (u.hierarchical ? "//" + authorityOf(u) : "") +
    u.path +
    (u.query !== null ? "?" + u.query : "") +
    (u.fragment !== null ? "#" + u.fragment : "");

  class URL {
    #url;
    #params;
    constructor(text, base) {
      const trim = (t) => `${t}`.trim().replace(/[\t\n\r]/g, "");
      this.#url = resolve(trim(text), base === undefined ? undefined : trim(base));
    }
    static canParse(text, base) {
      try {
        new URL(text, base);
        return true;
      } catch {
        return false;
      }
    }
    static parse(text, base) {
      try {
        return new URL(text, base);
      } catch {
        return null;
      }
    }
    #change(edit) {
      const copy = { ...this.#url };
      edit(copy);
      this.#url = parse(serialize(copy));
      this.#params = undefined;
    }
    get href() {
      return serialize(this.#url);
    }
    set href(text) {
      this.#url = resolve(`${text}`);
      this.#params = undefined;
    }
    get origin() {
      return isSpecial(this.#url.protocol) && this.#url.protocol !== "file:" ? `${this.#url.protocol}//${this.host}` : "null";
    }
    get protocol() {
      return this.#url.protocol;
    }
    set protocol(v) {
      this.#change((u) => {
        u.protocol = `${v}`.replace(/:?$/, ":");
      });
    }
    get username() {
      return this.#url.username;
    }
    set username(v) {
      this.#change((u) => {
        u.username = escape(`${v}`, USER);
      });
    }
    get password() {
      return this.#url.password;
    }
    set password(v) {
      this.#change((u) => {
        u.password = escape(`${v}`, USER);
      });
    }
    get host() {
      return this.#url.host + (this.#url.port ? ":" + this.#url.port : "");
    }
    set host(v) {
      this.#change((u) => {
        [u.host, u.port = ""] = `${v}`.split(":");
      });
    }
    get hostname() {
      return this.#url.host;
    }
    set hostname(v) {
      this.#change((u) => {
        u.host = `${v}`;
      });
    }
    get port() {
      return this.#url.port;
    }
    set port(v) {
      this.#change((u) => {
        u.port = `${v}`;
      });
    }
    get pathname() {
      return this.#url.path;
    }
    set pathname(v) {
      this.#change((u) => {
        u.path = `${v}`.replace(/^(?!\/)/, "/").replace(/[?#]/g, encodeURIComponent);
      });
    }
    get search() {
      return this.#url.query ? "?" + this.#url.query : "";
    }
    set search(v) {
      this.#change((u) => {
        u.query = `${v}` === "" ? null : `${v}`.replace(/^\?/, "");
      });
    }
    get hash() {
      return this.#url.fragment ? "#" + this.#url.fragment : "";
    }
    set hash(v) {
      this.#change((u) => {
        u.fragment = `${v}` === "" ? null : `${v}`.replace(/^#/, "");
      });
    }
    get searchParams() {
      this.#params ??= new URLSearchParams(this.#url.query ?? "", () => {
        this.#url.query = this.#params.toString() || null;
      });
      return this.#params;
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
    get [Symbol.toStringTag]() {
      return "URL";
    }
    [hooks.inspect.custom](depth, options, inspect) {
      const names = [
        "href",
        "origin",
        "protocol",
        "username",
        "password",
        "host",
        "hostname",
        "port",
        "pathname",
        "search",
        "searchParams",
        "hash",
      ];
      return `URL {\n${names.map((n) => `  ${n}: ${inspect(this[n])}`).join(",\n")}\n}`;
    }
  }

  hooks.define("URL", URL);
  hooks.define("URLSearchParams", URLSearchParams);
});
