// Newer syntax: satisfies, using-free resources, optional chaining, definite assignment, abstract constructors, index access, unique symbol.
import { strict as assert } from 'node:assert';
import * as path from 'node:path';
import type { Stats } from 'node:fs';

const palette = { red: [255, 0, 0], green: '#00ff00' } satisfies Record<string, string | number[]>;
console.log(palette.red.at(0), palette.green.toUpperCase());
declare const notThere: string;
declare global { interface Array<T> { second(): T | undefined } }
Array.prototype.second = function () { return this[1]; };
console.log([1, 2, 3].second(), typeof notThere === 'undefined');
class Late { value!: number; readonly #secret: string = 's'; static readonly defaults = { a: 1 } as const; init(): asserts this is this & { value: number } { this.value = 9; } reveal = (): string => this.#secret; }
const late = new Late();
late.init();
console.log(late.value, late.reveal(), Late.defaults.a);
type Ctor<T = {}> = abstract new (...args: any[]) => T;
function Timestamped<TBase extends new (...args: any[]) => {}>(Base: TBase) { return class extends Base { created = 123; }; }
class User { constructor(public name: string) {} }
const u = new (Timestamped(User))('zed');
console.log(u.name, u.created, u);
const key: unique symbol = Symbol('key');
interface Bag { [key]?: number; [name: string]: unknown }
const bag: Bag = { [key]: 1, other: null };
console.log(bag[key], bag.other ?? 'nothing', bag?.['missing' as string]);
function isString(x: unknown): x is string { return typeof x === 'string'; }
const mixed: (string | number | null)[] = ['a', 1, null, 'b'];
console.log(mixed.filter(isString).map((s) => s.toUpperCase()), mixed.filter((x): x is number => x !== null && !isString(x)));
let counter = 0;
const lazy = { get v() { return ++counter; } };
lazy.v; lazy?.v;
let opt: { n?: number | null } = {};
opt.n ??= 5; opt.n ||= 6; opt.n &&= 7;
console.log(counter, opt, 2 ** -1, 10_000n ** 3n);
assert.deepEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] });
try { assert.equal(1, 2, 'numbers differ'); } catch (e: any) { console.log(e.name, e.message, e.code); }
const stats: Pick<Stats, 'size'> = { size: 3 };
console.log(path.posix.join('a', '..', 'b'), stats);
function f(this: { k: number }, ...rest: [a: number, b?: string]): string { return `${this.k}${rest[0]}${rest[1] ?? '-'}`; }
console.log(f.call({ k: 1 }, 2), f.apply({ k: 3 }, [4, 'x']));
const tpl = (s: TemplateStringsArray, ...v: unknown[]) => s.raw.map((t, i) => t + (v[i] !== undefined ? `<${v[i]}>` : '')).join('');
console.log(tpl`a${1}b\n${'two'}c`);
export const answer = 42 as const;
export default class {}
export type { Ctor };
