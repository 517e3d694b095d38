// A cooperative task scheduler: generators as tasks, priorities, simulated time, cancellation.
type Instruction = { sleep: number } | { spawn: Task } | { log: string } | 'yield';
type Task = Generator<Instruction, string | void, number>;
interface Scheduled { at: number; seq: number; name: string; task: Task }
class Scheduler {
  private queue: Scheduled[] = [];
  private seq = 0;
  private cancelled = new Set<string>();
  readonly log: string[] = [];
  now = 0;
  add(name: string, task: Task, delay = 0): this { this.queue.push({ at: this.now + delay, seq: this.seq++, name, task }); this.queue.sort((a, b) => a.at - b.at || a.seq - b.seq); return this; }
  cancel(name: string): void { this.cancelled.add(name); }
  run(limit = 100): number {
    let steps = 0;
    for (let item = this.queue.shift(); item && steps < limit; item = this.queue.shift(), steps++) {
      const { name, task } = item;
      this.now = item.at;
      if (this.cancelled.delete(name)) { task.return(undefined); this.note(name, 'cancelled'); continue; }
      const { done, value } = task.next(this.now);
      if (done) { this.note(name, `ended${value ? ` with ${value}` : ''}`); continue; }
      if (value === 'yield') this.add(name, task);
      else if ('sleep' in value) this.add(name, task, value.sleep);
      else if ('spawn' in value) { this.add(`${name}.child`, value.spawn); this.add(name, task); }
      else { this.note(name, value.log); this.add(name, task); }
    }
    return steps;
  }
  private note(name: string, text: string): void { this.log.push(`${String(this.now).padStart(3)} ${name}: ${text}`); }
}
function* worker(n: number): Task { for (let i = 1; i <= n; i++) { yield { log: `step ${i}` }; const t = yield { sleep: 10 * i }; if (t > 25) yield { log: 'late' }; } return `${n} steps`; }
function* parent(s: Scheduler): Task { yield { spawn: worker(1) }; yield { sleep: 15 }; s.cancel('b'); yield 'yield'; }
function* guarded(): Task { try { for (;;) yield { sleep: 7 }; } finally { console.log('cleanup of b'); } }
const s = new Scheduler();
s.add('a', worker(2)).add('p', parent(s)).add('b', guarded());
console.log(s.run(), s.now);
console.log(s.log.join('\n'));
