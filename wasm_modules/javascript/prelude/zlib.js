// zlib.js: the module `zlib` over RFC 1950, 1951 and 1952. What comes through a stream is compressed when it has ended. Brotli
// and Zstandard there are none.
(function (native, hooks) {
  const { Transform } = hooks.stream.stream;
  const constants = {
    ...{ Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5 },
    ...{ Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5 },
    ...{ Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, Z_DEFAULT_LEVEL: -1 },
    ...{ Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0, Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15 },
    ...{ Z_DEFAULT_WINDOWBITS: 15, Z_MIN_MEMLEVEL: 1, Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8, Z_MIN_CHUNK: 64, Z_DEFAULT_CHUNK: 16384 },
  };
  const broken = (message, code = "Z_DATA_ERROR") =>
    Object.assign(new Error(message), { errno: constants[code], code });
  const bytesOf = (data) => {
    if (typeof data === "string") return native.encode(data);
    if (data instanceof ArrayBuffer || ArrayBuffer.isView(data)) return hooks.viewBytes(data);
    throw hooks.invalidType("buffer", "of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer", data);
  };
  const adler32 = (bytes) => {
    let a = 1,
      b = 0;
    for (const byte of bytes) {
      a = (a + byte) % 65521;
      b = (b + a) % 65521;
    }
    return ((b << 16) | a) >>> 0;
  };
  const number = (value, size, order) => {
    const view = new DataView(new ArrayBuffer(size));
    view.setUint32(0, value >>> 0, order === "LE");
    return new Uint8Array(view.buffer);
  };
  const joined = (...parts) => Buffer.concat(parts);

  const levelOf = ({ level } = {}) => {
    if (level === undefined || level === -1) return 6;
    if (typeof level !== "number") throw hooks.invalidType("options.level", "of type number", level);
    if (!(level >= -1 && level <= 9)) throw hooks.outOfRange("options.level", ">= -1 and <= 9", level);
    return level;
  };
  const stored = (bytes) => {
    const parts = [];
    for (let at = 0; at === 0 || at < bytes.length; at += 65535) {
      const part = bytes.subarray(at, at + 65535),
        isLast = at + 65535 >= bytes.length;
      parts.push(Uint8Array.of(+isLast, part.length & 255, part.length >> 8, ~part.length & 255, (~part.length >> 8) & 255), part);
    }
    return joined(...parts);
  };
  const squeeze = (bytes, options) => (levelOf(options) === 0 ? stored(bytes) : native.deflate(bytes, levelOf(options)));
  const unsqueeze = (bytes, options) => {
    const found = native.inflate(bytes);
    if (found === null) throw bytes.length < 2 || looksCut(bytes) ? broken("unexpected end of file", "Z_BUF_ERROR") : broken("invalid stored block lengths");
    if (options?.maxOutputLength < found[0].length)
      throw hooks.codedError(RangeError, "ERR_BUFFER_TOO_LARGE", `Cannot create a Buffer larger than ${options.maxOutputLength} bytes`);
    return found;
  };
  // Data that ends too early would be read on if it were followed by more.
  const looksCut = (bytes) => native.inflate(joined(bytes, new Uint8Array(64))) !== null || bytes.length < 4;

  const formats = {
    deflateRaw: (bytes, options) => Buffer.from(squeeze(bytes, options).buffer),
    deflate: (bytes, options) => joined(Uint8Array.of(0x78, [0x01, 0x5e, 0x9c, 0xda][levelOf(options) < 2 ? 0 : levelOf(options) < 6 ? 1 : levelOf(options) === 6 ? 2 : 3]), squeeze(bytes, options), number(adler32(bytes), 4, "BE")),
    gzip: (bytes, options) =>
      joined(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, levelOf(options) === 9 ? 2 : 0, 3), squeeze(bytes, options), number(native.crc32(bytes, 0), 4, "LE"), number(bytes.length, 4, "LE")),
    inflateRaw: (bytes, options) => Buffer.from(unsqueeze(bytes, options)[0].buffer),
    inflate: (bytes, options) => {
      if (bytes.length < 2) throw broken("unexpected end of file", "Z_BUF_ERROR");
      if ((bytes[0] & 15) !== 8 || (bytes[0] * 256 + bytes[1]) % 31) throw broken("incorrect header check");
      const [made, used] = unsqueeze(bytes.subarray(2), options);
      const check = bytes.subarray(2 + used, 6 + used);
      if (check.length < 4) throw broken("unexpected end of file", "Z_BUF_ERROR");
      if (Buffer.compare(check, number(adler32(made), 4, "BE"))) throw broken("incorrect data check");
      return Buffer.from(made.buffer);
    },
    gunzip: (bytes, options) => {
      const members = [];
      let rest = bytes;
      do {
        const start = headerEnd(rest);
        const [made, used] = unsqueeze(rest.subarray(start), options);
        const tail = rest.subarray(start + used, start + used + 8);
        if (tail.length < 8) throw broken("unexpected end of file", "Z_BUF_ERROR");
        if (Buffer.compare(tail.subarray(0, 4), number(native.crc32(made, 0), 4, "LE"))) throw broken("incorrect data check");
        if (Buffer.compare(tail.subarray(4), number(made.length, 4, "LE"))) throw broken("incorrect length check");
        members.push(made);
        rest = rest.subarray(start + used + 8);
      } while (rest.length > 1 && rest[0] === 0x1f && rest[1] === 0x8b);
      return joined(...members);
    },
    unzip: (bytes, options) => (bytes[0] === 0x1f ? formats.gunzip(bytes, options) : formats.inflate(bytes, options)),
  };
  const headerEnd = (bytes) => {
    if (bytes.length < 2) throw broken("unexpected end of file", "Z_BUF_ERROR");
    if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) throw broken("incorrect header check");
    if (bytes.length < 18) throw broken("unexpected end of file", "Z_BUF_ERROR");
    if (bytes[2] !== 8) throw broken("unknown compression method");
    const flags = bytes[3];
    let at = 10;
    if (flags & 4) at += 2 + bytes[at] + bytes[at + 1] * 256;
    for (const bit of [8, 16]) if (flags & bit) at = bytes.indexOf(0, at) + 1;
    return flags & 2 ? at + 2 : at;
  };

  class Zlib extends Transform {
    #chunks = [];
    #convert;
    #options;
    bytesWritten = 0;
    constructor(convert, options = {}) {
      super(options);
      levelOf(options);
      this.#convert = convert;
      this.#options = options;
    }
    _transform(chunk, encoding, done) {
      this.#chunks.push(chunk);
      this.bytesWritten += chunk.length;
      done();
    }
    _flush(done) {
      let made;
      try {
        const all = joined(...this.#chunks);
        made = all.length === 0 && /unzip|inflate/i.test(this.constructor.name) ? all : this.#convert(all, this.#options);
      } catch (error) {
        return done(error);
      }
      const size = this.#options.chunkSize ?? constants.Z_DEFAULT_CHUNK;
      for (let at = 0; at < made.length; at += size) this.push(made.subarray(at, at + size));
      done();
    }
    flush(kind, done) {
      const callback = typeof kind === "function" ? kind : done;
      if (callback) hooks.nextTick(callback);
    }
    close(done) {
      if (done) this.once("close", done);
      this.destroy();
    }
    params(level, strategy, done) {
      this.#options = { ...this.#options, level };
      hooks.nextTick(done);
    }
    reset() {
      this.#chunks = [];
    }
  }

  const zlib = { constants, codes: {}, crc32: (data, before = 0) => native.crc32(bytesOf(data), hooks.checkInteger(before, "value", 0, 2 ** 32 - 1)) };
  for (const [name, value] of Object.entries(constants)) if (value <= 2 && /^Z_(OK|STREAM_END|NEED_DICT|.*ERR.*)$/.test(name)) zlib.codes[name] = value;
  const named = { deflateRaw: "DeflateRaw", inflateRaw: "InflateRaw", deflate: "Deflate", inflate: "Inflate", gzip: "Gzip", gunzip: "Gunzip", unzip: "Unzip" };
  for (const [name, convert] of Object.entries(formats)) {
    zlib[`${name}Sync`] = (data, options) => convert(bytesOf(data), options);
    zlib[name] = (data, options, callback) => {
      if (typeof options === "function") [options, callback] = [{}, options];
      hooks.checkFunction(callback, "callback");
      const bytes = bytesOf(data);
      setImmediate(() => {
        let made;
        try {
          made = convert(bytes, options);
        } catch (error) {
          return callback(error);
        }
        callback(null, made);
      });
    };
    const Kind = { [named[name]]: class extends Zlib {
      constructor(options) {
        super(convert, options);
      }
    } }[named[name]];
    zlib[named[name]] = function (options) {
      return Reflect.construct(Kind, [options], new.target ?? Kind); // without `new` too, and as what another class extends
    };
    zlib[named[name]].prototype = Kind.prototype;
    zlib[`create${named[name]}`] = (options) => new Kind(options);
  }
  Object.assign(zlib, Object.fromEntries(Object.entries(constants).filter(([name]) => name.startsWith("Z_"))));
  hooks.zlib = zlib;
});
