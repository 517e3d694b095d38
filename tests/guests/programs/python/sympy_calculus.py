"""Symbolic mathematics with sympy."""
from sympy import Eq, Matrix, Rational, Symbol, diff, expand, factor, integrate, limit, oo, pi, series, simplify, sin, solve, sqrt, symbols, cos, exp, latex, nsolve, prime, factorint

x, y = symbols("x y")
print(expand((x + 1) ** 4), factor(x**3 - x**2 - x + 1))
print(diff(sin(x) * exp(x), x), integrate(x**2 * cos(x), x))
print(integrate(exp(-(x**2)), (x, -oo, oo)), limit(sin(x) / x, x, 0))
print(solve(x**2 - 5 * x + 6, x), solve([Eq(x + y, 10), Eq(x - y, 4)], [x, y]))
print(series(cos(x), x, 0, 8), simplify(sin(x) ** 2 + cos(x) ** 2))
m = Matrix([[2, 1], [1, 3]])
print(m.det(), m.inv(), m.eigenvals())
print(Rational(1, 3) + Rational(1, 6), sqrt(8), pi.evalf(30), sqrt(2).evalf(10))
print(latex(x**2 / (y + 1)), (x**2 + y).subs({x: 3, y: Rational(1, 2)}))
n = Symbol("n", integer=True, positive=True)
print(nsolve(cos(x) - x, x, 1).evalf(10), prime(100), factorint(5040), solve(x**2 + 1, x))
print((x**2 + 2 * x * y).as_poly(x).coeffs(), expand((x + y) ** 2).coeff(x, 1))
