from sympy import symbols, solve, diff, integrate, simplify, expand, factor, sqrt, pi, sin, cos, Matrix, limit, series, Eq, oo, Rational, latex
x, y = symbols("x y")
print(solve(x**2 - 5*x + 6, x), solve([Eq(x + y, 10), Eq(x - y, 2)], [x, y]))
print(diff(sin(x) * x**2, x), integrate(2*x + cos(x), x), integrate(x**2, (x, 0, 3)))
print(expand((x + y)**3), factor(x**3 - y**3), simplify(sin(x)**2 + cos(x)**2))
print(limit(sin(x)/x, x, 0), limit((1 + 1/x)**x, x, oo), series(sin(x), x, 0, 6))
M = Matrix([[1, 2], [3, 4]])
print(M.det(), M.inv(), M.eigenvals(), sqrt(8), Rational(1, 3) + Rational(1, 6), pi.evalf(20), latex(x**2/2))
