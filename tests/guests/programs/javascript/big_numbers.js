// BigInt: factorials, fibonacci, modular exponentiation, Miller-Rabin, digits of e, rationals.
const fact = (n) => (n < 2n ? 1n : n * fact(n - 1n));
const fib = (n) => { let [a, b] = [0n, 1n]; for (const bit of n.toString(2)) { [a, b] = [a * (2n * b - a), a * a + b * b]; if (bit === '1') [a, b] = [b, a + b]; } return a; };
const modpow = (b, e, m) => { let r = 1n; b %= m; while (e) { if (e & 1n) r = (r * b) % m; b = (b * b) % m; e >>= 1n; } return r; };
const prime = (n) => { if (n < 2n) return false; for (const p of [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n]) { if (n % p === 0n) return n === p; } let d = n - 1n, s = 0; while (!(d & 1n)) { d >>= 1n; s++; } return [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n].every((a) => { let x = modpow(a, d, n); if (x === 1n || x === n - 1n) return true; for (let i = 1; i < s; i++) { x = (x * x) % n; if (x === n - 1n) return true; } return false; }); };
console.log(fact(30n), fact(100n).toString().length, fib(200n));
console.log(modpow(3n, 1000n, 1000007n), prime(2n ** 61n - 1n), prime(2n ** 67n - 1n), prime(1000000007n));
const inverse = (a, m) => { let [r0, r1, s0, s1] = [a, m, 1n, 0n]; while (r1) { const q = r0 / r1; [r0, r1, s0, s1] = [r1, r0 - q * r1, s1, s0 - q * s1]; } return ((s0 % m) + m) % m; };
const [p, q, e] = [61n, 53n, 17n];
const d = inverse(e, (p - 1n) * (q - 1n));
const c = modpow(65n, e, p * q);
console.log(d, c, modpow(c, d, p * q));
const digitsOfE = (n) => { const scale = 10n ** BigInt(n + 10); let term = scale, sum = scale, k = 1n; while (term) { term /= k++; sum += term; } return (sum / 10n ** 10n).toString(); };
console.log(digitsOfE(40));
class Ratio { constructor(n, d = 1n) { const g = ((a, b) => { while (b) [a, b] = [b, a % b]; return a < 0n ? -a : a; })(n, d); this.n = n / g; this.d = d / g; } plus(o) { return new Ratio(this.n * o.d + o.n * this.d, this.d * o.d); } toString() { return `${this.n}/${this.d}`; } valueOf() { return Number(this.n) / Number(this.d); } }
let h = new Ratio(0n);
for (let i = 1n; i <= 20n; i++) h = h.plus(new Ratio(1n, i));
console.log(`${h}`, +h);
console.log(BigInt.asUintN(8, 257n), BigInt.asIntN(8, 255n), -7n / 2n, -7n % 3n, 5n ** 3n, 1n << 70n, BigInt('0xff'), BigInt(Number.MAX_SAFE_INTEGER) + 2n, typeof 1n, 2n > 1, 2n == 2, 2n === 2, [3n, 1n, 2n].sort().join(), 10n > 9, (123n).toString(2), Number(2n ** 64n), BigInt(10).toLocaleString('en-US'));
for (const f of [() => 1n + 1, () => BigInt(1.5), () => BigInt('x'), () => 1n / 0n, () => Math.max(1n), () => 2n ** -1n]) try { f(); } catch (err) { console.log(err.name); }
