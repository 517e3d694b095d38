// A type-safe state machine for a vending machine, with enums, records, and template literal types.
enum State { Idle = 'idle', HasMoney = 'has-money', Vending = 'vending', OutOfOrder = 'out-of-order' }
type EventName = 'coin' | 'select' | 'vend' | 'refund' | 'kick';
type Transition = `${State} -> ${State}`;
interface Context { cents: number; stock: Record<string, number>; chosen?: string; readonly prices: Readonly<Record<string, number>> }
type Action = (ctx: Context, arg?: any) => State | [State, string];

const table: Partial<Record<State, Partial<Record<EventName, Action>>>> = {
  [State.Idle]: { coin: (c, n: number) => { c.cents += n; return State.HasMoney; }, kick: () => [State.OutOfOrder, 'ouch'] },
  [State.HasMoney]: {
    coin: (c, n: number) => { c.cents += n; return State.HasMoney; },
    select: (c, item: keyof typeof c.prices & string) => {
      const price = c.prices[item];
      if (price === undefined) return [State.HasMoney, `no ${item}`];
      if (!c.stock[item]) return [State.HasMoney, `${item} sold out`];
      if (c.cents < price) return [State.HasMoney, `${item} costs ${price}, have ${c.cents}`];
      c.chosen = item;
      return State.Vending;
    },
    refund: (c) => { const n = c.cents; c.cents = 0; return [State.Idle, `refunded ${n}`]; },
  },
  [State.Vending]: {
    vend: (c) => { const item = c.chosen!; c.stock[item]!--; c.cents -= c.prices[item]!; delete c.chosen; return [c.cents > 0 ? State.HasMoney : State.Idle, `here is your ${item}`]; },
  },
};
class Machine {
  private history: Transition[] = [];
  constructor(private ctx: Context, public state = State.Idle) {}
  fire(event: EventName, arg?: unknown): string {
    const action = table[this.state]?.[event];
    if (!action) return `${event} ignored in ${this.state}`;
    const out = action(this.ctx, arg);
    const [next, message] = Array.isArray(out) ? out : ([out, ''] as const);
    this.history.push(`${this.state} -> ${next}`);
    this.state = next;
    return message || `now ${next} (${this.ctx.cents})`;
  }
  get log(): readonly Transition[] { return this.history; }
}
const m = new Machine({ cents: 0, stock: { cola: 1, chips: 5 }, prices: { cola: 150, chips: 100 } });
const script: Array<[EventName, unknown?]> = [['select', 'cola'], ['coin', 100], ['select', 'cola'], ['coin', 100], ['select', 'tea'], ['select', 'cola'], ['vend'], ['select', 'cola'], ['refund'], ['kick'], ['coin', 5]];
for (const [e, a] of script) console.log(`${e}${a !== undefined ? `(${a})` : ''}: ${m.fire(e, a)}`);
console.log(m.log.length, m.log[0], new Set(m.log).size, m.state === State.OutOfOrder);
