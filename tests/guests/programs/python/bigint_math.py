"""Number theory and big numbers: primes, factorisation, RSA toy, pi digits, decimals, fractions, complex."""
import cmath
import math
from decimal import ROUND_HALF_UP, Decimal, getcontext, localcontext
from fractions import Fraction


def is_prime(n):
    if n < 2:
        return False
    for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        if n % p == 0:
            return n == p
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for a in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(a, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def rho(n):
    if n % 2 == 0:
        return 2
    c = 1
    while True:
        x = y = 2
        d = 1
        while d == 1:
            x = (x * x + c) % n
            y = (y * y + c) % n
            y = (y * y + c) % n
            d = math.gcd(abs(x - y), n)
        if d != n:
            return d
        c += 1


def factor(n):
    if n == 1:
        return []
    if is_prime(n):
        return [n]
    d = rho(n)
    return sorted(factor(d) + factor(n // d))


def pi_digits(n):
    q, r, t, k, m, x = 1, 0, 1, 1, 3, 3
    out = []
    while len(out) < n:
        if 4 * q + r - t < m * t:
            out.append(str(m))
            q, r, m = 10 * q, 10 * (r - m * t), (10 * (3 * q + r)) // t - 10 * m
        else:
            q, r, t, k, m, x = q * k, (2 * q + r) * x, t * x, k + 1, (q * (7 * k + 2) + r * x) // (t * x), x + 2
    return "".join(out)


print(is_prime(2**89 - 1), is_prime(2**83 - 1), factor(600851475143), factor(1000000016000000063))
p, q, e = 1000003, 1000033, 65537
d = pow(e, -1, (p - 1) * (q - 1))
cipher = pow(123456789, e, p * q)
print(cipher, pow(cipher, d, p * q))
print(pi_digits(50))
print(math.factorial(50), math.comb(52, 5), math.isqrt(10**40), math.lcm(4, 6, 10), math.perm(10, 3))
getcontext().prec = 40
print(Decimal(2).sqrt(), Decimal("1") / 7)
with localcontext() as ctx:
    ctx.prec = 6
    print(Decimal(355) / 113)
print(Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP), round(2.675, 2), Decimal("1E+3").normalize())
print(sum(Fraction(1, n) for n in range(1, 11)), Fraction(math.pi).limit_denominator(1000), Fraction("0.125"))
print(cmath.sqrt(-4), abs(3 + 4j), (1 + 2j) ** 3, cmath.phase(-1).__round__(6))
print(0.1 + 0.2, math.fsum([0.1] * 10), 1e16 + 1, 7 // -2, 7 % -2, -7 // 2, math.nextafter(1, 2), (0.1).hex(), float.fromhex("0x1.8p3"))
print(f"{10**9:,} {255:#x} {255:b} {3.14159:.3e} {0.256:.1%} {-5:+d} {42:08.3f} {1234567.891:_.2f} {'x':*^9}")
print(int("zz", 36), bin(10), oct(64), hex(-255), (1000).bit_length(), (255).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "little"))
