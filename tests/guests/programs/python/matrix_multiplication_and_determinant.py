def matmul(a, b):
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]

def det(m):
    if len(m) == 1:
        return m[0][0]
    return sum((-1) ** c * m[0][c] * det([row[:c] + row[c + 1:] for row in m[1:]]) for c in range(len(m)))

A = [[2, 0, 1], [1, 3, 2], [1, 1, 1]]
B = [[1, 2, 3], [4, 5, 6], [7, 8, 10]]
for row in matmul(A, B):
    print(" ".join(f"{x:4d}" for x in row))
print(det(A), det(B), det(matmul(A, B)))
from fractions import Fraction
print(Fraction(det(A), det(B)))
