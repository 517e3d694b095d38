// A typed tokenizer, Pratt parser and evaluator with an AST of discriminated unions.
type Token = { type: 'num'; value: number } | { type: 'op'; value: '+' | '-' | '*' | '/' | '^' | '(' | ')' | ',' } | { type: 'id'; value: string };
type Ast =
  | { node: 'num'; value: number }
  | { node: 'unary'; op: '-'; arg: Ast }
  | { node: 'binary'; op: string; left: Ast; right: Ast }
  | { node: 'call'; name: string; args: Ast[] };

function* tokenize(src: string): Generator<Token> {
  const re = /\s*(?:(\d+(?:\.\d+)?)|([a-z]\w*)|([-+*/^(),]))/gy;
  let last = 0;
  for (let m: RegExpExecArray | null; (m = re.exec(src)); last = re.lastIndex) {
    if (m[1]) yield { type: 'num', value: parseFloat(m[1]) };
    else if (m[2]) yield { type: 'id', value: m[2] };
    else yield { type: 'op', value: m[3] as any };
  }
  if (src.slice(last).trim()) throw new SyntaxError(`unexpected "${src.slice(last).trim()[0]}" at ${last}`);
}

class Parser {
  private readonly tokens: Token[];
  private pos = 0;
  private static readonly power: Readonly<Record<string, [left: number, right: number]>> = { '+': [1, 2], '-': [1, 2], '*': [3, 4], '/': [3, 4], '^': [8, 7] };
  constructor(src: string) { this.tokens = [...tokenize(src)]; }
  private get current(): Token | undefined { return this.tokens[this.pos]; }
  private accept(v: string): boolean { if (this.current?.type === 'op' && this.current.value === v) { this.pos++; return true; } return false; }
  private expect(v: string): void { if (!this.accept(v)) throw new SyntaxError(`expected ${v}, got ${this.current?.value ?? 'end'}`); }
  parse(): Ast { const ast = this.expr(0); if (this.current) throw new SyntaxError(`unexpected ${this.current.value}`); return ast; }
  private expr(min: number): Ast {
    let left = this.prefix();
    for (;;) {
      const t = this.current;
      const bp = t?.type === 'op' ? Parser.power[t.value] : undefined;
      if (!bp || bp[0] < min) return left;
      this.pos++;
      left = { node: 'binary', op: t!.value as string, left, right: this.expr(bp[1]) };
    }
  }
  private prefix(): Ast {
    const t = this.tokens[this.pos++];
    if (!t) throw new SyntaxError('unexpected end');
    if (t.type === 'num') return { node: 'num', value: t.value };
    if (t.type === 'id') {
      if (!this.accept('(')) return { node: 'call', name: t.value, args: [] };
      const args: Ast[] = [];
      if (!this.accept(')')) { do args.push(this.expr(0)); while (this.accept(',')); this.expect(')'); }
      return { node: 'call', name: t.value, args };
    }
    if (t.value === '(') { const e = this.expr(0); this.expect(')'); return e; }
    if (t.value === '-') return { node: 'unary', op: '-', arg: this.expr(5) };
    throw new SyntaxError(`unexpected ${t.value}`);
  }
}
const env: Record<string, (...xs: number[]) => number> = { pi: () => Math.PI, sqrt: Math.sqrt, max: Math.max, sum: (...xs) => xs.reduce((a, b) => a + b, 0) };
const evaluate = (a: Ast): number => {
  switch (a.node) {
    case 'num': return a.value;
    case 'unary': return -evaluate(a.arg);
    case 'binary': { const l = evaluate(a.left), r = evaluate(a.right); return { '+': l + r, '-': l - r, '*': l * r, '/': l / r, '^': l ** r }[a.op]!; }
    case 'call': { const f = env[a.name]; if (!f) throw new ReferenceError(`unknown ${a.name}`); return f(...a.args.map(evaluate)); }
  }
};
const show = (a: Ast): string => a.node === 'num' ? `${a.value}` : a.node === 'unary' ? `(- ${show(a.arg)})` : a.node === 'binary' ? `(${a.op} ${show(a.left)} ${show(a.right)})` : `(${[a.name, ...a.args.map(show)].join(' ')})`;
for (const src of ['1 + 2 * 3 - 4', '2 ^ 3 ^ 2', '-2 ^ 2', '(1 + 2) * -3', 'max(1, sqrt(16), 3) + sum()', 'pi * 2', '1 +', '2 $ 3', 'foo(1)', '(1', '3 4']) {
  try { const ast = new Parser(src).parse(); console.log(`${src.padEnd(28)} ${show(ast).padEnd(34)} ${evaluate(ast)}`); } catch (e) { console.log(`${src.padEnd(28)} ${(e as Error).name}: ${(e as Error).message}`); }
}
