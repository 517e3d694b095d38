// keys.js: keys that are derived from passwords: pbkdf2, scrypt and hkdf of the module `crypto`.
(function (native, hooks) {
  const { createHmac, createHash } = hooks.hashes;
  const bytesOf = (value, name) => {
    if (typeof value === "string" || value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return hooks.asBytes(value);
    throw hooks.invalidType(name, "of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView", value);
  };
  const pbkdf2Sync = (password, salt, iterations, length, digest) => {
    hooks.checkString(digest, "digest");
    const [key, seed] = [bytesOf(password, "password"), bytesOf(salt, "salt")];
    hooks.checkInteger(iterations, "iterations", 1, 2 ** 31 - 1);
    hooks.checkInteger(length, "keylen", 0, 2 ** 31 - 1);
    const [inner, outer] = hooks.hmacStates(digest, key);
    const blocks = [];
    for (let index = 1, made = 0; made < length; index++) {
      const number = new Uint8Array([index >>> 24, index >>> 16, index >>> 8, index]);
      const first = createHmac(digest, key).update(seed).update(number).digest();
      blocks.push(native.iterateHmac(inner, outer, first, iterations));
      made += first.length;
    }
    return Buffer.concat(blocks).subarray(0, length);
  };

  const scryptSync = (password, salt, length, options = {}) => {
    const [key, seed] = [bytesOf(password, "password"), bytesOf(salt, "salt")];
    hooks.checkInteger(length, "keylen", 0, 2 ** 31 - 1);
    const cost = options.N ?? options.cost ?? 16384,
      r = options.r ?? options.blockSize ?? 8,
      p = options.p ?? options.parallelization ?? 1,
      most = options.maxmem ?? 32 << 20;
    if (cost < 2 || (cost & (cost - 1)) !== 0) throw hooks.codedError(RangeError, "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params");
    if (128 * cost * r > most) throw hooks.codedError(RangeError, "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params: memory limit exceeded");
    const bytes = Uint8Array.from(pbkdf2Sync(key, seed, 1, p * 128 * r, "sha256"));
    for (let i = 0; i < p; i++) native.mixScrypt(bytes.subarray(i * 128 * r, (i + 1) * 128 * r), cost, r);
    return pbkdf2Sync(key, bytes, 1, length, "sha256");
  };
  const hkdfSync = (digest, ikm, salt, info, length) => {
    const size = createHash(digest).digest().length;
    const given = bytesOf(salt, "salt");
    const key = createHmac(digest, given.length ? given : new Uint8Array(size)).update(bytesOf(ikm, "ikm")).digest();
    const blocks = [];
    let last = new Uint8Array(0);
    for (let i = 1; blocks.length * size < length; i++) {
      last = createHmac(digest, key).update(last).update(bytesOf(info, "info")).update(Uint8Array.of(i)).digest();
      blocks.push(last);
    }
    return Uint8Array.from(Buffer.concat(blocks).subarray(0, length)).buffer;
  };
  const later = (method) => (...args) => {
    const callback = hooks.checkFunction(args.pop(), "callback");
    const made = method(...args);
    setImmediate(callback, null, made);
  };
  hooks.keys = { pbkdf2Sync, scryptSync, hkdfSync, pbkdf2: later(pbkdf2Sync), scrypt: later(scryptSync), hkdf: later(hkdfSync) };
});
