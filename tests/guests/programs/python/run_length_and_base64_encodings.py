from itertools import groupby
import base64, binascii, zlib, hashlib

def rle(s):
    return "".join(f"{len(list(g))}{ch}" for ch, g in groupby(s))

def unrle(s):
    import re
    return "".join(ch * int(n) for n, ch in re.findall(r"(\d+)(\D)", s))

s = "WWWWWWWWWWWWBWWWWWWWWWWWWBBBWWWWWWWWWWWWWWWWWWWWWWWWB"
print(rle(s), unrle(rle(s)) == s)
print(base64.b64encode(b"hello world\x00\xff").decode(), base64.b32encode(b"hi").decode(), binascii.hexlify(b"abc"))
print(len(zlib.compress(s.encode() * 50)), zlib.crc32(s.encode()))
for name in ("md5", "sha1", "sha256"):
    print(name, hashlib.new(name, b"abc").hexdigest())
