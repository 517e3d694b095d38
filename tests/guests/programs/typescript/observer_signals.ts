// Reactive signals: computed values, effects, batching, dependency tracking with WeakMaps and sets.
type Cleanup = () => void;
interface Signal<T> { (): T; set(v: T): void; update(f: (old: T) => T): void }
let active: Effect | null = null;
let depth = 0;
const pending = new Set<Effect>();
class Effect {
  deps = new Set<Set<Effect>>();
  constructor(private readonly fn: () => void | Cleanup, private cleanup: Cleanup | void = undefined) { this.run(); }
  run(): void { this.stop(); const outer = active; active = this; try { this.cleanup = this.fn(); } finally { active = outer; } }
  stop(): void { this.cleanup?.(); this.cleanup = undefined; for (const d of this.deps) d.delete(this); this.deps.clear(); }
}
function signal<T>(initial: T): Signal<T> {
  let value = initial;
  const subs = new Set<Effect>();
  const read = (() => { if (active) { subs.add(active); active.deps.add(subs); } return value; }) as Signal<T>;
  read.set = (v) => { if (Object.is(v, value)) return; value = v; for (const e of [...subs]) depth ? pending.add(e) : e.run(); };
  read.update = (f) => read.set(f(value));
  return read;
}
function computed<T>(f: () => T): () => T { const s = signal<T>(undefined as T); new Effect(() => s.set(f())); return () => s(); }
function batch(f: () => void): void { depth++; try { f(); } finally { if (--depth === 0) { const run = [...pending]; pending.clear(); run.forEach((e) => e.run()); } } }
const first = signal('Ada'), last = signal('Lovelace'), show = signal(true);
const full = computed(() => `${first()} ${last()}`);
const log: string[] = [];
const e = new Effect(() => { log.push(show() ? full() : 'hidden'); return () => log.push('cleanup'); });
first.set('Augusta');
batch(() => { first.set('A.'); last.set('L.'); last.set('King'); });
show.set(false);
first.set('ignored while hidden');
show.set(true);
e.stop();
last.set('unseen');
console.log(log);
const count = signal(0);
const double = computed(() => count() * 2), parity = computed(() => (count() % 2 ? 'odd' : 'even'));
let runs = 0;
new Effect(() => { runs++; parity(); });
for (let i = 0; i < 4; i++) count.update((n) => n + 2);
console.log(count(), double(), parity(), runs);
