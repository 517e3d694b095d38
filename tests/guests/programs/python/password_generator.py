"""Password strength, passphrases from a seeded generator, TOTP, Luhn and ISBN checks, UUIDs."""
import hmac
import math
import random
import re
import string
import struct
import uuid


def strength(p):
    pools = [(string.ascii_lowercase, 26), (string.ascii_uppercase, 26), (string.digits, 10), (string.punctuation, 32)]
    size = sum(n for chars, n in pools if any(c in chars for c in p))
    bits = len(p) * math.log2(size) if size else 0
    return round(bits, 1), ["weak", "fair", "good", "strong"][min(3, int(bits // 30))]


def generate(rng, length=16):
    alphabet = string.ascii_letters + string.digits + "!@#$%"
    while True:
        p = "".join(rng.choices(alphabet, k=length))
        if re.search(r"[a-z]", p) and re.search(r"[A-Z]", p) and re.search(r"\d", p) and re.search(r"[!@#$%]", p):
            return p


def totp(secret, when, digits=6):
    mac = hmac.digest(secret, struct.pack(">Q", when // 30), "sha1")
    offset = mac[-1] & 15
    return str((struct.unpack(">I", mac[offset : offset + 4])[0] & 0x7FFFFFFF) % 10**digits).zfill(digits)


def luhn(number):
    digits = [int(c) for c in number if c.isdigit()][::-1]
    return sum(d if i % 2 == 0 else sum(divmod(d * 2, 10)) for i, d in enumerate(digits)) % 10 == 0


def isbn10(text):
    chars = [c for c in text if c.isdigit() or c == "X"]
    return len(chars) == 10 and sum((10 - i) * (10 if c == "X" else int(c)) for i, c in enumerate(chars)) % 11 == 0


for p in ("abc", "Password1", "correct horse battery staple", "x9$Kq!7zP@w2", ""):
    print(f"{p!r:<32}", *strength(p))
rng = random.Random("seed text")
print(generate(rng), generate(rng, 8))
print("-".join(rng.sample("apple river stone cloud tiger lemon piano".split(), 4)))
print([totp(b"12345678901234567890", t, 8) for t in (59, 1111111109, 20000000000)])
print([luhn(n) for n in ("4539 1488 0343 6467", "8273 1232 7352 0569")], isbn10("0-306-40615-2"), isbn10("0306406153"))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "python.org"), uuid.UUID(int=5), uuid.UUID("6fa459ea-ee8a-3ca4-894e-db77e160355e").version)
print(struct.pack("<hIq?3s", -2, 7, 2**40, True, b"abc").hex(), struct.unpack(">2H", b"\x00\x01\xff\xff"), struct.calcsize("@iq"))
