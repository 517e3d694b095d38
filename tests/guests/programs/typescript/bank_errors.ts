// Custom errors with instanceof, assertion functions, finally order, error causes and an uncaught error at the end.
class BankError extends Error {
  constructor(message: string, public readonly code: string, options?: ErrorOptions) { super(message, options); this.name = new.target.name; }
}
class InsufficientFunds extends BankError {
  constructor(public readonly needed: number, public readonly available: number) { super(`need ${needed}, have ${available}`, 'E_FUNDS'); }
}
class Account {
  #balance = 0;
  private static nextId = 1;
  readonly id: string;
  constructor(readonly owner: string, initial = 0) { this.id = `acc-${Account.nextId++}`; this.#balance = initial; }
  get balance(): number { return this.#balance; }
  deposit(amount: number): this { if (amount <= 0) throw new RangeError('amount must be positive'); this.#balance += amount; return this; }
  withdraw(amount: number): this { if (amount > this.#balance) throw new InsufficientFunds(amount, this.#balance); this.#balance -= amount; return this; }
}
function transfer(from: Account, to: Account, amount: number): void {
  const steps: string[] = [];
  try {
    from.withdraw(amount); steps.push('withdrawn');
    to.deposit(amount); steps.push('deposited');
  } catch (e) {
    steps.push('failed');
    throw new BankError(`transfer of ${amount} failed`, 'E_TRANSFER', { cause: e });
  } finally {
    steps.push('finally');
    console.log(`${from.id} -> ${to.id}: ${steps.join(', ')}`);
  }
}
const a = new Account('ann', 100), b = new Account('bob');
transfer(a, b, 30);
console.log(a.balance, b.balance, JSON.stringify(a), a);
try { transfer(a, b, 500); } catch (e) {
  if (e instanceof BankError) {
    console.log(e.name, e.code, e.message);
    if (e.cause instanceof InsufficientFunds) console.log(e.cause.name, e.cause.needed - e.cause.available, e.cause instanceof BankError, e.cause.toString());
  }
}
try { a.deposit(-1); } catch (e) { console.log(e instanceof RangeError ? (e as RangeError).message : 'other'); }
const order: string[] = [];
const test = (): string => { try { order.push('try'); return 'returned'; } finally { order.push('finally'); } };
console.log(test(), order);
process.on('exit', (code) => console.log('exit code', code));
a.withdraw(1e6);
console.log('not reached');
