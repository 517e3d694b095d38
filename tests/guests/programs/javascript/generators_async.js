// Generators as coroutines, async generators with cleanup, observable, pagination, event loop ordering.
function* scheduler(...tasks) { const live = tasks.map((t) => t()); while (live.length) { const t = live.shift(); const { done, value } = t.next(); if (value !== undefined) yield value; if (!done) live.push(t); } }
const task = (name, n) => function* () { for (let i = 1; i <= n; i++) yield `${name}${i}`; };
console.log([...scheduler(task('a', 3), task('b', 1), task('c', 2))]);
const co = (gen) => (...args) => new Promise((resolve, reject) => { const it = gen(...args); const step = (how, v) => { let r; try { r = it[how](v); } catch (e) { return reject(e); } r.done ? resolve(r.value) : Promise.resolve(r.value).then((x) => step('next', x), (e) => step('throw', e)); }; step('next'); });
const flow = co(function* (x) { const a = yield Promise.resolve(x + 1); try { yield Promise.reject(new Error('inner')); } catch (e) { console.log('caught', e.message); } const b = yield 10; return a * b; });
async function* numbers(log) { try { for (let i = 0; ; i++) { await null; yield i; } } finally { log.push('cleaned up'); } }
class Observable {
  #subs = new Set();
  subscribe(f) { this.#subs.add(f); return () => this.#subs.delete(f); }
  emit(v) { for (const f of this.#subs) f(v); }
  async *[Symbol.asyncIterator]() { const queue = []; let wake; const off = this.subscribe((v) => { queue.push(v); wake?.(); }); try { for (;;) { while (queue.length) yield queue.shift(); await new Promise((r) => { wake = r; }); } } finally { off(); } }
}
(async () => {
  console.log(await flow(4));
  const log = [];
  for await (const n of numbers(log)) { if (n > 3) break; log.push(n); }
  console.log(log);
  const o = new Observable();
  setTimeout(() => { o.emit('x'); o.emit('y'); o.emit('z'); }, 1);
  const got = [];
  for await (const v of o) { got.push(v); if (got.length === 3) break; }
  console.log(got);
  const order = [];
  await Promise.all([(async () => { order.push(1); await null; order.push(4); await null; order.push(6); })(), (async () => { order.push(2); await null; order.push(5); })(), Promise.resolve().then(() => order.push('then')), order.push(3)]);
  console.log(order.join(' '));
  const it = { from: 1, to: 3, [Symbol.iterator]() { let c = this.from, t = this.to; return { next: () => (c <= t ? { value: c++, done: false } : { value: undefined, done: true }), return() { console.log('return called'); return { done: true }; } }; } };
  for (const x of it) { if (x === 2) break; }
  const [first] = it;
  console.log(first, Array.from(it), Math.max(...it), Object.fromEntries([...it].map((x) => [`k${x}`, x])));
  function* inner() { const r = yield 'q'; return `got ${r}`; }
  function* outer() { const v = yield* inner(); yield v; }
  const g = outer();
  console.log(g.next(), g.next('ans'), g.next(), [...(function* () { yield* [1, 2]; yield* 'ab'; })()]);
  const g2 = (function* () { try { yield 1; } catch (e) { yield `handled ${e}`; } finally { yield 'fin'; } })();
  console.log(g2.next(), g2.throw('E'), g2.return('R'), g2.next());
})();
