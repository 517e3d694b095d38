// A lazy sequence class with chained operators, generics, type guards and custom iteration protocols.
class Seq<T> implements Iterable<T> {
  constructor(private readonly source: () => Iterator<T>) {}
  static from<T>(xs: Iterable<T>): Seq<T> { return new Seq(() => xs[Symbol.iterator]()); }
  static range(a: number, b = Infinity, step = 1): Seq<number> { return new Seq(function* () { for (let i = a; i < b; i += step) yield i; }); }
  static iterate<T>(seed: T, f: (x: T) => T): Seq<T> { return new Seq(function* () { for (let x = seed; ; x = f(x)) yield x; }); }
  [Symbol.iterator](): Iterator<T> { return this.source(); }
  private pipe<U>(gen: (it: Iterable<T>) => Generator<U>): Seq<U> { return new Seq(() => gen(this)); }
  map<U>(f: (x: T, i: number) => U): Seq<U> { return this.pipe(function* (it) { let i = 0; for (const x of it) yield f(x, i++); }); }
  filter<U extends T>(p: (x: T) => x is U): Seq<U>;
  filter(p: (x: T) => boolean): Seq<T>;
  filter(p: (x: T) => boolean): Seq<T> { return this.pipe(function* (it) { for (const x of it) if (p(x)) yield x; }); }
  flatMap<U>(f: (x: T) => Iterable<U>): Seq<U> { return this.pipe(function* (it) { for (const x of it) yield* f(x); }); }
  take(n: number): Seq<T> { return this.pipe(function* (it) { if (n <= 0) return; let left = n; for (const x of it) { yield x; if (--left === 0) return; } }); }
  takeWhile(p: (x: T) => boolean): Seq<T> { return this.pipe(function* (it) { for (const x of it) { if (!p(x)) return; yield x; } }); }
  zip<U>(other: Iterable<U>): Seq<[T, U]> { return this.pipe(function* (it) { const o = other[Symbol.iterator](); for (const x of it) { const r = o.next(); if (r.done) return; yield [x, r.value] as [T, U]; } }); }
  window(n: number): Seq<T[]> { return this.pipe(function* (it) { const w: T[] = []; for (const x of it) { w.push(x); if (w.length > n) w.shift(); if (w.length === n) yield [...w]; } }); }
  reduce<A>(f: (acc: A, x: T) => A, init: A): A { let acc = init; for (const x of this) acc = f(acc, x); return acc; }
  groupBy<K>(f: (x: T) => K): Map<K, T[]> { return this.reduce((m, x) => { const k = f(x); (m.get(k) ?? m.set(k, []).get(k)!).push(x); return m; }, new Map<K, T[]>()); }
  toArray(): T[] { return [...this]; }
}
const evens = Seq.range(0).filter((n) => n % 2 === 0);
console.log(evens.take(5).toArray(), evens.map((n, i) => n * i).take(4).toArray());
console.log(Seq.iterate([0, 1] as [number, number], ([a, b]) => [b, a + b]).map(([a]) => a).takeWhile((n) => n < 100).toArray());
const collatz = (n: number) => Seq.iterate(n, (x) => (x % 2 ? 3 * x + 1 : x / 2)).takeWhile((x) => x !== 1).toArray().length + 1;
console.log(Seq.range(1, 20).map((n) => [n, collatz(n)] as const).reduce((best, c) => (c[1] > best[1] ? c : best), [0, 0] as readonly [number, number]));
const mixed: Seq<string | number | null> = Seq.from(['a', 1, null, 'b', 2]);
console.log(mixed.filter((x): x is string => typeof x === 'string').map((s) => s.toUpperCase()).toArray());
console.log(Seq.from('abc').zip(Seq.range(1)).toArray(), Seq.range(1, 6).window(3).toArray(), Seq.from(['x y', 'z']).flatMap((s) => s.split(' ')).toArray());
console.log(Seq.range(1, 11).groupBy((n) => (n % 3 === 0 ? 'fizz' : n % 5 === 0 ? 'buzz' : 'none')));
