// Event sourcing for a shopping cart: union types, exhaustive reducers, immutability, branded types.
type Brand<T, B extends string> = T & { readonly __brand: B };
type Cents = Brand<number, 'Cents'>;
type Sku = Brand<string, 'Sku'>;
const cents = (n: number): Cents => { if (!Number.isInteger(n)) throw new TypeError(`not whole cents: ${n}`); return n as Cents; };
const sku = (s: string) => s.toUpperCase() as Sku;

type CartEvent = Readonly<
  | { type: 'ItemAdded'; sku: Sku; price: Cents; quantity: number }
  | { type: 'ItemRemoved'; sku: Sku }
  | { type: 'CouponApplied'; percent: number }
  | { type: 'CheckedOut'; at: string }
>;
interface Cart { readonly lines: ReadonlyMap<Sku, { price: Cents; quantity: number }>; readonly discount: number; readonly status: 'open' | 'closed' }
const empty: Cart = { lines: new Map(), discount: 0, status: 'open' };

const handlers: { [T in CartEvent['type']]: (cart: Cart, event: Extract<CartEvent, { type: T }>) => Cart } = {
  ItemAdded: (cart, e) => {
    const old = cart.lines.get(e.sku);
    return { ...cart, lines: new Map(cart.lines).set(e.sku, { price: e.price, quantity: (old?.quantity ?? 0) + e.quantity }) };
  },
  ItemRemoved: (cart, e) => { const lines = new Map(cart.lines); lines.delete(e.sku); return { ...cart, lines }; },
  CouponApplied: (cart, e) => ({ ...cart, discount: Math.max(cart.discount, e.percent) }),
  CheckedOut: (cart) => ({ ...cart, status: 'closed' }),
};
function apply(cart: Cart, event: CartEvent): Cart {
  if (cart.status === 'closed') throw new Error(`cart is closed, cannot ${event.type}`);
  return (handlers[event.type] as (c: Cart, e: CartEvent) => Cart)(cart, event);
}
const total = (cart: Cart): Cents => cents(Math.round([...cart.lines.values()].reduce((s, l) => s + l.price * l.quantity, 0) * (1 - cart.discount / 100)));
const money = (c: Cents) => `$${(c / 100).toFixed(2)}`;

const history: CartEvent[] = [
  { type: 'ItemAdded', sku: sku('pen-1'), price: cents(199), quantity: 3 },
  { type: 'ItemAdded', sku: sku('book-7'), price: cents(2450), quantity: 1 },
  { type: 'ItemAdded', sku: sku('pen-1'), price: cents(199), quantity: 2 },
  { type: 'CouponApplied', percent: 15 },
  { type: 'ItemRemoved', sku: sku('book-7') },
  { type: 'CheckedOut', at: '2024-05-01' },
];
const states = history.reduce<Cart[]>((acc, e) => [...acc, apply(acc[acc.length - 1], e)], [empty]);
states.forEach((s, i) => console.log(i, history[i - 1]?.type ?? '-', s.lines.size, money(total(s)), s.status));
console.log(states.at(-1));
try { apply(states.at(-1)!, { type: 'CouponApplied', percent: 50 }); } catch (e) { console.log((e as Error).message); }
try { cents(1.5); } catch (e) { console.log((e as Error).name, (e as Error).message); }
