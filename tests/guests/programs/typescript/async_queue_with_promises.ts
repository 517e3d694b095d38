const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

class TaskQueue {
  private running = 0;
  private waiting: Array<() => void> = [];
  public log: string[] = [];
  constructor(private readonly limit: number) {}

  async run<T>(name: string, task: () => Promise<T>): Promise<T> {
    if (this.running >= this.limit) await new Promise<void>((r) => this.waiting.push(r));
    this.running++;
    this.log.push(`start ${name}`);
    try {
      return await task();
    } finally {
      this.running--;
      this.log.push(`end ${name}`);
      this.waiting.shift()?.();
    }
  }
}

async function main(): Promise<void> {
  const queue = new TaskQueue(2);
  const results = await Promise.all(
    [3, 1, 2].map((n, i) => queue.run(`t${i}`, async () => { await delay(n * 5); return n * n; })),
  );
  console.log(results);
  console.log(queue.log.filter((l) => l.startsWith("start")).join(","));
  const settled = await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error("nope"))]);
  console.log(settled.map((s) => (s.status === "fulfilled" ? s.value : s.reason.message)));
}

main().catch(console.error);
