import hashlib, hmac, secrets, uuid, base64
key = hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1000)
print(key.hex())
print(hmac.new(b"key", b"The quick brown fox jumps over the lazy dog", hashlib.sha256).hexdigest())
print(hmac.compare_digest("abc", "abc"), len(secrets.token_hex(16)), len(secrets.token_urlsafe(16)) > 16)
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"), uuid.UUID("12345678123456781234567812345678").version)
print(hashlib.blake2b(b"x", digest_size=8).hexdigest(), hashlib.sha3_256(b"").hexdigest()[:16])
