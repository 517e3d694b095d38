// A validator combinator library with inferred types, nested error paths, unions, defaults and refinement.
type Issue = { path: string; message: string };
class ValidationError extends Error { constructor(public readonly issues: Issue[]) { super(issues.map((i) => `${i.path || '$'}: ${i.message}`).join('; ')); this.name = 'ValidationError'; } }
abstract class Type<T> {
  declare readonly _: T;
  abstract check(v: unknown, path: string, issues: Issue[]): T;
  parse(v: unknown): T { const issues: Issue[] = []; const out = this.check(v, '', issues); if (issues.length) throw new ValidationError(issues); return out; }
  optional(): Type<T | undefined> { return make((v, p, i) => (v === undefined ? undefined : this.check(v, p, i))); }
  default(d: T): Type<T> { return make((v, p, i) => (v === undefined ? d : this.check(v, p, i))); }
  refine(f: (v: T) => boolean, message: string): Type<T> { return make((v, p, i) => { const before = i.length, out = this.check(v, p, i); if (i.length === before && !f(out)) i.push({ path: p, message }); return out; }); }
}
function make<T>(check: (v: unknown, path: string, issues: Issue[]) => T): Type<T> { return new (class extends Type<T> { check = check; })(); }
type Infer<X> = X extends Type<infer T> ? T : never;
const primitive = <T>(name: string): Type<T> => make((v, path, issues) => { if (typeof v !== name) issues.push({ path, message: `expected ${name}, got ${v === null ? 'null' : typeof v}` }); return v as T; });
const t = {
  string: primitive<string>('string'), number: primitive<number>('number'), boolean: primitive<boolean>('boolean'),
  array: <T>(item: Type<T>) => make<T[]>((v, path, issues) => { if (!Array.isArray(v)) { issues.push({ path, message: 'expected array' }); return []; } return v.map((x, i) => item.check(x, `${path}[${i}]`, issues)); }),
  object: <S extends Record<string, Type<any>>>(shape: S) => make<{ [K in keyof S]: Infer<S[K]> }>((v, path, issues) => {
    if (typeof v !== 'object' || v === null) { issues.push({ path, message: 'expected object' }); return {} as any; }
    for (const k of Object.keys(v)) if (!(k in shape)) issues.push({ path: `${path}.${k}`, message: 'unknown key' });
    return Object.fromEntries(Object.entries(shape).map(([k, type]) => [k, type.check((v as any)[k], `${path}.${k}`, issues)])) as any;
  }),
  literal: <const L extends readonly (string | number)[]>(...ls: L) => make<L[number]>((v, path, issues) => { if (!ls.includes(v as any)) issues.push({ path, message: `expected one of ${ls.join(', ')}` }); return v as L[number]; }),
};
const User = t.object({ name: t.string.refine((s) => s.length > 1, 'too short'), age: t.number.optional(), role: t.literal('admin', 'user').default('user'), tags: t.array(t.string).default([]) });
type User = Infer<typeof User>;
const inputs: unknown[] = [{ name: 'Ann' }, { name: 'Bob', age: 3, role: 'admin', tags: ['x'] }, { name: 'C', age: '4', extra: 1 }, { name: 5, role: 'king', tags: ['a', 2] }, null, []];
for (const i of inputs) try { const u: User = User.parse(i); console.log('ok', u); } catch (e) { if (e instanceof ValidationError) console.log(e.issues.length, e.message); else throw e; }
