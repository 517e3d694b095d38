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
      if (typeof source === "object" && source !== null) {
        const value = source[Symbol.toPrimitive]?.("string") ?? source.valueOf?.();
        if (value !== source && value !== null && value !== undefined) return Buffer.from(value, encoding, length);
        if (source.length !== undefined || source[Symbol.iterator]) return Buffer.#own(Uint8Array.from(source));
      }
      throw wrongType("first argument", `of type string or an instance of ${BYTES_OF}`, source);
    }
    static #own(bytes) {
      return new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    static alloc(size, fill, encoding) {
      const made = Buffer.allocUnsafe(size);
      if (fill !== undefined) made.fill(fill, encoding);
      return made;
    }
    static allocUnsafe(size) {
      if (typeof size !== "number") throw wrongType("size", "of type number", size);
      if (!(size >= 0 && size <= SIZE_MAX)) throw outOfRange("size", `>= 0 && <= ${SIZE_MAX}`, size);
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
      if (!Array.isArray(list)) throw wrongType("list", "an instance of Array", list);
      list.forEach((each, i) => {
        if (!(each instanceof Uint8Array)) throw wrongType(`list[${i}]`, "an instance of Buffer or Uint8Array", each);
      });
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
      if (!(a instanceof Uint8Array)) throw wrongType("buf1", "an instance of Buffer or Uint8Array", a);
      if (!(b instanceof Uint8Array)) throw wrongType("buf2", "an instance of Buffer or Uint8Array", b);
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
      if (!(other instanceof Uint8Array)) throw wrongType("otherBuffer", "an instance of Buffer or Uint8Array", other);
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
      if (typeof offset === "string") [offset, end, encoding] = [0, this.length, offset];
      else if (typeof end === "string") [end, encoding] = [this.length, end];
      if (typeof value !== "string" && !ArrayBuffer.isView(value)) return super.fill(value, offset, end);
      const bytes = typeof value === "string" ? encodingOf(encoding).encode(value) : value;
      const from = offset ?? 0;
      for (let i = from; i < Math.min(end ?? this.length, this.length) && bytes.length; i++) this[i] = bytes[(i - from) % bytes.length];
      return this;
    }
    indexOf(value, from = 0) {
      if (typeof value === "number") return super.indexOf(value, from);
      const needle = typeof value === "string" ? native.encode(value) : value;
      for (let i = from; i + needle.length <= this.length; i++) if (needle.every((b, j) => this[i + j] === b)) return i;
      return -1;
    }
    lastIndexOf(value, from = this.length, encoding) {
      if (typeof value === "number") return super.lastIndexOf(value & 0xff, Math.min(from, this.length - 1));
      const wanted = hooks.asBytes(value, encoding);
      for (let at = Math.min(from, this.length - wanted.length); at >= 0; at--)
        if (wanted.every((byte, i) => this[at + i] === byte)) return at;
      return -1;
    }
    toLocaleString(encoding) {
      return this.toString(encoding);
    }
    includes(value, from) {
      return this.indexOf(value, from) >= 0;
    }
    copy(target, at = 0, start = 0, end = this.length) {
      const part = super.subarray(start, Math.min(end, start + target.length - at));
      target.set(part, at);
      return part.length;
    }
    swap16() {
      return this.#swap(2);
    }
    swap32() {
      return this.#swap(4);
    }
    swap64() {
      return this.#swap(8);
    }
    #swap(size) {
      if (this.length % size)
        throw Object.assign(new RangeError(`Buffer size must be a multiple of ${size * 8}-bits`), {
          code: "ERR_INVALID_BUFFER_SIZE",
        });
      for (let at = 0; at < this.length; at += size) super.subarray(at, at + size).reverse();
      return this;
    }
    [hooks.inspect.custom]() {
      const shown = Array.from(super.subarray(0, 50), (b) => b.toString(16).padStart(2, "0")).join(" ");
      return `<Buffer ${shown}${this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? "s" : ""}` : ""}>`;
    }
  }
  Object.defineProperty(Buffer.prototype, hooks.inspect.custom, { enumerable: false });

  const SIZE_MAX = 2 ** 32;
  const BYTES_OF = "Buffer, ArrayBuffer, or Array or an Array-like Object";
  const wrongType = (name, wanted, value) => hooks.invalidType(name, wanted, value);
  const { outOfRange } = hooks;
  const place = (buffer, at, size) => {
    hooks.checkType(at, "offset", "number");
    if (!Number.isInteger(at)) throw outOfRange("offset", "an integer", at);
    if (buffer.length < size) throw hooks.codedError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
    if (at < 0 || at + size > buffer.length) throw outOfRange("offset", `>= 0 and <= ${buffer.length - size}`, at);
    return new DataView(buffer.buffer, buffer.byteOffset + at, size);
  };
  const add = (name, method) => {
    for (const alias of new Set([name, name.replace("UInt", "Uint")]))
      Object.defineProperty(Buffer.prototype, alias, { value: method, writable: true, configurable: true });
  };
  // Numbers at a place in a buffer: readInt16LE, writeDoubleBE, ….
  const NUMBERS = { Int8: 1, UInt8: 1, Int16: 2, UInt16: 2, Int32: 4, UInt32: 4, BigInt64: 8, BigUInt64: 8, Float: 4, Double: 8 };
  const VIEWED = { Float: "Float32", Double: "Float64" };
  const bounds = (name, size) => {
    if (name in VIEWED) return undefined;
    const [signed, bits] = [!name.includes("U"), BigInt(size * 8)];
    const [low, high] = signed ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
    return name.startsWith("Big") ? [low, high] : [Number(low), Number(high)];
  };
  for (const [name, size] of Object.entries(NUMBERS))
    for (const order of size > 1 ? ["LE", "BE"] : [""]) {
      const viewed = VIEWED[name] ?? name.replace("UInt", "Uint"),
        limits = bounds(name, size);
      add(`read${name}${order}`, function (at = 0) {
        return place(this, at, size)[`get${viewed}`](0, order === "LE");
      });
      add(`write${name}${order}`, function (value, at = 0) {
        if (limits && !(value >= limits[0] && value <= limits[1]))
          throw outOfRange("value", `>= ${limits[0]} and <= ${limits[1]}`, value);
        place(this, at, size)[`set${viewed}`](0, value, order === "LE");
        return at + size;
      });
    }
  // Whole numbers of one to six bytes.
  for (const signed of [true, false])
    for (const order of ["LE", "BE"]) {
      const name = signed ? "Int" : "UInt";
      const bytesOf = (buffer, at, size) => {
        if (!(size >= 1 && size <= 6)) throw outOfRange("byteLength", ">= 1 and <= 6", size);
        const { byteOffset } = place(buffer, at, size);
        const bytes = new Uint8Array(buffer.buffer, byteOffset, size);
        return { bytes, indexes: order === "LE" ? [...bytes.keys()].reverse() : [...bytes.keys()] };
      };
      add(`read${name}${order}`, function (at, size) {
        const { bytes, indexes } = bytesOf(this, at, size);
        const value = indexes.reduce((sum, i) => sum * 256 + bytes[i], 0);
        return signed && value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
      });
      add(`write${name}${order}`, function (value, at, size) {
        const { bytes, indexes } = bytesOf(this, at, size);
        const [low, high] = signed ? [-(2 ** (8 * size - 1)), 2 ** (8 * size - 1) - 1] : [0, 2 ** (8 * size) - 1];
        if (!(value >= low && value <= high)) throw outOfRange("value", `>= ${low} and <= ${high}`, value);
        let left = value < 0 ? value + 2 ** (8 * size) : value;
        for (const i of indexes.reverse()) {
          bytes[i] = left % 256;
          left = Math.floor(left / 256);
        }
        return at + size;
      });
    }

  hooks.encodingOf = encodingOf;
  hooks.asBytes = (data, encoding) => {
    if (typeof data === "string") return encodingOf(encoding).encode(data);
    if (data instanceof ArrayBuffer || ArrayBuffer.isView(data)) return hooks.viewBytes(data);
    throw wrongType("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
  };
  // Old code calls it without `new`, and gives it numbers and texts.
  function OldBuffer(value, encoding, length) {
    if (typeof value === "number" && typeof encoding === "string") throw hooks.invalidType("string", "of type string", value);
    return typeof value === "number" ? Buffer.alloc(value) : Buffer.from(value, encoding, length);
  }
  Object.setPrototypeOf(OldBuffer, Uint8Array);
  for (const name of Reflect.ownKeys(Buffer))
    if (name !== "length" && name !== "name") Object.defineProperty(OldBuffer, name, Object.getOwnPropertyDescriptor(Buffer, name));
  Object.defineProperty(OldBuffer, "name", { value: "Buffer" });
  Object.defineProperty(OldBuffer, Symbol.species, { get: () => Buffer });
  Object.assign(OldBuffer, { poolSize: 8192, allocUnsafeSlow: Buffer.allocUnsafe, of: (...bytes) => Buffer.from(bytes) });
  Object.defineProperty(Buffer.prototype, "constructor", { value: OldBuffer, writable: true, configurable: true });
  Object.defineProperty(Buffer, Symbol.hasInstance, { value: (object) => Buffer.prototype.isPrototypeOf(object) });
  for (const name of ["parent", "offset"])
    Object.defineProperty(Buffer.prototype, name, {
      get() {
        return this instanceof Buffer ? (name === "parent" ? this.buffer : this.byteOffset) : undefined;
      },
      configurable: true,
    });
  hooks.define("Buffer", OldBuffer);
});
