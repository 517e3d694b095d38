// buffer.js: Node's Buffer, as far as scripts use it to turn bytes into text and back.
(function (native, hooks) {
  const latin1 = (bytes) => {
    let text = "";
    for (let i = 0; i < bytes.length; i += 4096) text += String.fromCharCode.apply(null, bytes.subarray(i, i + 4096));
    return text;
  };

  const fromBase64 = (text) => {
    const clean = text
      .replaceAll("-", "+")
      .replaceAll("_", "/")
      .replace(/[^A-Za-z0-9+/]/g, "");
    const binary = atob(clean.length % 4 === 1 ? clean.slice(0, -1) : clean);
    return Uint8Array.from(binary, (c) => c.charCodeAt(0));
  };

  const encodings = {
    utf8: { encode: (text) => native.encode(text), decode: (bytes) => native.decode(bytes, false) },
    hex: {
      encode: (text) => Uint8Array.from(/^(?:[0-9a-fA-F]{2})*/.exec(text)[0].match(/../g) ?? [], (pair) => parseInt(pair, 16)),
      decode: (bytes) => hooks.hex(bytes),
    },
    base64: { encode: fromBase64, decode: (bytes) => btoa(latin1(bytes)) },
    base64url: {
      encode: fromBase64,
      decode: (bytes) => btoa(latin1(bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""),
    },
    latin1: { encode: (text) => Uint8Array.from(text, (c) => c.charCodeAt(0) & 0xff), decode: latin1 },
    ascii: {
      encode: (text) => Uint8Array.from(text, (c) => c.charCodeAt(0) & 0xff),
      decode: (bytes) => latin1(bytes.map((b) => b & 0x7f)),
    },
    utf16le: {
      encode: (text) => new Uint8Array(Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)).buffer),
      decode: (bytes) => new TextDecoder("utf-16le", { ignoreBOM: true }).decode(bytes),
    },
  };
  const aliases = { "utf-8": "utf8", binary: "latin1", ucs2: "utf16le", "ucs-2": "utf16le", "utf-16le": "utf16le" };

  const encodingOf = (name) => {
    const lower = `${name ?? "utf8"}`.toLowerCase();
    const found = encodings[aliases[lower] ?? lower];
    if (!found) throw Object.assign(new TypeError(`Unknown encoding: ${name}`), { code: "ERR_UNKNOWN_ENCODING" });
    return found;
  };

  class Buffer extends Uint8Array {
    static from(source, encoding, length) {
      if (typeof source === "string") return Buffer.#own(encodingOf(encoding).encode(source));
      if (source instanceof ArrayBuffer) return new Buffer(source, encoding, length);
      if (source?.type === "Buffer" && Array.isArray(source.data)) return Buffer.#own(Uint8Array.from(source.data));
      return Buffer.#own(Uint8Array.from(source));
    }
    static #own(bytes) {
      return new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    static alloc(size, fill, encoding) {
      const made = new Buffer(size);
      if (fill !== undefined) made.fill(fill, encoding);
      return made;
    }
    static allocUnsafe(size) {
      return new Buffer(size);
    }
    static isBuffer(value) {
      return value instanceof Buffer;
    }
    static isEncoding(name) {
      try {
        return !!encodingOf(name);
      } catch {
        return false;
      }
    }
    static byteLength(value, encoding) {
      return typeof value === "string" ? encodingOf(encoding).encode(value).length : value.byteLength;
    }
    static concat(list, total) {
      const size = total ?? list.reduce((sum, b) => sum + b.length, 0),
        made = new Buffer(size);
      let at = 0;
      for (const b of list) {
        if (at >= size) break;
        made.set(b.subarray(0, size - at), at);
        at += b.length;
      }
      return made;
    }
    static compare(a, b) {
      for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
      return Math.sign(a.length - b.length);
    }
    toString(encoding, start = 0, end = this.length) {
      return encodingOf(encoding).decode(this.subarray(start, end));
    }
    toJSON() {
      return { type: "Buffer", data: Array.from(this) };
    }
    equals(other) {
      return Buffer.compare(this, other) === 0;
    }
    compare(other) {
      return Buffer.compare(this, other);
    }
    slice(start, end) {
      return this.subarray(start, end);
    }
    subarray(start, end) {
      const view = super.subarray(start, end);
      return Object.setPrototypeOf(view, Buffer.prototype);
    }
    write(text, offset = 0, length, encoding) {
      const bytes = encodingOf(typeof length === "string" ? length : encoding)
        .encode(text)
        .subarray(0, this.length - offset);
      this.set(bytes, offset);
      return bytes.length;
    }
    fill(value, offset, end, encoding) {
      if (typeof value !== "string") return super.fill(value, typeof offset === "string" ? 0 : offset, end);
      const bytes = encodingOf(typeof offset === "string" ? offset : encoding).encode(value);
      for (let i = 0; i < this.length && bytes.length; i++) this[i] = bytes[i % bytes.length];
      return this;
    }
    indexOf(value, from = 0) {
      if (typeof value === "number") return super.indexOf(value, from);
      const needle = typeof value === "string" ? native.encode(value) : value;
      for (let i = from; i + needle.length <= this.length; i++) if (needle.every((b, j) => this[i + j] === b)) return i;
      return -1;
    }
    includes(value, from) {
      return this.indexOf(value, from) >= 0;
    }
    copy(target, at = 0, start = 0, end = this.length) {
      const part = super.subarray(start, Math.min(end, start + target.length - at));
      target.set(part, at);
      return part.length;
    }
    readUInt8(at = 0) {
      return this[at];
    }
    readUInt16LE(at = 0) {
      return this.#view().getUint16(at, true);
    }
    readUInt16BE(at = 0) {
      return this.#view().getUint16(at);
    }
    readUInt32LE(at = 0) {
      return this.#view().getUint32(at, true);
    }
    readUInt32BE(at = 0) {
      return this.#view().getUint32(at);
    }
    readInt32LE(at = 0) {
      return this.#view().getInt32(at, true);
    }
    readInt32BE(at = 0) {
      return this.#view().getInt32(at);
    }
    readDoubleLE(at = 0) {
      return this.#view().getFloat64(at, true);
    }
    writeUInt8(value, at = 0) {
      this[at] = value;
      return at + 1;
    }
    writeUInt16LE(value, at = 0) {
      this.#view().setUint16(at, value, true);
      return at + 2;
    }
    writeUInt16BE(value, at = 0) {
      this.#view().setUint16(at, value);
      return at + 2;
    }
    writeUInt32LE(value, at = 0) {
      this.#view().setUint32(at, value, true);
      return at + 4;
    }
    writeUInt32BE(value, at = 0) {
      this.#view().setUint32(at, value);
      return at + 4;
    }
    writeInt32LE(value, at = 0) {
      this.#view().setInt32(at, value, true);
      return at + 4;
    }
    writeDoubleLE(value, at = 0) {
      this.#view().setFloat64(at, value, true);
      return at + 8;
    }
    #view() {
      return new DataView(this.buffer, this.byteOffset, this.byteLength);
    }
    [hooks.inspect.custom]() {
      const shown = Array.from(super.subarray(0, 50), (b) => b.toString(16).padStart(2, "0")).join(" ");
      return `<Buffer${shown && " "}${shown}${this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? "s" : ""}` : ""}>`;
    }
  }
  Object.defineProperty(Buffer.prototype, hooks.inspect.custom, { enumerable: false });

  hooks.encodingOf = encodingOf;
  hooks.asBytes = (data, encoding) => {
    if (typeof data === "string") return encodingOf(encoding).encode(data);
    if (data instanceof ArrayBuffer || ArrayBuffer.isView(data)) return hooks.viewBytes(data);
    throw Object.assign(
      new TypeError(
        `The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${hooks.inspect(data)}`,
      ),
      { code: "ERR_INVALID_ARG_TYPE" },
    );
  };
  hooks.define("Buffer", Buffer);
});
