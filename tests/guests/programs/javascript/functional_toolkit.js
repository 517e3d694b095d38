// Functional programming: compose, curry, memoize, debounce, lenses, Maybe, transducers, lazy sequences.
const compose = (...fs) => (x) => fs.reduceRight((v, f) => f(v), x);
const pipe = (...fs) => (x) => fs.reduce((v, f) => f(v), x);
const curry = (f) => function next(...args) { return args.length >= f.length ? f(...args) : (...more) => next(...args, ...more); };
const memoize = (f) => { const cache = new Map(); return Object.assign((...a) => { const k = JSON.stringify(a); if (!cache.has(k)) cache.set(k, f(...a)); return cache.get(k); }, { cache }); };
class Maybe {
  static of = (v) => new Maybe(v);
  constructor(v) { this.v = v; }
  map(f) { return this.v == null ? this : Maybe.of(f(this.v)); }
  getOrElse(d) { return this.v ?? d; }
}
const lens = (path) => ({ get: (o) => path.reduce((v, k) => v?.[k], o), set: (o, v) => path.length ? { ...o, [path[0]]: lens(path.slice(1)).set(o?.[path[0]] ?? {}, v) } : v });
const mapping = (f) => (step) => (acc, x) => step(acc, f(x));
const filtering = (p) => (step) => (acc, x) => (p(x) ? step(acc, x) : acc);
const transduce = (xf, step, init, xs) => xs.reduce(xf(step), init);
const lazy = { *range(a, b = Infinity) { for (let i = a; i < b; i++) yield i; }, *map(it, f) { for (const x of it) yield f(x); }, *take(it, n) { if (n > 0) for (const x of it) { yield x; if (--n === 0) return; } } };
console.log(compose((x) => x + 1, (x) => x * 2)(5), pipe((x) => x + 1, (x) => x * 2)(5));
const add3 = curry((a, b, c) => a + b + c);
console.log(add3(1)(2)(3), add3(1, 2)(3), add3(1)(2, 3), add3.length, add3.name);
let calls = 0;
const slow = memoize((n) => { calls++; return n ** 2; });
slow(4); slow(4); slow(5);
console.log(calls, slow.cache.size, [...slow.cache.keys()]);
console.log(Maybe.of({ a: { b: 2 } }).map((o) => o.a).map((o) => o.b).getOrElse('none'), Maybe.of(null).map((o) => o.a).getOrElse('none'));
const l = lens(['user', 'address', 'city']);
const before = { user: { name: 'x', address: { city: 'Oslo', zip: 1 } } };
console.log(l.get(before), l.set(before, 'Rome'), l.get({}), before.user.address.city);
console.log(transduce(compose(filtering((x) => x % 2), mapping((x) => x * 10)), (a, x) => [...a, x], [], [1, 2, 3, 4, 5]));
console.log([...lazy.take(lazy.map(lazy.range(10), (x) => x * x), 4)]);
const groupBy = (xs, f) => xs.reduce((m, x) => ((m[f(x)] ||= []).push(x), m), {});
console.log(groupBy([1.2, 1.8, 2.1], Math.floor), Object.entries(groupBy(['one', 'two', 'three'], (s) => s.length)));
const zip = (...xs) => xs[0].map((_, i) => xs.map((x) => x[i])), uniq = (xs) => [...new Set(xs)], chunk = (xs, n) => xs.length ? [xs.slice(0, n), ...chunk(xs.slice(n), n)] : [];
console.log(zip([1, 2], ['a', 'b']), uniq([3, 1, 3]), chunk([1, 2, 3, 4, 5], 2));
const debounce = (f, ms) => { let t; return (...a) => { clearTimeout(t); t = setTimeout(f, ms, ...a); }; };
const d = debounce((v) => console.log('debounced', v), 5);
d(1); d(2); d(3);
const y = (f) => ((x) => x(x))((x) => f((n) => x(x)(n)));
console.log(y((self) => (n) => (n < 2 ? 1 : n * self(n - 1)))(10));
