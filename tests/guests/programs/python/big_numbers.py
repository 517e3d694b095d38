from math import factorial, gcd, lcm, isqrt
print(factorial(60))
print(2 ** 200)
print(pow(3, 10 ** 12, 10 ** 9 + 7), pow(3, -1, 11))
print(gcd(462, 1071), lcm(21, 6), isqrt(10 ** 30))
def egcd(a, b):
    return (a, 1, 0) if b == 0 else (lambda g, x, y: (g, y, x - a // b * y))(*egcd(b, a % b))
print(egcd(240, 46))
print(sum(int(d) for d in str(2 ** 1000)))
