n = 0b10110110
print(bin(n), n.bit_length(), bin(n).count("1"), n.bit_count())
print(f"{n:08b} {n:#x} {n:o}")
gray = [i ^ (i >> 1) for i in range(8)]
print([f"{g:03b}" for g in gray])
print([x for x in range(1, 40) if x & (x - 1) == 0])
subsets = [[c for i, c in enumerate("abc") if mask >> i & 1] for mask in range(8)]
print(subsets)
print((-17) // 5, (-17) % 5, divmod(-17, 5), 7 ^ -1, ~5, 1 << 70)
print((123456789).to_bytes(8, "big").hex(), int.from_bytes(b"\x01\x02", "little"))
