class Matrix {
  readonly rows: number;
  readonly cols: number;
  constructor(private readonly data: number[][]) {
    this.rows = data.length;
    this.cols = data[0]?.length ?? 0;
  }
  static identity(n: number): Matrix {
    return new Matrix(Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => Number(i === j))));
  }
  multiply(other: Matrix): Matrix {
    if (this.cols !== other.rows) throw new Error(`cannot multiply ${this.cols} by ${other.rows}`);
    return new Matrix(this.data.map((row) => other.data[0].map((_, j) => row.reduce((s, v, k) => s + v * other.data[k][j], 0))));
  }
  transpose(): Matrix {
    return new Matrix(this.data[0].map((_, j) => this.data.map((row) => row[j])));
  }
  toString(): string {
    return this.data.map((r) => r.map((v) => v.toString().padStart(4)).join("")).join("\n");
  }
}
const m = new Matrix([[1, 2], [3, 4], [5, 6]]);
console.log(`${m.multiply(m.transpose())}`);
console.log(String(Matrix.identity(2)));
try { m.multiply(m); } catch (e) { console.log((e as Error).message); }
