// Utility types at work: Partial, Required, Record, Omit, ReturnType, Awaited, recursive types, builders.
interface Config { host: string; port: number; tls?: { cert: string; key: string }; tags: string[] }
type DeepPartial<T> = T extends object ? { [K in keyof T]?: DeepPartial<T[K]> } : T;
type DeepReadonly<T> = { readonly [K in keyof T]: T[K] extends object ? DeepReadonly<T[K]> : T[K] };
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type PathsOf<T, P extends string = ''> = { [K in keyof T & string]: T[K] extends Record<string, unknown> ? PathsOf<T[K], `${P}${K}.`> : `${P}${K}` }[keyof T & string];
const defaults: Required<Omit<Config, 'tls'>> = { host: 'localhost', port: 80, tags: [] };
function merge<T extends object>(base: T, patch: DeepPartial<T>): T {
  const out: any = Array.isArray(base) ? [...base] : { ...base };
  for (const [k, v] of Object.entries(patch)) out[k] = v && typeof v === 'object' && !Array.isArray(v) && out[k] ? merge(out[k], v as object) : v;
  return out;
}
const cfg: Config = merge<Config>({ ...defaults, tls: { cert: 'c', key: 'k' } }, { port: 443, tls: { key: 'new' } });
console.log(cfg);
const freeze = <T extends object>(o: T): DeepReadonly<T> => { Object.values(o).forEach((v) => typeof v === 'object' && v !== null && freeze(v)); return Object.freeze(o) as DeepReadonly<T>; };
const frozen = freeze({ a: { b: [1, 2] } });
try { (frozen as any).a.b.push(3); } catch (e) { console.log((e as Error).name); }
const handlers = { add: (a: number, b: number) => a + b, upper: async (s: string) => s.toUpperCase(), now: () => new Date(0) } as const;
type Handlers = typeof handlers;
type Call<K extends keyof Handlers> = { name: K; args: Parameters<Handlers[K]> };
async function dispatch<K extends keyof Handlers>({ name, args }: Call<K>): Promise<Awaited<ReturnType<Handlers[K]>>> { return (await (handlers[name] as any)(...args)) as any; }
class QueryBuilder<Selected extends string = never> {
  private parts: { fields: string[]; where: string[]; limit?: number } = { fields: [], where: [] };
  select<F extends string>(...f: F[]): QueryBuilder<Selected | F> { this.parts.fields.push(...f); return this as unknown as QueryBuilder<Selected | F>; }
  where(field: Selected, op: '=' | '<' | '>', value: string | number): this { this.parts.where.push(`${field} ${op} ${typeof value === 'string' ? `'${value.replace(/'/g, "''")}'` : value}`); return this; }
  limit(n: number): this { this.parts.limit = n; return this; }
  toSQL(table: string): string { const { fields, where, limit } = this.parts; return [`SELECT ${fields.join(', ') || '*'} FROM ${table}`, where.length && `WHERE ${where.join(' AND ')}`, limit !== undefined && `LIMIT ${limit}`].filter(Boolean).join(' '); }
}
const walk = (j: Json, depth = 0): number => (j !== null && typeof j === 'object' ? Math.max(depth, ...Object.values(j).map((v) => walk(v as Json, depth + 1))) : depth);
const roles: Record<'admin' | 'user', ReadonlySet<string>> = { admin: new Set(['read', 'write']), user: new Set(['read']) };
const path: PathsOf<{ a: { b: number }; c: string }> = 'a.b';
(async () => {
  console.log(await dispatch({ name: 'add', args: [2, 3] }), await dispatch({ name: 'upper', args: ['x'] }), (await dispatch({ name: 'now', args: [] })).getTime());
  console.log(new QueryBuilder().select('id', 'name').where('name', '=', "O'Neil").where('id', '>', 5).limit(3).toSQL('users'), new QueryBuilder().toSQL('t'));
  console.log(walk({ a: [1, { b: [null] }], c: 'x' }), roles.admin.has('write'), path, Object.entries(roles).map(([k, v]) => `${k}:${[...v]}`));
})();
