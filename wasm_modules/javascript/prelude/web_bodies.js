// web_bodies.js: Blob, File, FormData, Headers, Request and Response, as types of data: nothing here sends anything.
(function (native, hooks) {
  const bytesOf = (part) => {
    if (part instanceof Blob) return part._bytes;
    if (part instanceof ArrayBuffer || ArrayBuffer.isView(part)) return Uint8Array.from(hooks.viewBytes(part));
    return native.encode(`${part}`);
  };
  class Blob {
    _bytes;
    #type;
    constructor(parts = [], options = {}) {
      if (typeof parts?.[Symbol.iterator] !== "function" || typeof parts === "string")
        throw hooks.invalidType("sources", "a sequence", parts);
      this._bytes = new Uint8Array(Buffer.concat([...parts].map(bytesOf)));
      const type = `${options?.type ?? ""}`;
      this.#type = /[^\x20-\x7e]/.test(type) ? "" : type.toLowerCase();
      Object.defineProperty(this, "_bytes", { enumerable: false });
    }
    get size() {
      return this._bytes.length;
    }
    get type() {
      return this.#type;
    }
    async arrayBuffer() {
      return this._bytes.slice().buffer;
    }
    async bytes() {
      return this._bytes.slice();
    }
    async text() {
      return new TextDecoder().decode(this._bytes);
    }
    slice(start, end, type = "") {
      return new Blob([this._bytes.slice(start, end)], { type });
    }
    stream() {
      const bytes = this._bytes;
      return new ReadableStream({
        start(controller) {
          if (bytes.length) controller.enqueue(bytes.slice());
          controller.close();
        },
      });
    }
    get [Symbol.toStringTag]() {
      return "Blob";
    }
    [hooks.inspect.custom]() {
      return `${this[Symbol.toStringTag]} { size: ${this.size}, type: '${this.type}' }`;
    }
  }
  class File extends Blob {
    constructor(parts, name, options = {}) {
      if (arguments.length < 2) throw hooks.codedError(TypeError, "ERR_MISSING_ARGS", 'The "fileBits" and "fileName" arguments must be specified');
      super(parts, options);
      this.name = `${name}`;
      this.lastModified = Number(options.lastModified ?? Date.now());
    }
    get [Symbol.toStringTag]() {
      return "File";
    }
  }

  class FormData {
    #pairs = [];
    #value(value, filename) {
      if (!(value instanceof Blob)) return `${value}`.toWellFormed();
      return value instanceof File && filename === undefined ? value : new File([value], filename ?? "blob", { type: value.type });
    }
    append(name, value, filename) {
      this.#pairs.push([`${name}`, this.#value(value, filename)]);
    }
    set(name, value, filename) {
      const at = this.#pairs.findIndex(([key]) => key === `${name}`);
      const pair = [`${name}`, this.#value(value, filename)];
      if (at < 0) this.#pairs.push(pair);
      else this.#pairs = this.#pairs.filter(([key], i) => key !== `${name}` || i === at).with(at, pair);
    }
    delete(name) {
      this.#pairs = this.#pairs.filter(([key]) => key !== `${name}`);
    }
    get(name) {
      return this.#pairs.find(([key]) => key === `${name}`)?.[1] ?? null;
    }
    getAll(name) {
      return this.#pairs.filter(([key]) => key === `${name}`).map(([, value]) => value);
    }
    has(name) {
      return this.#pairs.some(([key]) => key === `${name}`);
    }
    forEach(f, self) {
      for (const [key, value] of this.#pairs) f.call(self, value, key, this);
    }
    *entries() {
      yield* this.#pairs.map(([key, value]) => [key, value]);
    }
    *keys() {
      for (const [key] of this.#pairs) yield key;
    }
    *values() {
      for (const [, value] of this.#pairs) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    get [Symbol.toStringTag]() {
      return "FormData";
    }
  }
  const encodeForm = (form) => {
    const boundary = `----formdata-${crypto.randomUUID()}`;
    const quote = (text) => text.replace(/\r?\n|\r/g, "%0D%0A").replaceAll('"', "%22");
    const parts = [];
    for (const [name, value] of form) {
      const file = value instanceof Blob ? `; filename="${quote(value.name)}"\r\nContent-Type: ${value.type || "application/octet-stream"}` : "";
      parts.push(`--${boundary}\r\nContent-Disposition: form-data; name="${quote(name)}"${file}\r\n\r\n`, value, "\r\n");
    }
    return [new Blob([...parts, `--${boundary}--\r\n`]), `multipart/form-data; boundary=${boundary}`];
  };

  const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
  class Headers {
    #map = new Map();
    constructor(init = undefined) {
      if (init === undefined) return;
      if (typeof init !== "object" || init === null) throw typeProblem("Headers constructor", init);
      const pairs = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init);
      for (const pair of pairs) {
        if (pair.length !== 2) throw new TypeError("Headers constructor: expected name/value pair to be length 2, found " + pair.length);
        this.append(...pair);
      }
    }
    #name(name) {
      if (!NAME.test(`${name}`)) throw new TypeError(`Headers.append: ${name} is an invalid header name.`);
      return `${name}`.toLowerCase();
    }
    #text(value) {
      const text = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
      if (/[\0\r\n]/.test(text)) throw new TypeError(`Headers.append: ${value} is an invalid header value.`);
      return text;
    }
    append(name, value) {
      const [key, text] = [this.#name(name), this.#text(value)];
      this.#map.set(key, [...(this.#map.get(key) ?? []), text]);
    }
    set(name, value) {
      this.#map.set(this.#name(name), [this.#text(value)]);
    }
    get(name) {
      const found = this.#map.get(this.#name(name));
      return found ? found.join(this.#name(name) === "cookie" ? "; " : ", ") : null;
    }
    getSetCookie() {
      return [...(this.#map.get("set-cookie") ?? [])];
    }
    has(name) {
      return this.#map.has(this.#name(name));
    }
    delete(name) {
      this.#map.delete(this.#name(name));
    }
    forEach(f, self) {
      for (const [name, value] of this) f.call(self, value, name, this);
    }
    *entries() {
      for (const name of [...this.#map.keys()].sort())
        if (name === "set-cookie") for (const cookie of this.getSetCookie()) yield [name, cookie];
        else yield [name, this.get(name)];
    }
    *keys() {
      for (const [name] of this) yield name;
    }
    *values() {
      for (const [, value] of this) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    get [Symbol.toStringTag]() {
      return "Headers";
    }
    [hooks.inspect.custom](depth, options, inspect) {
      return `Headers ${inspect(Object.fromEntries(this), options)}`;
    }
  }
  const typeProblem = (what, value) => new TypeError(`${what}: ${hooks.inspect(value)} cannot be converted`);

  // What a body is made of: a stream to read it once, and the kind it says it is.
  const extract = (body) => {
    if (body === null || body === undefined) return [null, undefined];
    if (body instanceof ReadableStream) return [body, undefined];
    if (body instanceof Blob) return [body.stream(), body.type || undefined];
    if (body instanceof FormData) {
      const [blob, type] = encodeForm(body);
      return [blob.stream(), type];
    }
    if (body instanceof URLSearchParams) return [new Blob([`${body}`]).stream(), "application/x-www-form-urlencoded;charset=UTF-8"];
    if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return [new Blob([body]).stream(), undefined];
    if (typeof body?.[Symbol.asyncIterator] === "function") return [ReadableStream.from(body), undefined];
    return [new Blob([`${body}`]).stream(), "text/plain;charset=UTF-8"];
  };
  class Body {
    #stream;
    #used = false;
    constructor(body, headers) {
      const [stream, type] = extract(body);
      this.#stream = stream;
      this.headers = headers;
      if (type && !headers.has("content-type")) headers.set("content-type", type);
    }
    get body() {
      return this.#stream;
    }
    get bodyUsed() {
      return this.#used;
    }
    async bytes() {
      if (this.#used || this.#stream?.locked) throw new TypeError("Body is unusable: Body has already been read");
      if (this.#stream === null) return new Uint8Array(0);
      this.#used = true;
      const chunks = [];
      for await (const chunk of this.#stream) chunks.push(typeof chunk === "string" ? native.encode(chunk) : hooks.viewBytes(chunk));
      return new Uint8Array(Buffer.concat(chunks));
    }
    async arrayBuffer() {
      return (await this.bytes()).buffer;
    }
    async text() {
      return new TextDecoder().decode(await this.bytes());
    }
    async json() {
      return JSON.parse(await this.text());
    }
    async blob() {
      return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" });
    }
    async formData() {
      const type = this.headers.get("content-type") ?? "";
      const form = new FormData();
      if (type.startsWith("application/x-www-form-urlencoded")) {
        for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
        return form;
      }
      const boundary = /boundary="?([^";]+)/i.exec(type)?.[1];
      if (!type.startsWith("multipart/form-data") || !boundary) throw new TypeError("the body is no form");
      const latin = hooks.encodingOf("latin1");
      for (const part of latin.decode(await this.bytes()).split(`--${boundary}`).slice(1, -1)) {
        const [, head, content] = /^\r\n([^]*?)\r\n\r\n([^]*)\r\n$/.exec(part) ?? [];
        if (head === undefined) throw new TypeError("the body is no form");
        const say = (name) => new RegExp(`[; ]${name}="([^"]*)"`).exec(head)?.[1]?.replaceAll("%22", '"');
        const bytes = latin.encode(content);
        const filename = say("filename");
        if (filename === undefined) form.append(native.decode(latin.encode(say("name")), false), native.decode(bytes, false));
        else form.append(say("name"), new File([bytes], filename, { type: /content-type: *(.*)/i.exec(head)?.[1] ?? "text/plain" }));
      }
      return form;
    }
    _tee() {
      if (this.#used) throw new TypeError("Response.clone: Body has already been consumed.");
      if (this.#stream === null) return null;
      const [one, two] = this.#stream.tee();
      this.#stream = one;
      return two;
    }
  }
  class Response extends Body {
    constructor(body = null, { status = 200, statusText = "", headers } = {}) {
      if (!(Number.isInteger(status) && status >= 200 && status <= 599))
        throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
      if (body !== null && body !== undefined && [204, 205, 304].includes(status))
        throw new TypeError(`Response constructor: Invalid response status code ${status}`);
      super(body, new Headers(headers));
      Object.assign(this, { status, statusText: `${statusText}`, type: "default", url: "", redirected: false });
    }
    get ok() {
      return this.status >= 200 && this.status <= 299;
    }
    clone() {
      return new Response(this._tee(), this);
    }
    static json(data, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(JSON.stringify(data), { ...init, headers });
    }
    static error() {
      const made = new Response(null);
      return Object.assign(made, { type: "error", status: 0 });
    }
    static redirect(url, status = 302) {
      if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
      return new Response(null, { status: status, headers: { location: new URL(url).href } });
    }
    get [Symbol.toStringTag]() {
      return "Response";
    }
  }
  class Request extends Body {
    constructor(input, init = {}) {
      const from = input instanceof Request ? input : undefined;
      const url = from ? from.url : new URL(`${input}`).href;
      const method = `${init.method ?? from?.method ?? "GET"}`;
      const named = /^(get|head|post|put|delete|options|patch)$/i.test(method) ? method.toUpperCase() : method;
      const body = init.body ?? (from && init.body === undefined ? from._tee() : null);
      if (body !== null && (named === "GET" || named === "HEAD")) throw new TypeError("Request with GET/HEAD method cannot have body.");
      super(body, new Headers(init.headers ?? from?.headers));
      const { redirect = "follow", mode = "cors", credentials = "same-origin", cache = "default", signal = new AbortController().signal } = init;
      Object.assign(this, { url, method: named, redirect, mode, credentials, cache, signal });
    }
    clone() {
      return new Request(this);
    }
    get [Symbol.toStringTag]() {
      return "Request";
    }
  }
  for (const [name, value] of Object.entries({ Blob, File, FormData, Headers, Request, Response })) hooks.define(name, value);
});
