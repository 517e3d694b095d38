"""Recursive figures in text: Sierpinski, Koch turns, Hanoi, Mandelbrot, Hilbert, flood fill, Ackermann, deep recursion."""
import sys
from functools import cache


def sierpinski(n):
    if n == 0:
        return ["*"]
    prev = sierpinski(n - 1)
    pad = " " * (2 ** (n - 1))
    return [pad + line + pad for line in prev] + [line + " " + line for line in prev]


def hanoi(n, a="A", b="B", c="C"):
    if n:
        yield from hanoi(n - 1, a, c, b)
        yield a + c
        yield from hanoi(n - 1, b, a, c)


def koch(n):
    return "F" if n == 0 else koch(n - 1).replace("F", "F+F--F+F")


def mandelbrot(w, h):
    for row in range(h):
        yield "".join(" .:-=+*#%@"[min(9, next((i for i, z in enumerate(orbit(complex(-2.2 + 3 * col / w, -1.2 + 2.4 * row / h))) if abs(z) > 2), 27) // 3)] for col in range(w))


def orbit(c, n=27):
    z = 0
    for _ in range(n):
        z = z * z + c
        yield z


def hilbert(n):
    rules = {"A": "-BF+AFA+FB-", "B": "+AF-BFB-FA+"}
    s = "A"
    for _ in range(n):
        s = "".join(rules.get(c, c) for c in s)
    x = y = 0
    dx, dy = 1, 0
    seen = [(0, 0)]
    for c in s:
        if c == "F":
            x, y = x + dx, y + dy
            seen.append((x, y))
        elif c == "+":
            dx, dy = -dy, dx
        elif c == "-":
            dx, dy = dy, -dx
    return seen


@cache
def ackermann(m, n):
    return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


print("\n".join(line.rstrip() for line in sierpinski(3)))
moves = list(hanoi(4))
print(len(moves), " ".join(moves[:8]))
print(koch(2).count("F"), koch(1))
print("\n".join(line.rstrip() for line in mandelbrot(60, 18)))
path = hilbert(3)
print(len(path), len(set(path)), path[-1])
print(ackermann(2, 3), ackermann(3, 3))


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


print(depth(900))
try:
    depth(10**6)
except RecursionError as e:
    print("RecursionError", sys.getrecursionlimit())
