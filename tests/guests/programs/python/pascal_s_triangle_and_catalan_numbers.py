from math import comb
for n in range(8):
    row = [comb(n, k) for k in range(n + 1)]
    print(" ".join(map(str, row)).center(40).rstrip())
print([comb(2 * n, n) // (n + 1) for n in range(12)])
