class Poly:
    def __init__(self, *coeffs):
        self.c = list(coeffs)
        while len(self.c) > 1 and self.c[-1] == 0:
            self.c.pop()
    def __add__(self, o):
        n = max(len(self.c), len(o.c))
        get = lambda p, i: p.c[i] if i < len(p.c) else 0
        return Poly(*(get(self, i) + get(o, i) for i in range(n)))
    def __mul__(self, o):
        if isinstance(o, (int, float)):
            return Poly(*(x * o for x in self.c))
        out = [0] * (len(self.c) + len(o.c) - 1)
        for i, a in enumerate(self.c):
            for j, b in enumerate(o.c):
                out[i + j] += a * b
        return Poly(*out)
    __rmul__ = __mul__
    def __neg__(self): return self * -1
    def __sub__(self, o): return self + -o
    def __call__(self, x):
        r = 0
        for a in reversed(self.c): r = r * x + a
        return r
    def derivative(self): return Poly(*(i * a for i, a in enumerate(self.c))[1:] or [0]) if False else Poly(*[i * a for i, a in enumerate(self.c)][1:] or [0])
    def __eq__(self, o): return self.c == o.c
    def __repr__(self):
        return " + ".join(f"{a}x^{i}" if i else str(a) for i, a in enumerate(self.c) if a) or "0"

p, q = Poly(1, 2, 3), Poly(-1, 1)
print(p + q, "|", p * q, "|", 2 * p, "|", p - p, "|", p(2), "|", p.derivative())
print(p * q == q * p, p == q)
