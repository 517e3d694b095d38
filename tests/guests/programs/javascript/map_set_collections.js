// Collections: Map, Set, WeakMap, iterators, destructuring, symbols, generators, Proxy and Reflect.
const words = 'the cat and the dog and the bird'.split(' ');
const counts = new Map();
for (const w of words) counts.set(w, (counts.get(w) || 0) + 1);
console.log(counts, [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))[0]);
const a = new Set([1, 2, 3, 4]), b = new Set([3, 4, 5]);
console.log(new Set([...a].filter((x) => b.has(x))), new Set([...a, ...b]).size, [...a].filter((x) => !b.has(x)));
class Range {
  constructor(from, to, step = 1) { Object.assign(this, { from, to, step }); }
  *[Symbol.iterator]() { for (let i = this.from; i < this.to; i += this.step) yield i; }
  get [Symbol.toStringTag]() { return 'Range'; }
  [Symbol.toPrimitive](hint) { return hint === 'number' ? this.to - this.from : `${this.from}..${this.to}`; }
}
const r = new Range(0, 10, 3);
console.log([...r], Math.max(...r), `${r}`, +r, Object.prototype.toString.call(r), Array.from(r, (x) => x * x));
const { x = 1, y: { z: [first, , third = 'dflt'] = [] } = {}, ...rest } = { y: { z: ['a', 'b'] }, p: 1, q: 2 };
console.log(x, first, third, rest);
const log = [];
const watched = new Proxy({ n: 1 }, {
  get(t, k, rcv) { log.push(`get ${String(k)}`); return Reflect.get(t, k, rcv); },
  set(t, k, v) { if (typeof v !== 'number') throw new TypeError(`${k} must be a number`); log.push(`set ${k}`); return Reflect.set(t, k, v); },
  has: (t, k) => !k.startsWith('_') && k in t,
  deleteProperty(t, k) { log.push(`delete ${k}`); return delete t[k]; },
});
watched.n += 5;
delete watched.n;
console.log('_x' in watched, log);
try { watched.s = 'text'; } catch (e) { console.log(e.message); }
const priv = new WeakMap();
class Counter { constructor() { priv.set(this, 0); } up() { priv.set(this, priv.get(this) + 1); return this; } get value() { return priv.get(this); } }
console.log(new Counter().up().up().value);
function* fib() { let [p, q] = [0, 1]; while (true) { const reset = yield p; [p, q] = reset ? [0, 1] : [q, p + q]; } }
const g = fib();
console.log(Array.from({ length: 10 }, () => g.next().value), g.next(true).value, g.return(7), g.next());
console.log(Object.entries({ b: 1, a: 2, 10: 'x', 2: 'y' }), Object.fromEntries(counts), structuredClone(new Set([1])));
const frozen = Object.freeze({ deep: { ok: 1 } });
frozen.deep.ok = 2;
console.log(frozen, Object.isFrozen(frozen), Object.getOwnPropertyNames(class { static m() {} }));
console.log([3, 1, 2].sort().reverse(), [..."héllo👍"].length, [1, [2, [3, [4]]]].flat(Infinity), [1, 2].flatMap((v) => [v, v * 2]), Array.of(7).concat([8], 9));
label: for (const i of [1, 2, 3]) { for (const j of [1, 2, 3]) { if (j === 2) continue label; if (i === 3) break label; console.log(i, j); } }
