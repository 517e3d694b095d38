// Mixins with constrained constructors, Symbol-based traits, declaration merging with interfaces, accessors.
type Constructor<T = object> = new (...args: any[]) => T;
interface Named { name: string }
function Serializable<B extends Constructor>(Base: B) { return class Serializable extends Base { serialize(): string { return JSON.stringify(this, Object.keys(this).sort()); } }; }
function Tagged<B extends Constructor<Named>>(Base: B) { return class extends Base { #tags = new Set<string>(); tag(...t: string[]): this { t.forEach((x) => this.#tags.add(x)); return this; } get tags(): string { return `${this.name}:${[...this.#tags].join('|')}`; } }; }
function Timestamped<B extends Constructor>(Base: B) { return class extends Base { created = 1000; touched?: number; touch(): void { this.touched = (this.touched ?? this.created) + 1; } }; }
class Person { constructor(public name: string, protected _age: number) {} get age(): number { return this._age; } set age(v: number) { if (v < 0) throw new RangeError(`age ${v}`); this._age = v; } static compare(a: Person, b: Person): number { return a._age - b._age; } }
interface Person { nickname?: string; greet(): string }
Person.prototype.greet = function (this: Person) { return `hi, ${this.nickname ?? this.name}`; };
class Employee extends Tagged(Serializable(Timestamped(Person))) { constructor(name: string, age: number, readonly title = 'staff') { super(name, age); } override greet(): string { return `${super.greet()} (${this.title})`; } }
const e = new Employee('Zoe', 30, 'boss');
e.nickname = 'Z';
e.touch(); e.touch();
console.log(e.greet(), e.tag('a', 'b').tag('a').tags, e.touched, e.serialize());
e.age += 5;
try { e.age = -1; } catch (x) { console.log((x as Error).message); }
console.log(e.age, [e, new Employee('Al', 20)].sort(Person.compare).map((p) => p.name), e instanceof Person);
const Eq = Symbol('Eq');
interface HasEq { [Eq](o: this): boolean }
class Money implements HasEq { constructor(readonly cents: number, readonly currency: 'EUR' | 'USD' = 'EUR') {} [Eq](o: Money) { return this.cents === o.cents && this.currency === o.currency; } static [Symbol.hasInstance](x: unknown): boolean { return typeof x === 'object' && x !== null && 'cents' in x; } }
const distinct = <T extends HasEq>(xs: T[]): T[] => xs.reduce<T[]>((out, x) => (out.some((y) => y[Eq](x as any)) ? out : [...out, x]), []);
console.log(distinct([new Money(1), new Money(1), new Money(1, 'USD')]), ({ cents: 5 } as unknown) instanceof Money);
class Temperature { private c = 0; get fahrenheit() { return this.c * 1.8 + 32; } set fahrenheit(f: number) { this.c = (f - 32) / 1.8; } get celsius() { return Math.round(this.c * 100) / 100; } static readonly FREEZING = Object.freeze(new Temperature()); }
const temp = new Temperature();
temp.fahrenheit = 212;
console.log(temp.celsius, Temperature.FREEZING.fahrenheit, Object.keys(temp), e);
