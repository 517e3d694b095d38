import math
def simulate(theta, omega, dt=0.01, steps=300, g=9.81, length=1.0):
    out = []
    for i in range(steps):
        k1 = -g / length * math.sin(theta)
        theta_mid, omega_mid = theta + omega * dt / 2, omega + k1 * dt / 2
        k2 = -g / length * math.sin(theta_mid)
        theta, omega = theta + omega_mid * dt, omega + k2 * dt
        if i % 60 == 0:
            out.append((round(i * dt, 2), round(theta, 5), round(omega, 5)))
    return out
for row in simulate(math.radians(30), 0):
    print("t=%.2f theta=%+.5f omega=%+.5f" % row)
def euler(f, y, t, h, n):
    for _ in range(n):
        y, t = y + h * f(t, y), t + h
    return y
print(round(euler(lambda t, y: -2 * y, 1, 0, 0.001, 1000), 6), round(math.exp(-2), 6))
def newton(f, df, x):
    for i in range(50):
        step = f(x) / df(x)
        x -= step
        if abs(step) < 1e-12: return x, i + 1
print(newton(lambda x: x * x - 2, lambda x: 2 * x, 1.0))
trapezoid = lambda f, a, b, n: (b - a) / n * (f(a) / 2 + sum(f(a + i * (b - a) / n) for i in range(1, n)) + f(b) / 2)
print(round(trapezoid(math.sin, 0, math.pi, 1000), 8))
