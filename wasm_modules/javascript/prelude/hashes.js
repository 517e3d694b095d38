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
  const digestOf = (algorithm, ...chunks) => {
    const state = native.startDigest(algorithm);
    for (const bytes of chunks) native.addToDigest(state, bytes);
    return new Uint8Array(native.finishDigest(state));
  };
  const finalized = () => failure(Error, "Digest already called", "ERR_CRYPTO_HASH_FINALIZED");

  const OURS = Symbol("ours"); // a state that a program made would be read past its end

  // What both give: text and bytes are added, and the digest is taken once.
  class Digest {
    #state;
    #finish;
    constructor(key, state, finish) {
      if (key !== OURS) throw new TypeError("Illegal constructor");
      this.#state = state;
      this.#finish = finish;
    }
    update(data, encoding) {
      if (!this.#state) throw finalized();
      native.addToDigest(this.#state, hooks.asBytes(data, encoding));
      return this;
    }
    digest(encoding) {
      if (!this.#state) throw finalized();
      const made = Buffer.from(this.#finish(native.finishDigest(this.#state)));
      this.#state = undefined;
      return encoding === undefined || encoding === "buffer" ? made : made.toString(encoding);
    }
    copy() {
      if (!this.#state) throw finalized();
      if (this instanceof Hmac) throw new TypeError("hmac.copy is not a function");
      return new Hash(OURS, native.copyDigest(this.#state), this.#finish);
    }
  }
  class Hash extends Digest {}
  class Hmac extends Digest {}

  // Secret keys alone: there are no others here.
  class KeyObject {
    #bytes;
    type = "secret";
    constructor(mark, bytes) {
      if (mark !== OURS) throw hooks.invalidType("type", "one of 'secret', 'public', or 'private'", mark);
      this.#bytes = bytes;
      Object.defineProperty(this, "type", { enumerable: false });
    }
    get symmetricKeySize() {
      return this.#bytes.length;
    }
    export({ format = "buffer" } = {}) {
      const made = Buffer.from(this.#bytes);
      return format === "jwk" ? { kty: "oct", k: made.toString("base64url") } : made;
    }
    equals(other) {
      return other instanceof KeyObject && Buffer.compare(this.export(), other.export()) === 0;
    }
    get [Symbol.toStringTag]() {
      return "KeyObject";
    }
  }
  const createSecretKey = (key, encoding) => new KeyObject(OURS, Uint8Array.from(hooks.asBytes(key, encoding)));
  const withoutKeys = () => {
    throw failure(Error, "keys of ciphers and signatures are not available in this sandbox; there are createSecretKey and createHmac", "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM");
  };
  const createHash = (name) => new Hash(OURS, native.startDigest(algorithmOf(name)), (digest) => digest);
  // RFC 2104.
  const createHmac = (name, key) => {
    const algorithm = algorithmOf(name);
    const [inner, outer] = hooks.hmacStates(algorithm, hooks.asBytes(key instanceof KeyObject ? key.export() : key));
    return new Hmac(OURS, inner, (made) => {
      native.addToDigest(outer, new Uint8Array(made));
      return new Uint8Array(native.finishDigest(outer));
    });
  };
  // The two digests of an HMAC, which have had the key.
  hooks.hmacStates = (name, key) => {
    const algorithm = algorithmOf(name);
    const block = new Uint8Array(BLOCK_BYTES[algorithm]);
    block.set(key.length > block.length ? digestOf(algorithm, key) : key);
    return [0x36, 0x5c].map((byte) => {
      const state = native.startDigest(algorithm);
      native.addToDigest(state, block.map((b) => b ^ byte));
      return state;
    });
  };
  hooks.hashes = {
    createHash,
    createHmac,
    KeyObject,
    createSecretKey,
    createPrivateKey: withoutKeys,
    createPublicKey: withoutKeys,
    getHashes: () => Object.keys(BLOCK_BYTES),
    hash: (name, data, encoding = "hex") => createHash(name).update(data).digest(encoding),
  };

  const WEB_NAMES = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];
  const subtle = {
    async digest(algorithm, data) {
      const name = `${algorithm?.name ?? algorithm}`.toUpperCase();
      if (!WEB_NAMES.includes(name)) throw hooks.domException("Unrecognized algorithm name", "NotSupportedError");
      return digestOf(algorithmOf(name), hooks.viewBytes(data)).buffer;
    },
  };
  Object.defineProperty(crypto, "subtle", { value: subtle, enumerable: true, configurable: true });
});
