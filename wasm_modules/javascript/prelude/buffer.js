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
      if (source instanceof ArrayBuffer || source instanceof SharedArrayBuffer) return Buffer.#over(source, encoding, length);
      if (source?.type === "Buffer" && Array.isArray(source.data)) return Buffer.#own(Uint8Array.from(source.data));
      if (typeof source === "object" && source !== null) {
        const value = source[Symbol.toPrimitive]?.("string") ?? source.valueOf?.();
        if (value !== source && value !== null && value !== undefined) return Buffer.from(value, encoding, length);
        if (source.length !== undefined || source[Symbol.iterator]) return Buffer.#own(Uint8Array.from(source));
      }
      throw wrongType("first argument", `of type string or an instance of ${BYTES_OF}`, source);
    }
    static #over(memory, at, length) {
      const from = Math.trunc(at) || 0;
      const rest = memory.byteLength - from;
      const outside = (name) => hooks.codedError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", `"${name}" is outside of buffer bounds`);
      if (rest < 0) throw outside("offset");
      const size = length === undefined ? rest : Math.max(0, Math.trunc(length) || 0);
      if (size > rest) throw outside("length");
      return new Buffer(memory, from, size);
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
      if (typeof value === "string") return (Buffer.isEncoding(encoding) ? encodingOf(encoding) : encodings.utf8).encode(value).length;
      if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return value.byteLength;
      throw wrongType("string", "of type string or an instance of Buffer or ArrayBuffer", value);
    }
    static concat(list, total) {
      if (!Array.isArray(list)) throw wrongType("list", "an instance of Array", list);
      list.forEach((each, i) => {
        if (!(each instanceof Uint8Array)) throw wrongType(`list[${i}]`, "an instance of Buffer or Uint8Array", each);
      });
      if (list.length === 0) return new Buffer(0);
      const size = total === undefined ? list.reduce((sum, b) => sum + b.length, 0) : hooks.checkInteger(total, "length", 0),
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
      const from = Math.max(0, Math.trunc(start) || 0),
        to = Math.min(Math.trunc(end) || 0, this.length);
      return to <= from ? "" : encodingOf(encoding).decode(this.subarray(from, to));
    }
    toJSON() {
      return { type: "Buffer", data: Array.from(this) };
    }
    equals(other) {
      if (!(other instanceof Uint8Array)) throw wrongType("otherBuffer", "an instance of Buffer or Uint8Array", other);
      return Buffer.compare(this, other) === 0;
    }
    compare(target, targetStart = 0, targetEnd = target?.length, sourceStart = 0, sourceEnd = this.length) {
      if (!(target instanceof Uint8Array)) throw wrongType("target", "an instance of Buffer or Uint8Array", target);
      hooks.checkInteger(targetStart, "targetStart", 0);
      hooks.checkInteger(targetEnd, "targetEnd", 0, target.length);
      hooks.checkInteger(sourceStart, "sourceStart", 0);
      hooks.checkInteger(sourceEnd, "sourceEnd", 0, this.length);
      const part = (bytes, from, to) => super.subarray.call(bytes, from, Math.max(from, to));
      return Buffer.compare(part(this, sourceStart, sourceEnd), part(target, targetStart, targetEnd));
    }
    slice(start, end) {
      return this.subarray(start, end);
    }
    subarray(start, end) {
      const view = super.subarray(start, end);
      return Object.setPrototypeOf(view, Buffer.prototype);
    }
    write(text, offset, length, encoding) {
      hooks.checkType(text, "argument", "string");
      if (typeof offset === "string") [offset, length, encoding] = [0, undefined, offset];
      else if (typeof length === "string") [length, encoding] = [undefined, length];
      const at = offset === undefined ? 0 : hooks.checkInteger(offset, "offset", 0, this.length);
      const rest = this.length - at;
      const room = Math.min(rest, length === undefined ? rest : hooks.checkInteger(length, "length", 0, this.length));
      const kind = encodingOf(encoding),
        bytes = kind.encode(text);
      let size = Math.min(bytes.length, room);
      // A character is written whole or not at all.
      if (kind === encodings.utf8) while (size < bytes.length && (bytes[size] & 0xc0) === 0x80) size--;
      if (kind === encodings.utf16le) size -= size % 2;
      this.set(super.subarray.call(bytes, 0, size), at);
      return size;
    }
    fill(value, offset, end, encoding) {
      if (typeof offset === "string") [offset, end, encoding] = [undefined, undefined, offset];
      else if (typeof end === "string") [end, encoding] = [undefined, end];
      if (typeof value === "string" && encoding !== undefined) encodingOf(hooks.checkString(encoding, "encoding"));
      const from = offset === undefined ? 0 : hooks.checkRange(offset, "offset", 0);
      const to = end === undefined || offset === undefined ? this.length : hooks.checkRange(end, "end", 0, this.length);
      if (from >= to) return this;
      if (typeof value !== "string" && !ArrayBuffer.isView(value)) return super.fill(value, from, to);
      const bytes = value === "" ? [0] : hooks.asBytes(value, encoding);
      if (bytes.length === 0) throw hooks.invalidValue("value", value);
      for (let i = from; i < to; i++) this[i] = bytes[(i - from) % bytes.length];
      return this;
    }
    indexOf(value, from, encoding) {
      return this.#search(value, from, encoding, 1);
    }
    lastIndexOf(value, from, encoding) {
      return this.#search(value, from, encoding, -1);
    }
    #search(value, from, encoding, step) {
      if (typeof from === "string") [from, encoding] = [undefined, from];
      let at = Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, +from));
      if (Number.isNaN(at)) at = step > 0 ? 0 : this.length;
      at = Math.trunc(at < 0 ? at + this.length : at);
      if (typeof value !== "number" && typeof value !== "string" && !(value instanceof Uint8Array))
        throw wrongType("value", "one of type number or string or an instance of Buffer or Uint8Array", value);
      const wanted = typeof value === "number" ? [value & 0xff] : hooks.asBytes(value, encoding);
      const unit = typeof value !== "number" && encodingOf(encoding) === encodings.utf16le ? 2 : 1;
      if (at < 0 && step < 0) return -1;
      if (wanted.length === 0) return Math.min(Math.max(at, 0), this.length);
      const last = this.length - wanted.length;
      for (at = step > 0 ? Math.max(at, 0) : Math.min(at, last); at >= 0 && at <= last; at += step)
        if (this[at] === wanted[0] && at % unit === 0 && wanted.every((byte, i) => this[at + i] === byte)) return at;
      return -1;
    }
    toLocaleString(encoding) {
      return this.toString(encoding);
    }
    includes(value, from, encoding) {
      return this.indexOf(value, from, encoding) >= 0;
    }
    copy(target, targetStart, sourceStart, sourceEnd) {
      if (!(this instanceof Uint8Array)) throw wrongType("source", "an instance of Buffer or Uint8Array", this);
      if (!(target instanceof Uint8Array)) throw wrongType("target", "an instance of Buffer or Uint8Array", target);
      const whole = (value, name, otherwise, high) => {
        const n = value === undefined ? otherwise : Math.trunc(+value) || 0;
        if (n < 0 || n > high) throw outOfRange(name, high === Infinity ? ">= 0" : `>= 0 && <= ${high}`, value);
        return n;
      };
      const at = whole(targetStart, "targetStart", 0, Infinity),
        start = whole(sourceStart, "sourceStart", 0, this.length),
        end = whole(sourceEnd, "sourceEnd", this.length, Infinity);
      if (at >= target.length || start >= end) return 0;
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
    [hooks.inspect.custom](depth, options) {
      const most = hooks.inspectMaxBytes,
        shown = Array.from(super.subarray(0, most), (b) => b.toString(16).padStart(2, "0")),
        left = this.length - most;
      let text = shown.join(" ") + (left > 0 ? ` ... ${left} more byte${left > 1 ? "s" : ""}` : "");
      const extra = Object.fromEntries(Object.entries(Object.getOwnPropertyDescriptors(this)).filter(([name, own]) => own.enumerable && !/^\d+$/.test(name)).map(([name]) => [name, this[name]]));
      if (options && Object.keys(extra).length)
        text += `${this.length ? ", " : ""}${hooks.inspect(extra, { ...options, breakLength: Infinity, compact: true }).slice(2, -2)}`;
      return `<${this.constructor.name} ${text}>`;
    }
  }
  hooks.inspectMaxBytes = 50;
  Object.defineProperty(Buffer.prototype, hooks.inspect.custom, { enumerable: false });

  const SIZE_MAX = 2 ** 32;
  const BYTES_OF = "Buffer, ArrayBuffer, or Array or an Array-like Object";
  const wrongType = (name, wanted, value) => hooks.invalidType(name, wanted, value);
  const { outOfRange } = hooks;
  const place = (buffer, at, size) => {
    hooks.checkType(at, "offset", "number");
    if (Math.floor(at) !== at) throw outOfRange("offset", "an integer", at);
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
  const bounds = (signed, size) => {
    const bits = BigInt(size * 8);
    return signed ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
  };
  // Whether a number fits, as Node says it: sizes over four bytes as powers of two.
  const checkFits = (value, signed, size, n = "") => {
    const [low, high] = bounds(signed, size);
    if (value >= low && value <= high) return;
    if (Number.isNaN(+`${value}`)) return;
    const power = `2${n} ** ${size * 8 - signed}${n}`;
    const range = size <= 4 ? `>= ${low}${n} and <= ${high}${n}` : `>= ${signed ? `-(${power})` : `0${n}`} and < ${power}`;
    throw outOfRange("value", range, value);
  };
  for (const [name, size] of Object.entries(NUMBERS))
    for (const order of size > 1 ? ["LE", "BE"] : [""]) {
      const viewed = VIEWED[name] ?? name.replace("UInt", "Uint"),
        isBig = name.startsWith("Big");
      add(`read${name}${order}`, function (at = 0) {
        return place(this, at, size)[`get${viewed}`](0, order === "LE");
      });
      add(`write${name}${order}`, function (value, at = 0) {
        if (!(name in VIEWED)) checkFits(value, !name.includes("U"), size, isBig ? "n" : "");
        place(this, at, size)[`set${viewed}`](0, value, order === "LE");
        return at + size;
      });
    }
  // Whole numbers of one to six bytes.
  for (const signed of [true, false])
    for (const order of ["LE", "BE"]) {
      const name = signed ? "Int" : "UInt";
      const bytesOf = (buffer, at, size) => {
        hooks.checkType(size, "byteLength", "number");
        if (Math.floor(size) !== size) throw outOfRange("byteLength", "an integer", size);
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
        checkFits(value, signed, size);
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
  // As in Node, where they were assigned: old packages copy them with `for in`.
  for (const [owner, hidden] of [
    [OldBuffer, ["length", "name", "prototype"]],
    [Buffer.prototype, ["constructor"]],
  ])
    for (const name of Object.getOwnPropertyNames(owner)) if (!hidden.includes(name)) Object.defineProperty(owner, name, { enumerable: true });
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
