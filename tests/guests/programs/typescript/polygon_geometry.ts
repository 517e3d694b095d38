// Geometry with tuples, readonly arrays, function types, assertion functions and custom inspection.
type Vec2 = readonly [x: number, y: number];
const add = ([a, b]: Vec2, [c, d]: Vec2): Vec2 => [a + c, b + d];
const scale = (k: number) => ([x, y]: Vec2): Vec2 => [x * k, y * k];
const rotate = (deg: number) => ([x, y]: Vec2): Vec2 => { const t = (deg * Math.PI) / 180; return [x * Math.cos(t) - y * Math.sin(t), x * Math.sin(t) + y * Math.cos(t)]; };
const round = (v: Vec2, digits = 3): Vec2 => v.map((n) => Object.is(+n.toFixed(digits), -0) ? 0 : +n.toFixed(digits)) as unknown as Vec2;
const pipe = <T>(...fs: ((x: T) => T)[]) => (x: T): T => fs.reduce((v, f) => f(v), x);
class Polygon {
  constructor(readonly points: readonly Vec2[]) { Polygon.assertValid(points); }
  static assertValid(p: readonly Vec2[]): asserts p is readonly [Vec2, Vec2, Vec2, ...Vec2[]] { if (p.length < 3) throw new Error(`needs 3 points, got ${p.length}`); }
  static regular(n: number, r = 1): Polygon { return new Polygon(Array.from({ length: n }, (_, i) => rotate((360 / n) * i)([r, 0]))); }
  private *edges(): Generator<[Vec2, Vec2]> { for (const [i, p] of this.points.entries()) yield [p, this.points[(i + 1) % this.points.length]!]; }
  get area(): number { let s = 0; for (const [[a, b], [c, d]] of this.edges()) s += a * d - c * b; return Math.abs(s) / 2; }
  get perimeter(): number { return [...this.edges()].reduce((s, [[a, b], [c, d]]) => s + Math.hypot(c - a, d - b), 0); }
  contains([x, y]: Vec2): boolean { let inside = false; for (const [[a, b], [c, d]] of this.edges()) if (b > y !== d > y && x < ((c - a) * (y - b)) / (d - b) + a) inside = !inside; return inside; }
  map(f: (v: Vec2) => Vec2): Polygon { return new Polygon(this.points.map((p) => f(p))); }
  get bounds(): { min: Vec2; max: Vec2 } { const xs = this.points.map(([x]) => x), ys = this.points.map(([, y]) => y); return { min: [Math.min(...xs), Math.min(...ys)], max: [Math.max(...xs), Math.max(...ys)] }; }
  [Symbol.for('nodejs.util.inspect.custom')](): string { return `Polygon<${this.points.map((p) => round(p, 1).join(' ')).join(', ')}>`; }
}
const square = new Polygon([[0, 0], [4, 0], [4, 4], [0, 4]]);
console.log(square, square.area, square.perimeter, square.contains([1, 1]), square.contains([5, 1]), square.bounds);
console.log(Polygon.regular(6).area.toFixed(4), Polygon.regular(100).perimeter.toFixed(3));
const moved = square.map(pipe(scale(0.5), rotate(90), (v) => add(v, [10, 0])));
console.log(moved.points.map((p) => round(p)), moved.area.toFixed(2), [moved]);
try { new Polygon([[0, 0]]); } catch (e) { console.log((e as Error).message); }
