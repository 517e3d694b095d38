"""A Matrix class with operators, determinant, inverse by fractions, power and pretty printing."""
from fractions import Fraction
from itertools import product


class Matrix:
    def __init__(self, rows):
        self.rows = [[Fraction(x) for x in row] for row in rows]
        if len({len(r) for r in self.rows}) != 1:
            raise ValueError("ragged rows")

    @classmethod
    def identity(cls, n):
        return cls([[int(i == j) for j in range(n)] for i in range(n)])

    @property
    def shape(self):
        return len(self.rows), len(self.rows[0])

    def __getitem__(self, key):
        i, j = key
        return self.rows[i][j]

    def __eq__(self, other):
        return isinstance(other, Matrix) and self.rows == other.rows

    def __add__(self, other):
        return Matrix([[a + b for a, b in zip(r, s)] for r, s in zip(self.rows, other.rows, strict=True)])

    def __mul__(self, k):
        return Matrix([[k * a for a in r] for r in self.rows])

    __rmul__ = __mul__

    def __matmul__(self, other):
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"cannot multiply {self.shape} by {other.shape}")
        return Matrix([[sum(a * b for a, b in zip(row, col)) for col in zip(*other.rows)] for row in self.rows])

    def __pow__(self, n):
        result, base = Matrix.identity(self.shape[0]), self
        while n:
            if n & 1:
                result = result @ base
            base, n = base @ base, n >> 1
        return result

    def det(self):
        m, sign, total = [r[:] for r in self.rows], 1, Fraction(1)
        for c in range(len(m)):
            pivot = next((r for r in range(c, len(m)) if m[r][c]), None)
            if pivot is None:
                return Fraction(0)
            if pivot != c:
                m[c], m[pivot], sign = m[pivot], m[c], -sign
            total *= m[c][c]
            for r in range(c + 1, len(m)):
                f = m[r][c] / m[c][c]
                m[r] = [a - f * b for a, b in zip(m[r], m[c])]
        return sign * total

    def inverse(self):
        n = self.shape[0]
        if self.det() == 0:
            raise ZeroDivisionError("singular matrix")
        m = [r[:] + e for r, e in zip(self.rows, Matrix.identity(n).rows)]
        for c in range(n):
            p = next(r for r in range(c, n) if m[r][c])
            m[c], m[p] = m[p], m[c]
            m[c] = [x / m[c][c] for x in m[c]]
            for r in range(n):
                if r != c:
                    m[r] = [a - m[r][c] * b for a, b in zip(m[r], m[c])]
        return Matrix([r[n:] for r in m])

    def __str__(self):
        cells = [[str(x) for x in r] for r in self.rows]
        widths = [max(map(len, col)) for col in zip(*cells)]
        return "\n".join("[" + "  ".join(c.rjust(w) for c, w in zip(r, widths)) + "]" for r in cells)


a = Matrix([[2, 1, 0], [1, 3, 2], [0, 1, 4]])
print(a, a.det(), sep="\n")
print(a.inverse())
print(a @ a.inverse() == Matrix.identity(3))
fib = Matrix([[1, 1], [1, 0]]) ** 90
print(fib[0, 1])
print(2 * Matrix([[1, 2]]) + Matrix([[Fraction(1, 3), -1]]))
for bad in (lambda: Matrix([[1, 2], [3]]), lambda: Matrix([[1, 2]]) @ Matrix([[1, 2]]), lambda: Matrix([[1, 2], [2, 4]]).inverse()):
    try:
        bad()
    except (ValueError, ZeroDivisionError) as e:
        print(type(e).__name__, e)
print(sum(a[i, j] for i, j in product(range(3), repeat=2)))
