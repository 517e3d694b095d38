// hashes.js: digests: createHash and createHmac of Node's crypto, and crypto.subtle.digest. Ciphers, keys and signatures there
// are none.
(function (native, hooks) {
  const BLOCK_BYTES = { md5: 64, sha1: 64, sha224: 64, sha256: 64, sha384: 128, sha512: 128 };
  const failure = (kind, message, code) => Object.assign(new kind(message), { code });
  const algorithmOf = (name) => {
    const plain = `${name}`.toLowerCase().replace(/^rsa-/, "").replace(/^sha-/, "sha");
    if (!Object.hasOwn(BLOCK_BYTES, plain)) throw failure(Error, "Digest method not supported", "ERR_CRYPTO_INVALID_DIGEST");
    return plain;
  };
  const digestOf = (algorithm, chunks) => new Uint8Array(native.digest(algorithm, chunks));

  // What both give: text and bytes are added, and the digest is taken once.
  class Digest {
    #algorithm;
    #chunks;
    #finish;
    #isTaken = false;
    constructor(algorithm, chunks, finish) {
      this.#algorithm = algorithm;
      this.#chunks = chunks;
      this.#finish = finish;
    }
    update(data, encoding) {
      if (this.#isTaken) throw failure(Error, "Digest already called", "ERR_CRYPTO_HASH_FINALIZED");
      this.#chunks.push(Uint8Array.from(hooks.asBytes(data, encoding))); // the program may write to its own bytes later
      return this;
    }
    digest(encoding) {
      if (this.#isTaken) throw failure(Error, "Digest already called", "ERR_CRYPTO_HASH_FINALIZED");
      this.#isTaken = true;
      const made = Buffer.from(this.#finish(digestOf(this.#algorithm, this.#chunks)));
      this.#chunks = [];
      return encoding === undefined || encoding === "buffer" ? made : made.toString(encoding);
    }
    copy() {
      if (this.#isTaken) throw failure(Error, "Digest already called", "ERR_CRYPTO_HASH_FINALIZED");
      return new this.constructor(this.#algorithm, [...this.#chunks], this.#finish);
    }
  }
  class Hash extends Digest {}
  class Hmac extends Digest {}

  const createHash = (name) => new Hash(algorithmOf(name), [], (digest) => digest);
  // RFC 2104.
  const createHmac = (name, key) => {
    const algorithm = algorithmOf(name);
    const block = new Uint8Array(BLOCK_BYTES[algorithm]);
    const given = hooks.asBytes(key);
    block.set(given.length > block.length ? digestOf(algorithm, [given]) : given);
    const padded = (byte) => block.map((b) => b ^ byte);
    return new Hmac(algorithm, [padded(0x36)], (inner) => digestOf(algorithm, [padded(0x5c), inner]));
  };
  hooks.hashes = {
    createHash,
    createHmac,
    getHashes: () => Object.keys(BLOCK_BYTES),
    hash: (name, data, encoding = "hex") => createHash(name).update(data).digest(encoding),
  };

  const WEB_NAMES = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];
  const subtle = {
    async digest(algorithm, data) {
      const name = `${algorithm?.name ?? algorithm}`.toUpperCase();
      if (!WEB_NAMES.includes(name)) throw hooks.domException("Unrecognized algorithm name", "NotSupportedError");
      return digestOf(algorithmOf(name), [hooks.viewBytes(data)]).buffer;
    },
  };
  Object.defineProperty(crypto, "subtle", { value: subtle, enumerable: true, configurable: true });
});
