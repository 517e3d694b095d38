// A numeric matrix with operator-like methods, tuple types, function overloads and readonly arrays.
type Vec = readonly number[];
type Size = readonly [rows: number, cols: number];
class Matrix {
  private constructor(private readonly data: ReadonlyArray<Vec>) {}
  static of(...rows: Vec[]): Matrix { if (new Set(rows.map((r) => r.length)).size !== 1) throw new RangeError('ragged'); return new Matrix(rows); }
  static identity(n: number): Matrix { return Matrix.generate([n, n], (i, j) => +(i === j)); }
  static generate([rows, cols]: Size, f: (i: number, j: number) => number): Matrix { return new Matrix(Array.from({ length: rows }, (_, i) => Array.from({ length: cols }, (_, j) => f(i, j)))); }
  get size(): Size { return [this.data.length, this.data[0]?.length ?? 0]; }
  at(i: number, j: number): number { return this.data.at(i)?.at(j) ?? NaN; }
  times(k: number): Matrix;
  times(m: Matrix): Matrix;
  times(o: number | Matrix): Matrix {
    if (typeof o === 'number') return Matrix.generate(this.size, (i, j) => this.at(i, j) * o);
    const [n, k] = this.size, [k2, m] = o.size;
    if (k !== k2) throw new RangeError(`cannot multiply ${n}x${k} by ${k2}x${m}`);
    return Matrix.generate([n, m], (i, j) => this.data[i]!.reduce((s, v, x) => s + v * o.at(x, j), 0));
  }
  plus(o: Matrix): Matrix { return Matrix.generate(this.size, (i, j) => this.at(i, j) + o.at(i, j)); }
  get transpose(): Matrix { const [r, c] = this.size; return Matrix.generate([c, r], (i, j) => this.at(j, i)); }
  minor(r: number, c: number): Matrix { return new Matrix(this.data.filter((_, i) => i !== r).map((row) => row.filter((_, j) => j !== c))); }
  get determinant(): number { const [n] = this.size; return n === 1 ? this.at(0, 0) : this.data[0]!.reduce((s, v, j) => s + (j % 2 ? -1 : 1) * v * this.minor(0, j).determinant, 0); }
  pow(n: number): Matrix { return n === 0 ? Matrix.identity(this.size[0]) : n % 2 ? this.times(this.pow(n - 1)) : ((h) => h.times(h))(this.pow(n / 2)); }
  equals(o: Matrix, eps = 1e-9): boolean { return this.data.every((row, i) => row.every((v, j) => Math.abs(v - o.at(i, j)) < eps)); }
  *[Symbol.iterator](): Generator<Vec> { yield* this.data; }
  toString(): string { return this.data.map((r) => r.map((v) => String(v).padStart(4)).join('')).join('\n'); }
  get [Symbol.toStringTag](): string { return `Matrix ${this.size.join('x')}`; }
}
const a = Matrix.of([1, 2], [3, 4]), b = Matrix.generate([2, 3], (i, j) => i * 3 + j);
console.log(`${a}\n--\n${a.times(b)}\n--\n${b.transpose}`);
console.log(a.times(2).at(-1, -1), a.plus(a).equals(a.times(2)), a.determinant, Matrix.of([2, 0, 1], [1, 3, 2], [1, 1, 4]).determinant);
console.log(`${Matrix.of([1, 1], [1, 0]).pow(30)}`, Object.prototype.toString.call(a));
console.log([...a].map((r) => r.reduce((x, y) => x + y)), a.size, a);
for (const f of [() => b.times(b), () => Matrix.of([1], [1, 2])] as (() => Matrix)[]) try { f(); } catch (e) { console.log((e as RangeError).name, (e as RangeError).message); }
