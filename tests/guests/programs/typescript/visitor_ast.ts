// An AST with classes and the visitor pattern: printing, evaluating, simplifying, differentiating.
interface Visitor<R> { num(e: Num): R; variable(e: Var): R; binary(e: Bin): R }
abstract class Expr { abstract accept<R>(v: Visitor<R>): R; toString(): string { return this.accept(printer); } }
class Num extends Expr { constructor(readonly value: number) { super(); } accept<R>(v: Visitor<R>): R { return v.num(this); } }
class Var extends Expr { constructor(readonly name: string) { super(); } accept<R>(v: Visitor<R>): R { return v.variable(this); } }
type Op = '+' | '-' | '*' | '/';
class Bin extends Expr { constructor(readonly op: Op, readonly l: Expr, readonly r: Expr) { super(); } accept<R>(v: Visitor<R>): R { return v.binary(this); } }
const printer: Visitor<string> = { num: (e) => `${e.value}`, variable: (e) => e.name, binary: (e) => `(${e.l} ${e.op} ${e.r})` };
const evaluator = (env: ReadonlyMap<string, number>): Visitor<number> => ({
  num: (e) => e.value,
  variable(e) { const v = env.get(e.name); if (v === undefined) throw new ReferenceError(`unbound ${e.name}`); return v; },
  binary(e) { const [a, b] = [e.l.accept(this), e.r.accept(this)]; return e.op === '+' ? a + b : e.op === '-' ? a - b : e.op === '*' ? a * b : a / b; },
});
const n = (v: number) => new Num(v), x = new Var('x'), y = new Var('y');
const isNum = (e: Expr, v: number): boolean => e instanceof Num && e.value === v;
const simplify: Visitor<Expr> = {
  num: (e) => e, variable: (e) => e,
  binary(e) {
    const l = e.l.accept(simplify), r = e.r.accept(simplify);
    if (l instanceof Num && r instanceof Num) return n(new Bin(e.op, l, r).accept(evaluator(new Map())));
    if (e.op === '*') { if (isNum(l, 0) || isNum(r, 0)) return n(0); if (isNum(l, 1)) return r; if (isNum(r, 1)) return l; }
    if (e.op === '+') { if (isNum(l, 0)) return r; if (isNum(r, 0)) return l; }
    return new Bin(e.op, l, r);
  },
};
class Derivative implements Visitor<Expr> {
  constructor(private readonly by: string) {}
  num() { return n(0); }
  variable(e: Var) { return n(+(e.name === this.by)); }
  binary({ op, l, r }: Bin): Expr {
    const dl = l.accept(this), dr = r.accept(this);
    if (op === '+' || op === '-') return new Bin(op, dl, dr);
    const a = new Bin('*', dl, r), b = new Bin('*', l, dr);
    return op === '*' ? new Bin('+', a, b) : new Bin('/', new Bin('-', a, b), new Bin('*', r, r));
  }
}
const e = new Bin('+', new Bin('*', x, x), new Bin('*', n(3), new Bin('+', y, n(0))));
console.log(`${e}`, e.accept(evaluator(new Map([['x', 2], ['y', 5]]))));
console.log(`${e.accept(simplify)}`, `${e.accept(new Derivative('x')).accept(simplify)}`, `${e.accept(new Derivative('y')).accept(simplify)}`);
try { e.accept(evaluator(new Map())); } catch (err) { console.log((err as Error).message); }
console.log(new Bin('*', n(2), n(4)).accept(simplify), e instanceof Expr, Object.getPrototypeOf(Num).name);
