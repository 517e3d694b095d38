// legacy_url.js: url.parse, url.format and url.resolve, which are older than URL and take what is no whole URL too.
(function (native, hooks) {
  const WITH_SLASHES = new Set(["http", "https", "ftp", "gopher", "file", "ws", "wss"]);
  const isSlashed = (protocol) => WITH_SLASHES.has(`${protocol ?? ""}`.replace(/:$/, ""));
  const escaped = (text) => text.replace(/[\s"'<>\\^`{|}]/g, (c) => encodeURIComponent(c).replace("'", "%27"));

  function Url() {
    const names = ["protocol", "slashes", "auth", "host", "port", "hostname", "hash", "search", "query", "pathname", "path", "href"];
    for (const name of names) this[name] = null;
  }
  const parse = (text, withQuery = false, slashesMeanHost = false) => {
    if (text instanceof Url) return text;
    hooks.checkString(text, "url");
    const made = new Url();
    let rest = text.trim();
    const hashAt = rest.indexOf("#");
    if (hashAt >= 0) [made.hash, rest] = [escaped(rest.slice(hashAt)), rest.slice(0, hashAt)];
    const queryAt = rest.indexOf("?");
    let query;
    if (queryAt >= 0) [query, rest] = [rest.slice(queryAt + 1), rest.slice(0, queryAt)];
    if (/^[a-z][a-z0-9+.-]*:/i.test(rest)) {
      made.protocol = /^[^:]*:/.exec(rest)[0].toLowerCase();
      rest = rest.slice(made.protocol.length);
    }
    const isScript = made.protocol === "javascript:";
    if (isSlashed(made.protocol)) rest = rest.replaceAll("\\", "/");
    const hasSlashes = rest.startsWith("//") && !isScript && (made.protocol !== null || slashesMeanHost || /^\/\/[^/@]+@[^/]+/.test(rest));
    if (hasSlashes) {
      made.slashes = true;
      rest = rest.slice(2);
    }
    if (!isScript && (hasSlashes || (made.protocol && isSlashed(made.protocol)))) {
      const end = /[/]|$/.exec(rest).index;
      let authority = rest.slice(0, end);
      rest = rest.slice(end);
      const at = authority.lastIndexOf("@");
      if (at >= 0) [made.auth, authority] = [decodeURIComponent(authority.slice(0, at)), authority.slice(at + 1)];
      const port = /:([0-9]*)$/.exec(authority);
      if (port && !/^\[[^\]]*$/.test(authority)) {
        if (port[1] !== "") made.port = port[1];
        authority = authority.slice(0, port.index);
      }
      const isBracketed = authority.startsWith("[") && authority.endsWith("]");
      const name = isBracketed ? authority.slice(1, -1).toLowerCase() : /[^\0-\x7f]/.test(authority) ? native.domainTo(authority, true) : authority.toLowerCase();
      if (!isBracketed && /[\s"<>\\^`{|}%]/.test(name)) throw hooks.codedError(TypeError, "ERR_INVALID_URL", "Invalid URL", { input: text });
      made.hostname = name;
      made.host = (isBracketed ? `[${name}]` : name) + (made.port ? `:${made.port}` : "");
      if (isSlashed(made.protocol) && rest === "") rest = "/";
    }
    if (rest !== "" || (made.host && isSlashed(made.protocol))) made.pathname = isScript ? rest : escaped(rest);
    if (query !== undefined) {
      made.query = escaped(query);
      made.search = `?${made.query}`;
    }
    if (withQuery) {
      made.search ??= "";
      made.query = Object.assign(Object.create(null), hooks.querystring.parse(query ?? ""));
    }
    if (made.pathname !== null || made.search) made.path = (made.pathname ?? "") + (made.search ?? "");
    made.href = format(made);
    return made;
  };
  const format = (url, options) => {
    if (typeof url === "string") url = parse(url);
    else if (typeof url !== "object" || url === null) throw hooks.invalidType("urlObject", "of type object or string", url);
    if (url instanceof URL) return formatWhole(url, options);
    const { protocol: given = "", hash = "", query } = url;
    const auth = url.auth ? `${encodeURIComponent(url.auth).replace(/%3A/i, ":")}@` : "";
    const protocol = given && !given.endsWith(":") ? `${given}:` : (given ?? "");
    let pathname = url.pathname ?? "",
      host = "";
    if (url.host) host = auth + url.host;
    else if (url.hostname) host = auth + (url.hostname.includes(":") && !url.hostname.startsWith("[") ? `[${url.hostname}]` : url.hostname) + (url.port ? `:${url.port}` : "");
    const asked = query !== null && typeof query === "object" ? hooks.querystring.stringify(query) : "";
    let search = url.search || (asked && `?${asked}`) || "";
    pathname = pathname.replace(/[?#]/g, encodeURIComponent);
    if (url.slashes || ((!protocol || isSlashed(protocol)) && host !== "")) {
      host = `//${host}`;
      if (pathname && !pathname.startsWith("/")) pathname = `/${pathname}`;
    }
    if (search && !search.startsWith("?")) search = `?${search}`;
    return `${protocol}${host}${pathname}${search.replaceAll("#", "%23")}${hash && !hash.startsWith("#") ? "#" : ""}${hash ?? ""}`;
  };
  const formatWhole = (url, { fragment = true, unicode = false, search = true, auth = true } = {}) => {
    const name = url.username + (url.password ? `:${url.password}` : "");
    const host = unicode ? native.domainTo(url.hostname, false) + (url.port ? `:${url.port}` : "") : url.host;
    const authority = url.host || url.protocol === "file:" ? `//${auth && name ? `${name}@` : ""}${host}` : "";
    return `${url.protocol}${authority}${url.pathname}${search ? url.search : ""}${fragment ? url.hash : ""}`;
  };
  const normalize = (path) => {
    const out = [];
    for (const part of path.split("/").slice(1)) {
      if (part === "..") out.pop();
      else if (part !== ".") out.push(part);
    }
    return `/${out.join("/")}${/\/\.\.?$/.test(path) && out.length ? "/" : ""}`;
  };
  const resolve = (from, to) => {
    const base = parse(from, false, true),
      wanted = parse(to, false, true);
    if (to === "") return base.href.replace(/#.*$/, "");
    if (wanted.protocol && wanted.protocol !== base.protocol) return wanted.href;
    if (wanted.protocol && wanted.host) return wanted.href;
    const made = Object.assign(new Url(), base, { hash: wanted.hash });
    if (wanted.host !== null && wanted.slashes) Object.assign(made, { host: wanted.host, hostname: wanted.hostname, auth: wanted.auth, pathname: wanted.pathname, search: wanted.search });
    else if (wanted.pathname) {
      const directory = (base.pathname ?? "/").replace(/[^/]*$/, "");
      const path = wanted.pathname.startsWith("/") ? wanted.pathname : directory + wanted.pathname;
      made.pathname = made.host !== null || path.startsWith("/") ? normalize(path.startsWith("/") ? path : `/${path}`) : path;
      made.search = wanted.search;
    } else if (wanted.search !== null) made.search = wanted.search;
    return format(made);
  };
  Url.prototype.parse = function (...args) {
    return Object.assign(this, parse(...args));
  };
  Url.prototype.format = function () {
    return format(this);
  };
  Url.prototype.resolve = function (to) {
    return resolve(this.href ?? format(this), to);
  };
  const resolveObject = (from, to) => parse(resolve(from, to));
  hooks.legacyUrl = { Url, parse, format, resolve, resolveObject };
});
