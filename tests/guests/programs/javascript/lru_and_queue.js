// Data structures: LRU cache on Map, priority queue, trie, linked list, disjoint set.
class LRU { constructor(n) { this.n = n; this.m = new Map(); } get(k) { if (!this.m.has(k)) return undefined; const v = this.m.get(k); this.m.delete(k); this.m.set(k, v); return v; } set(k, v) { this.m.delete(k); this.m.set(k, v); if (this.m.size > this.n) this.m.delete(this.m.keys().next().value); return this; } }
const cache = new LRU(2).set('a', 1).set('b', 2);
cache.get('a'); cache.set('c', 3);
console.log(cache, cache.get('b'));
class PQ {
  #h = []; #cmp;
  constructor(cmp = (a, b) => a - b) { this.#cmp = cmp; }
  get size() { return this.#h.length; }
  push(v) { const h = this.#h; h.push(v); let i = h.length - 1; while (i && this.#cmp(h[i], h[(i - 1) >> 1]) < 0) { [h[i], h[(i - 1) >> 1]] = [h[(i - 1) >> 1], h[i]]; i = (i - 1) >> 1; } }
  pop() { const h = this.#h, top = h[0], last = h.pop(); if (h.length) { h[0] = last; for (let i = 0; ;) { let m = i; for (const c of [2 * i + 1, 2 * i + 2]) if (c < h.length && this.#cmp(h[c], h[m]) < 0) m = c; if (m === i) break; [h[i], h[m]] = [h[m], h[i]]; i = m; } } return top; }
}
const pq = new PQ();
[5, 1, 8, 3, 2].forEach((x) => pq.push(x));
console.log(Array.from({ length: pq.size }, () => pq.pop()), pq);
class Trie { root = {}; add(w) { let n = this.root; for (const c of w) n = n[c] ??= {}; n.$ = true; return this; } *all(n = this.root, p = '') { if (n.$) yield p; for (const c of Object.keys(n).sort()) if (c !== '$') yield* this.all(n[c], p + c); } }
const t = new Trie().add('tea').add('ten').add('to').add('inn');
console.log([...t.all()], JSON.stringify(t.root));
const list = [1, 2, 3].reduceRight((next, value) => ({ value, next }), null);
console.log(list);
const reverse = (n, p = null) => (n ? reverse(n.next, { value: n.value, next: p }) : p);
console.dir(reverse(list), { depth: null });
const parent = new Map();
const find = (x) => { const p = parent.get(x) ?? x; if (p === x) return x; const r = find(p); parent.set(x, r); return r; };
const union = (a, b) => parent.set(find(a), find(b));
union(1, 2); union(3, 4); union(2, 3);
console.log(find(1) === find(4), find(1) === find(9), parent);
const graph = { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] };
const topo = (g, seen = new Set(), out = []) => { const go = (n) => { if (seen.has(n)) return; seen.add(n); g[n].forEach(go); out.unshift(n); }; Object.keys(g).forEach(go); return out; };
console.log(topo(graph));
const matrix = Array.from({ length: 3 }, (_, r) => Array.from({ length: 3 }, (_, c) => r * 3 + c));
console.log(matrix, matrix[0].map((_, i) => matrix.map((r) => r[i]).reverse()));
