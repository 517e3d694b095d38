// Sorting algorithms compared, binary search, permutations, sieve, gcd, number formats.
const data = [38, 27, 43, 3, 9, 82, 10, -5, 27];
const bubble = (a) => { a = a.slice(); for (let i = a.length; i > 1; i--) for (let j = 1; j < i; j++) if (a[j - 1] > a[j]) [a[j - 1], a[j]] = [a[j], a[j - 1]]; return a; };
const quick = ([p, ...r]) => (p === undefined ? [] : [...quick(r.filter((x) => x < p)), p, ...quick(r.filter((x) => x >= p))]);
const merge = (a) => { if (a.length < 2) return a; const m = a.length >> 1, l = merge(a.slice(0, m)), r = merge(a.slice(m)), out = []; while (l.length && r.length) out.push(l[0] <= r[0] ? l.shift() : r.shift()); return out.concat(l, r); };
const heap = (a) => { a = [...a]; const sift = (i, n) => { for (;;) { let m = i; for (const c of [2 * i + 1, 2 * i + 2]) if (c < n && a[c] > a[m]) m = c; if (m === i) return; [a[i], a[m]] = [a[m], a[i]]; i = m; } }; for (let i = a.length >> 1; i >= 0; i--) sift(i, a.length); for (let n = a.length - 1; n > 0; n--) { [a[0], a[n]] = [a[n], a[0]]; sift(0, n); } return a; };
for (const f of [bubble, quick, merge, heap]) console.log(f.name.padEnd(8), f(data).join(' '));
console.log([...data].sort(), [...data].sort((a, b) => a - b));
const search = (a, x, lo = 0, hi = a.length - 1) => { while (lo <= hi) { const mid = (lo + hi) >>> 1; if (a[mid] === x) return mid; if (a[mid] < x) lo = mid + 1; else hi = mid - 1; } return ~lo; };
console.log(search(quick(data), 43), search(quick(data), 11));
function* permute(a, n = a.length) { if (n <= 1) yield a.slice(); else for (let i = 0; i < n; i++) { yield* permute(a, n - 1); const j = n % 2 ? 0 : i; [a[n - 1], a[j]] = [a[j], a[n - 1]]; } }
console.log([...permute(['a', 'b', 'c'])].map((p) => p.join('')));
const sieve = (n) => { const c = new Uint8Array(n + 1); const out = []; for (let i = 2; i <= n; i++) { if (c[i]) continue; out.push(i); for (let j = i * i; j <= n; j += i) c[j] = 1; } return out; };
console.log(sieve(60).join(','), sieve(20000).length);
const gcd = (a, b) => (b ? gcd(b, a % b) : a);
console.log(gcd(1071, 462), [4, 6, 10].reduce((a, b) => (a * b) / gcd(a, b)));
const people = [{ n: 'Zed', a: 30 }, { n: 'ann', a: 30 }, { n: 'Bob', a: 25 }];
console.log(people.sort((x, y) => x.a - y.a || x.n.localeCompare(y.n)).map((p) => p.n), ['b', 'a', 'C', 'ä', 'Z'].sort(), ['b', 'a', 'C', 'ä', 'Z'].sort((x, y) => x.localeCompare(y)), ['item10', 'item9', 'item1'].sort(new Intl.Collator('en', { numeric: true }).compare));
console.log([1, 10, 2, 21].sort(), [undefined, 3, null, 1].sort(), [true, false].sort());
console.log((255).toString(16), (255).toString(2).padStart(10, '0'), parseInt('ff', 16), parseInt('12px'), Number('12px'), Number(''), +'0b101', (1234.5678).toFixed(2), (0.000001234).toString(), (123.456).toPrecision(4), (1e21).toString(), (25).toString(36), parseFloat('3.14abc'), Number.parseFloat('.5'));
console.log(0.1 * 3, 9007199254740993n * 2n, 5 / 2 | 0, -5 % 3, 2 ** 31 | 0, NaN === NaN, Object.is(-0, 0), [NaN].includes(NaN), [NaN].indexOf(NaN), typeof null, [] + {}, [] == false, null ?? 'd', 0 || 'e', '5' * '2', '5' + 2, 1 < 2 < 3, 3 > 2 > 1);
console.log(Math.round(-0.5), Math.round(2.5), Math.trunc(-4.7), Math.sign(-3), Math.cbrt(27), Math.log2(8), Math.fround(5.5), Math.max(), Math.min(), Math.hypot(3, 4), Math.atan2(1, 1).toFixed(5));
