// Parse CSV into typed records by a schema of parsers; collect errors; aggregate.
type Parser<T> = (raw: string) => T;
type Schema = Record<string, Parser<unknown>>;
type RowOf<S extends Schema> = { [K in keyof S]: ReturnType<S[K]> };
const str: Parser<string> = (s) => s.trim();
const int: Parser<number> = (s) => { const n = Number(s); if (!Number.isInteger(n)) throw new TypeError(`"${s}" is not a whole number`); return n; };
const date: Parser<Date> = (s) => { const d = new Date(`${s}T00:00:00Z`); if (Number.isNaN(d.getTime())) throw new TypeError(`"${s}" is not a date`); return d; };
const oneOf = <const T extends readonly string[]>(...xs: T): Parser<T[number]> => (s) => { if (!(xs as readonly string[]).includes(s)) throw new TypeError(`"${s}" is not one of ${xs.join('|')}`); return s as T[number]; };
function parseCsv<S extends Schema>(text: string, schema: S): { rows: RowOf<S>[]; errors: string[] } {
  const [head, ...lines] = text.trim().split('\n').map((l) => l.split(','));
  const rows: RowOf<S>[] = [], errors: string[] = [];
  lines.forEach((cells, i) => {
    try { rows.push(Object.fromEntries(head!.map((h, c) => [h, schema[h]!(cells[c] ?? '')])) as RowOf<S>); }
    catch (e) { errors.push(`line ${i + 2}: ${(e as Error).message}`); }
  });
  return { rows, errors };
}
const schema = { name: str, qty: int, kind: oneOf('in', 'out'), day: date } satisfies Schema;
const { rows, errors } = parseCsv(`name,qty,kind,day
bolt, 5,in,2024-01-02
nut,x,in,2024-01-03
screw,7,sideways,2024-01-03
bolt,2,out,2024-02-01
nail,9,in,2024-13-01`, schema);
console.log(rows);
errors.forEach((e) => console.log(e));
const stock = rows.reduce<Record<string, number>>((acc, { name, qty, kind }) => ({ ...acc, [name]: (acc[name] ?? 0) + (kind === 'in' ? qty : -qty) }), {});
console.log(stock, rows.map((r) => r.day.getUTCMonth() + 1));
const months = Object.groupBy ? 'groupBy' : 'no groupBy';
console.log(typeof months, rows.at(-1)?.kind, rows.findIndex((r) => r.qty > 4));
