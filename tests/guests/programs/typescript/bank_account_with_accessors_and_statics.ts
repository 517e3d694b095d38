class Account {
  static #count = 0;
  static readonly RATE = 0.05;
  private _balance: number;
  public readonly id: string;

  constructor(public owner: string, initial: number = 0) {
    this._balance = initial;
    this.id = `ACC-${(++Account.#count).toString().padStart(3, "0")}`;
  }

  get balance(): number { return this._balance; }
  set balance(v: number) {
    if (v < 0) throw new RangeError("negative balance");
    this._balance = v;
  }

  static get count(): number { return Account.#count; }

  interest = (): number => this._balance * Account.RATE;
}

const a = new Account("Ada", 100);
const b = new Account("Bob");
a.balance += 50;
b.balance = 10;
console.log(a.id, a.balance, b.id, b.balance, Account.count, a.interest());
try {
  b.balance = -1;
} catch (e) {
  console.log(e instanceof RangeError, (e as Error).message);
}
console.log(JSON.stringify(a));
