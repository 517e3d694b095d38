"""Binary formats: bencode, a PNG writer and reader, varints, a bitset, memoryview, io."""
import io
import struct
import zlib
from array import array


def bencode(v):
    if isinstance(v, bool):
        raise TypeError("no booleans")
    if isinstance(v, int):
        return b"i%de" % v
    if isinstance(v, (bytes, str)):
        v = v.encode() if isinstance(v, str) else v
        return b"%d:%s" % (len(v), v)
    if isinstance(v, list):
        return b"l" + b"".join(map(bencode, v)) + b"e"
    if isinstance(v, dict):
        return b"d" + b"".join(bencode(k) + bencode(v[k]) for k in sorted(v)) + b"e"
    raise TypeError(type(v).__name__)


def bdecode(data):
    f = io.BytesIO(data)

    def read():
        c = f.read(1)
        if c == b"i":
            return int(until(b"e"))
        if c in b"ld":
            items = []
            while (peek := f.read(1)) != b"e":
                f.seek(-len(peek), io.SEEK_CUR)
                items.append(read())
            return items if c == b"l" else dict(zip(items[::2], items[1::2]))
        f.seek(-1, io.SEEK_CUR)
        return f.read(int(until(b":")))

    def until(stop):
        out = bytearray()
        while (c := f.read(1)) != stop:
            if not c:
                raise EOFError("truncated")
            out += c
        return out

    return read()


print(bencode({"name": "x", "n": [1, -2, b"\xff"], "d": {}}), bdecode(b"d1:ai5e1:bl3:abci-7eee"))
try:
    bdecode(b"i12")
except EOFError as e:
    print(e)


def png(pixels):
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    h, w = len(pixels), len(pixels[0])
    raw = b"".join(b"\0" + bytes(c for p in row for c in p) for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


image = png([[(x * 60, y * 80, 128) for x in range(4)] for y in range(3)])
with open("a.png", "wb") as f:
    f.write(image)
with open("a.png", "rb") as f:
    assert f.read(8) == b"\x89PNG\r\n\x1a\n"
    while head := f.read(8):
        size, kind = struct.unpack(">I4s", head)
        body, crc = f.read(size), struct.unpack(">I", f.read(4))[0]
        print(kind.decode(), size if kind != b"IDAT" else len(zlib.decompress(body)), crc == zlib.crc32(kind + body))


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


print([varint(n).hex() for n in (0, 127, 128, 300, 2**32)])
a = array("H", [1, 2, 65535])
view = memoryview(bytearray(b"hello world"))
view[0:5] = b"HELLO"
print(a.tobytes().hex(), a.itemsize, bytes(view[::2]), view.nbytes, view[3:5].tolist(), memoryview(b"\x01\x00\x02\x00").cast("H").tolist())
s = io.StringIO()
print("to a string", 1, sep="|", end="!\n", file=s)
print(repr(s.getvalue()), io.BytesIO(b"a\nb").readlines(), bytes.fromhex("de ad").hex("-"), b"%c%s" % (65, b"z"), b"a,b".split(b","))
