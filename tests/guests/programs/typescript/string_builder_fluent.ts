// Fluent builders, method chaining with this types, tagged templates, an HTML builder and SQL escaping.
class StringBuilder {
  protected parts: string[] = [];
  append(...xs: (string | number | boolean)[]): this { this.parts.push(...xs.map(String)); return this; }
  line(s = ''): this { return this.append(s, '\n'); }
  when(cond: unknown, f: (b: this) => void): this { if (cond) f(this); return this; }
  each<T>(xs: Iterable<T>, f: (b: this, x: T, i: number) => void): this { let i = 0; for (const x of xs) f(this, x, i++); return this; }
  toString(): string { return this.parts.join(''); }
  get length(): number { return this.parts.reduce((n, p) => n + p.length, 0); }
}
class CodeBuilder extends StringBuilder {
  #depth = 0;
  override line(s = ''): this { return super.line('  '.repeat(this.#depth) + s); }
  block(head: string, body: (b: this) => void): this { this.line(`${head} {`); this.#depth++; body(this); this.#depth--; return this.line('}'); }
}
const code = new CodeBuilder().block('class Foo', (b) => b.line('x = 1;').block('run()', (c) => c.each(['a', 'b'], (d, v, i) => d.line(`this.${v} = ${i};`)).when(false, (d) => d.line('never'))));
console.log(`${code}`, code.length, code instanceof StringBuilder);
const html = (strings: TemplateStringsArray, ...values: (string | number | string[] | null | undefined)[]): string =>
  strings.reduce((out, s, i) => { const v = values[i - 1]; return out + (Array.isArray(v) ? v.join('') : String(v ?? '').replace(/[<>&]/g, (c) => `&#${c.charCodeAt(0)};`)) + s; });
const items = ['a<b', 'c&d'];
console.log(html`<ul class="${'x'}">${items.map((i) => html`<li>${i}</li>`)}</ul>${null}`);
const sql = (s: TemplateStringsArray, ...params: unknown[]) => ({ text: s.reduce((q, p, i) => `${q}$${i}${p}`), params });
console.log(sql`SELECT * FROM t WHERE a = ${1} AND b IN (${[2, 3]})`);
const dedent = (s: TemplateStringsArray, ...v: unknown[]): string => { const t = String.raw({ raw: s }, ...v); const n = Math.min(...[...t.matchAll(/^( +)\S/gm)].map((m) => m[1]!.length)); return t.replace(new RegExp(`^ {${n}}`, 'gm'), '').trim(); };
console.log(dedent`
    first ${1 + 1}
      second
    third`);
type Chain<T> = { value: T; map<U>(f: (x: T) => U): Chain<U>; tap(f: (x: T) => void): Chain<T> };
const chain = <T>(value: T): Chain<T> => ({ value, map: (f) => chain(f(value)), tap(f) { f(value); return this; } });
console.log(chain([3, 1, 2]).map((xs) => xs.sort()).tap((xs) => console.log('tap', xs)).map((xs) => xs.join('-')).value);
