// A simulation with seeded randomness, enums as keys, static factories, getters, and a histogram.
enum Kind { Deposit, Withdraw, Transfer }
interface Tx { kind: Kind; from?: number; to?: number; amount: number; at: number }
class Rng { constructor(private seed: number) {} next(): number { this.seed = (Math.imul(this.seed, 1664525) + 1013904223) >>> 0; return this.seed / 2 ** 32; } int(max: number): number { return Math.floor(this.next() * max); } pick<T>(xs: readonly T[]): T { return xs[this.int(xs.length)]!; } }
abstract class Account {
  private static _count = 0;
  readonly id = Account._count++;
  protected constructor(protected _balance: number) {}
  get balance(): number { return this._balance; }
  abstract get limit(): number;
  apply(delta: number): boolean { if (this._balance + delta < this.limit) return false; this._balance += delta; return true; }
  static create(kind: 'basic' | 'credit', initial = 0): Account { return kind === 'basic' ? new Basic(initial) : new Credit(initial); }
}
class Basic extends Account { constructor(b: number) { super(b); } get limit() { return 0; } }
class Credit extends Account { constructor(b: number, private readonly line = 500) { super(b); } get limit(): number { return -this.line; } }
class Bank {
  readonly rejected: Partial<Record<Kind, number>> = {};
  constructor(private readonly accounts: Account[]) {}
  process(tx: Tx): void {
    const { kind, from, to, amount } = tx;
    const ok = kind === Kind.Deposit ? this.accounts[to!]!.apply(amount) : kind === Kind.Withdraw ? this.accounts[from!]!.apply(-amount) : from !== to && this.accounts[from!]!.apply(-amount) && this.accounts[to!]!.apply(amount);
    if (!ok) this.rejected[kind] = (this.rejected[kind] ?? 0) + 1;
  }
  get total(): number { return this.accounts.reduce((s, a) => s + a.balance, 0); }
}
const rng = new Rng(2024);
const accounts = Array.from({ length: 6 }, (_, i) => Account.create(i % 2 ? 'credit' : 'basic', 100));
const bank = new Bank(accounts);
const counts = new Map<Kind, number>();
for (let at = 0; at < 500; at++) {
  const kind = rng.pick([Kind.Deposit, Kind.Withdraw, Kind.Transfer, Kind.Transfer] as const);
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
  bank.process({ kind, at, amount: rng.int(80) + 1, ...(kind !== Kind.Deposit && { from: rng.int(6) }), ...(kind !== Kind.Withdraw && { to: rng.int(6) }) });
}
for (const [k, n] of [...counts].sort(([a], [b]) => a - b)) console.log(Kind[k]!.padEnd(9), String(n).padStart(4), 'rejected', bank.rejected[k] ?? 0);
for (const a of accounts) console.log(`#${a.id} ${a.constructor.name.padEnd(7)}${a.balance.toString().padStart(6)} ${'*'.repeat(Math.max(0, Math.round(a.balance / 50)))}`);
console.log(bank.total, accounts.every((a) => a.balance >= a.limit), (Object.keys(Kind) as (keyof typeof Kind)[]).filter((k) => isNaN(+k)));
