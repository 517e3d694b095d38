"""Bits: popcount, gray code, bitboards, flags, CRC, hamming distance, bloom filter, permutations by bits."""
import hashlib
import zlib


def gray(n):
    return [i ^ (i >> 1) for i in range(1 << n)]


def crc8(data, poly=0x07):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ poly) & 0xFF if crc & 0x80 else crc << 1
    return crc


class Bloom:
    def __init__(self, bits, k):
        self.bits, self.k, self.field = bits, k, 0

    def _places(self, item):
        digest = hashlib.sha256(item.encode()).digest()
        return [int.from_bytes(digest[i * 4 : i * 4 + 4], "big") % self.bits for i in range(self.k)]

    def add(self, item):
        for p in self._places(item):
            self.field |= 1 << p

    def __contains__(self, item):
        return all(self.field >> p & 1 for p in self._places(item))


print([f"{g:03b}" for g in gray(3)])
print((0b1011).bit_count(), bin(0b1011 ^ 0b0110).count("1"), (-5) & 0xFF, ~7, 5 >> 1, -5 >> 1, 1 << 100)
print(hex(crc8(b"123456789")), hex(zlib.crc32(b"123456789")))
b = Bloom(256, 3)
for w in ("apple", "pear", "plum"):
    b.add(w)
print([w in b for w in ("apple", "pear", "fig", "kiwi", "plum")], b.field.bit_count())
n = 0b1011000
print(n & -n, n & (n - 1), n.bit_length(), int(f"{n:08b}"[::-1], 2), (n ^ (n >> 1)))


def subsets(items):
    return [[x for i, x in enumerate(items) if mask >> i & 1] for mask in range(1 << len(items))]


print(subsets("abc"))
knight = sum(1 << (r * 8 + c) for r, c in [(2, 1), (1, 2)])
print("\n".join("".join("X" if knight >> (r * 8 + c) & 1 else "." for c in range(8)) for r in range(4)))
ip = lambda s: sum(int(p) << (8 * (3 - i)) for i, p in enumerate(s.split(".")))
mask = 0xFFFFFFFF << (32 - 20) & 0xFFFFFFFF
net = ip("10.1.37.200") & mask
print(".".join(str(net >> s & 255) for s in (24, 16, 8, 0)), ip("10.1.40.1") & mask == net)
swap = lambda x: int.from_bytes(x.to_bytes(4, "big"), "little")
print(hex(swap(0x12345678)), [x ^ 0x55 for x in b"Hi!"], bytes(x ^ 0x55 for x in bytes(x ^ 0x55 for x in b"Hi!")))
print(f"{0b1010:#06b} {255:#o} {0xDEADBEEF:_x} {True + True} {int('0b101', 0)} {bool(0) | 1} {3 & 5 | 2 ^ 7}")
