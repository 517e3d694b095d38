"""Classic ciphers, frequency analysis, run-length and Huffman coding, base64 and hashes."""
import base64
import hashlib
import heapq
import hmac
import string
import zlib
from collections import Counter
from itertools import cycle


def caesar(text, k):
    table = str.maketrans(
        string.ascii_letters,
        string.ascii_lowercase[k:] + string.ascii_lowercase[:k] + string.ascii_uppercase[k:] + string.ascii_uppercase[:k],
    )
    return text.translate(table)


def crack(text):
    english = "etaoinshrdlu"
    return max(range(26), key=lambda k: sum(english[::-1].find(c) + 1 for c in caesar(text, k).lower()))


def vigenere(text, key, sign=1):
    keys = cycle(key.lower())
    return "".join(
        chr((ord(c.lower()) - 97 + sign * (ord(next(keys)) - 97)) % 26 + (65 if c.isupper() else 97)) if c.isalpha() else c for c in text
    )


def rle(s):
    out, i = [], 0
    while i < len(s):
        j = i
        while j < len(s) and s[j] == s[i]:
            j += 1
        out.append(f"{j - i if j - i > 1 else ''}{s[i]}")
        i = j
    return "".join(out)


def huffman(text):
    heap = [(n, i, c) for i, (c, n) in enumerate(sorted(Counter(text).items()))]
    heapq.heapify(heap)
    tick = len(heap)
    while len(heap) > 1:
        (n1, _, a), (n2, _, b) = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (n1 + n2, tick, (a, b)))
        tick += 1
    codes = {}

    def walk(node, prefix):
        if isinstance(node, tuple):
            walk(node[0], prefix + "0")
            walk(node[1], prefix + "1")
        else:
            codes[node] = prefix or "0"

    walk(heap[0][2], "")
    return codes


secret = caesar("Attack the east gate at dawn, then retreat!", 17)
print(secret, crack(secret), caesar(secret, crack(secret)))
v = vigenere("Meet me at the Harbour", "lemon")
print(v, vigenere(v, "lemon", -1))
print(rle("WWWWWBBBWWAAAAAAAC"))
codes = huffman("abracadabra")
print(sorted(codes.items()), "".join(codes[c] for c in "abracadabra"))
data = b"hello world" * 3
print(base64.b64encode(data).decode(), base64.urlsafe_b64encode(b"\xfb\xff"), base64.b32encode(b"hi"), base64.b85encode(b"hi!"))
for name in ("md5", "sha1", "sha256", "blake2b", "sha3_256"):
    print(name, hashlib.new(name, data).hexdigest()[:24])
print(hmac.new(b"key", data, "sha256").hexdigest()[:16], hmac.compare_digest("a", "a"))
packed = zlib.compress(data * 20, 9)
print(zlib.decompress(packed) == data * 20, zlib.crc32(data), zlib.adler32(data))
print(hashlib.pbkdf2_hmac("sha256", b"pw", b"salt", 1000).hex()[:20])
