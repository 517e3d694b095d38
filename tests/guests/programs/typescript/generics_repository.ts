// A generic repository with constraints, mapped types, keyof, conditional types and overloads.
interface Entity { id: number }
interface User extends Entity { name: string; email?: string; tags: string[] }
interface Product extends Entity { title: string; price: number }

type Patch<T> = { [K in keyof T as K extends 'id' ? never : K]?: T[K] };
type ElementType<T> = T extends (infer U)[] ? U : never;
type Getters<T> = { [K in keyof T as `get${Capitalize<string & K>}`]: () => T[K] };

class Repository<T extends Entity> implements Iterable<T> {
  private readonly items = new Map<number, T>();
  private next = 1;
  constructor(private readonly name: string) {}
  add(item: Omit<T, 'id'>): T {
    const made = { ...item, id: this.next++ } as T;
    this.items.set(made.id, made);
    return made;
  }
  find(id: number): T | undefined;
  find(predicate: (item: T) => boolean): T[];
  find(arg: number | ((item: T) => boolean)): T | T[] | undefined {
    return typeof arg === 'number' ? this.items.get(arg) : [...this].filter(arg);
  }
  update(id: number, patch: Patch<T>): T {
    const old = this.items.get(id);
    if (!old) throw new RangeError(`${this.name} ${id} not found`);
    const made = { ...old, ...patch };
    this.items.set(id, made);
    return made;
  }
  pluck<K extends keyof T>(key: K): T[K][] { return [...this].map((x) => x[key]); }
  groupBy<K extends PropertyKey>(f: (item: T) => K): Record<K, T[]> {
    return [...this].reduce((acc, x) => { (acc[f(x)] ??= []).push(x); return acc; }, {} as Record<K, T[]>);
  }
  *[Symbol.iterator](): Iterator<T> { yield* this.items.values(); }
}

const users = new Repository<User>('user');
users.add({ name: 'Ann', tags: ['a', 'b'] });
users.add({ name: 'Bob', email: 'bob@x.org', tags: [] });
const products = new Repository<Product>('product');
[['Pen', 1.5], ['Ink', 7], ['Pad', 3.25]].forEach(([title, price]) => products.add({ title: title as string, price: price as number }));
console.log(users.find(1), users.find((u) => u.email !== undefined).length);
console.log(users.update(2, { tags: ['new'] }), users.pluck('name'));
console.log(products.groupBy((p) => (p.price > 2 ? 'dear' : 'cheap')));
try { products.update(99, {}); } catch (e) { if (e instanceof RangeError) console.log(e.message); }
const first: ElementType<string[]> = 'text';
const getters = <T extends object>(o: T): Getters<T> => Object.fromEntries(Object.entries(o).map(([k, v]) => [`get${k[0].toUpperCase()}${k.slice(1)}`, () => v])) as Getters<T>;
const g = getters({ width: 3, label: first });
console.log(g.getWidth() satisfies number, g.getLabel()!.length, Object.keys(g));
function assertDefined<T>(v: T | undefined | null, what = 'value'): asserts v is T { if (v == null) throw new Error(`${what} is missing`); }
const maybe = users.find(7);
try { assertDefined(maybe, 'user 7'); } catch (e: unknown) { console.log((e as Error).message); }
const tuple: readonly [x: number, y: number, ...rest: string[]] = [1, 2, 'a', 'b'] as const;
const [x, , ...rest] = tuple;
console.log(x, rest, <number>tuple[1] + 1);
