// An LRU cache with TTL and a fake clock, statistics, and generic decorators by higher-order functions.
interface Clock { now(): number }
class ManualClock implements Clock { constructor(private t = 0) {} now(): number { return this.t; } advance(ms: number): void { this.t += ms; } }
interface Entry<V> { value: V; expires: number }
interface Stats { hits: number; misses: number; evictions: number }
class LruCache<K, V> {
  readonly #entries = new Map<K, Entry<V>>();
  readonly stats: Stats = { hits: 0, misses: 0, evictions: 0 };
  constructor(private readonly capacity: number, private readonly ttl: number, private readonly clock: Clock) { if (capacity < 1) throw new RangeError('capacity must be positive'); }
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.expires <= this.clock.now()) { this.#entries.delete(key); this.stats.misses++; return undefined; }
    this.#entries.delete(key); this.#entries.set(key, entry);
    this.stats.hits++;
    return entry.value;
  }
  set(key: K, value: V): this {
    this.#entries.delete(key);
    if (this.#entries.size >= this.capacity) { const [oldest] = this.#entries.keys(); this.#entries.delete(oldest!); this.stats.evictions++; }
    this.#entries.set(key, { value, expires: this.clock.now() + this.ttl });
    return this;
  }
  get size(): number { return this.#entries.size; }
  keys = (): K[] => [...this.#entries.keys()];
}
const clock = new ManualClock();
const cache = new LruCache<string, number>(2, 100, clock);
cache.set('a', 1).set('b', 2);
console.log(cache.get('a'), cache.keys());
cache.set('c', 3);
console.log(cache.get('b'), cache.keys(), cache.size);
clock.advance(150);
console.log(cache.get('a'), cache.stats);
function memoize<A extends readonly unknown[], R>(f: (...args: A) => R, c: LruCache<string, R>): (...args: A) => R {
  return (...args) => { const key = JSON.stringify(args); const hit = c.get(key); if (hit !== undefined) return hit; const r = f(...args); c.set(key, r); return r; };
}
let calls = 0;
const slow = memoize((a: number, b: string) => { calls++; return b.repeat(a); }, new LruCache(10, 1000, clock));
console.log(slow(3, 'x'), slow(3, 'x'), slow(2, 'y'), calls);
try { new LruCache(0, 1, clock); } catch (e) { console.log(e instanceof RangeError && e.message); }
console.log(cache);
