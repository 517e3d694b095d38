// A tiny dependency injection container with tokens, lifetimes, interfaces, abstract factories and tuples.
type Lifetime = 'singleton' | 'transient';
class Token<T> { constructor(readonly name: string) {} declare readonly _type: T; }
type TokensOf<A extends unknown[]> = { [I in keyof A]: Token<A[I]> };

class Container {
  private providers = new Map<Token<any>, { lifetime: Lifetime; make: () => unknown }>();
  private singletons = new Map<Token<any>, unknown>();
  private resolving: string[] = [];
  bind<T, A extends unknown[]>(token: Token<T>, deps: readonly [...TokensOf<A>], factory: (...args: A) => T, lifetime: Lifetime = 'singleton'): this {
    this.providers.set(token, { lifetime, make: () => factory(...(deps.map((d) => this.get(d as Token<unknown>)) as A)) });
    return this;
  }
  get<T>(token: Token<T>): T {
    if (this.resolving.includes(token.name)) throw new Error(`cycle: ${[...this.resolving, token.name].join(' -> ')}`);
    if (this.singletons.has(token)) return this.singletons.get(token) as T;
    const provider = this.providers.get(token);
    if (!provider) throw new Error(`no provider for ${token.name}`);
    this.resolving.push(token.name);
    try {
      const made = provider.make() as T;
      if (provider.lifetime === 'singleton') this.singletons.set(token, made);
      return made;
    } finally { this.resolving.pop(); }
  }
}
interface Logger { lines: string[]; log(message: string): void }
interface Clock { now(): number }
class MemoryLogger implements Logger { lines: string[] = []; log(m: string): void { this.lines.push(m); } }
class FakeClock implements Clock { #t = 1000; now() { return (this.#t += 5); } }
class Mailer {
  static created = 0;
  readonly id = ++Mailer.created;
  constructor(private logger: Logger, private clock: Clock, private from = 'noreply') {}
  send(to: string, body?: string): boolean { this.logger.log(`[${this.clock.now()}] #${this.id} ${this.from} -> ${to}: ${body?.trim() ?? '(empty)'}`); return !!body; }
}
const LOGGER = new Token<Logger>('Logger'), CLOCK = new Token<Clock>('Clock'), MAILER = new Token<Mailer>('Mailer'), A = new Token<object>('A'), B = new Token<object>('B');
const container = new Container()
  .bind(LOGGER, [], () => new MemoryLogger())
  .bind(CLOCK, [], () => new FakeClock())
  .bind(MAILER, [LOGGER, CLOCK], (l: Logger, c: Clock) => new Mailer(l, c), 'transient')
  .bind(A, [B], (b: object) => ({ b })).bind(B, [A], (a: object) => ({ a }));
console.log(container.get(MAILER).send('ann', ' hi '), container.get(MAILER).send('bob'));
console.log(container.get(LOGGER).lines, container.get(LOGGER) === container.get(LOGGER), Mailer.created);
for (const t of [A, new Token<string>('Missing')]) try { container.get(t as Token<object>); } catch (e) { console.log((e as Error).message); }
