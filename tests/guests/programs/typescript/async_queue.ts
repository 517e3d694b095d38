// A typed task queue with concurrency, Result type, async generators and event map.
type Result<T, E = Error> = { ok: true; value: T } | { ok: false; error: E };
const ok = <T>(value: T): Result<T, never> => ({ ok: true, value });
const err = <E>(error: E): Result<never, E> => ({ ok: false, error });

interface Events { start: [id: number]; done: [id: number, result: Result<unknown>] }
class Emitter<M extends Record<keyof M, unknown[]>> {
  private handlers: { [K in keyof M]?: Array<(...args: M[K]) => void> } = {};
  on<K extends keyof M>(event: K, handler: (...args: M[K]) => void): this { (this.handlers[event] ??= []).push(handler); return this; }
  emit<K extends keyof M>(event: K, ...args: M[K]): void { this.handlers[event]?.forEach((h) => h(...args)); }
}

class TaskQueue extends Emitter<Events> {
  #active = 0; #waiting: Array<() => void> = []; peak = 0; #ids = 0;
  constructor(private readonly limit: number) { super(); }
  async run<T>(task: () => Promise<T>): Promise<Result<T>> {
    const id = ++this.#ids;
    if (this.#active >= this.limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#active++;
    this.peak = Math.max(this.peak, this.#active);
    this.emit('start', id);
    let result: Result<T>;
    try { result = ok(await task()); } catch (e) { result = err(e instanceof Error ? e : new Error(String(e))); } finally { this.#active--; this.#waiting.shift()?.(); }
    this.emit('done', id, result);
    return result;
  }
}
const delay = (ms: number): Promise<void> => new Promise((r) => setTimeout(r, ms));
async function* ticker(n: number): AsyncGenerator<number, string, void> { for (let i = 0; i < n; i++) { await delay(1); yield i; } return 'end'; }

async function main(): Promise<void> {
  const queue = new TaskQueue(2);
  const order: string[] = [];
  queue.on('start', (id) => order.push(`+${id}`)).on('done', (id, r) => order.push(`${r.ok ? '-' : '!'}${id}`));
  const results = await Promise.all([30, 10, 5, 20].map((ms, i) => queue.run(async () => { await delay(ms); if (i === 2) throw 'third failed'; return ms * 2; })));
  for (const r of results) console.log(r.ok ? `value ${r.value}` : `error ${r.error.message}`);
  console.log(order.join(' '), 'peak', queue.peak);
  let sum = 0;
  for await (const n of ticker(5)) sum += n;
  console.log(sum);
  const it = ticker(1);
  console.log(await it.next(), await it.next(), await it.next());
}
main().catch((e) => { console.error(e); process.exit(1); });
