const handler = {
  get: (t, k) => (k in t ? t[k] : `no ${String(k)}`),
  set(t, k, v) { if (typeof v !== "number") throw new TypeError("numbers only"); t[k] = v; return true; },
  has: (t, k) => k.startsWith("x") || k in t,
};
const p = new Proxy({ a: 1 }, handler);
p.b = 2;
console.log(p.a, p.b, p.c, "xyz" in p, "q" in p);
try { p.d = "no"; } catch (e) { console.log(e.message); }
const range = { from: 1, to: 4, *[Symbol.iterator]() { for (let i = this.from; i <= this.to; i++) yield i; } };
console.log([...range], Math.max(...range));
const o = { get full() { return `${this.f} ${this.l}`; }, set full(v) { [this.f, this.l] = v.split(" "); } };
o.full = "Ada Lovelace";
console.log(o.full, Object.keys(o), JSON.stringify(o));
console.log(Object.getOwnPropertyNames(class { static s() {} }), Reflect.ownKeys({ b: 1, a: 2, 1: 3, [Symbol.iterator]: 0 }));
const frozen = Object.freeze({ x: 1 }); frozen.x = 2; console.log(frozen.x, Object.isFrozen(frozen), structuredClone({ d: new Date(0), m: new Map([[1, 2]]) }));
