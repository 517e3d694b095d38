// Linear algebra as an ES module: elimination, inverse, eigenvalues by power iteration, least squares, formatting.
import { strict as assert } from 'node:assert';
import util from 'node:util';
export const zeros = (r, c) => Array.from({ length: r }, () => new Array(c).fill(0));
export const mul = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((s, v, k) => s + v * b[k][j], 0)));
export const transpose = (m) => m[0].map((_, j) => m.map((r) => r[j]));
export function gauss(m, b) {
  const a = m.map((r, i) => [...r, ...b[i]]), n = m.length;
  for (let c = 0; c < n; c++) {
    const p = a.slice(c).reduce((best, r, i) => (Math.abs(r[c]) > Math.abs(a[best][c]) ? i + c : best), c);
    if (Math.abs(a[p][c]) < 1e-12) throw new Error('singular');
    [a[c], a[p]] = [a[p], a[c]];
    for (let r = 0; r < n; r++) if (r !== c) { const f = a[r][c] / a[c][c]; for (let k = c; k < a[r].length; k++) a[r][k] -= f * a[c][k]; }
  }
  return a.map((r, i) => r.slice(n).map((v) => v / r[i]));
}
const inv = (m) => gauss(m, m.map((_, i) => m.map((_, j) => +(i === j))));
const show = (m) => m.map((r) => r.map((v) => v.toFixed(3).padStart(8)).join(' ')).join('\n');
const A = [[4, -2, 1], [-2, 4, -2], [1, -2, 4]];
console.log(show(gauss(A, [[11], [-16], [17]])));
console.log(show(inv(A)));
assert.ok(mul(A, inv(A)).every((r, i) => r.every((v, j) => Math.abs(v - +(i === j)) < 1e-9)));
let v = [[1], [1], [1]], lambda = 0;
for (let i = 0; i < 100; i++) { const w = mul(A, v); lambda = Math.hypot(...w.flat()); v = w.map(([x]) => [x / lambda]); }
console.log(lambda.toFixed(6));
const xs = [1, 2, 3, 4, 5], ys = [2.2, 4.1, 6.2, 7.9, 10.1];
const X = xs.map((x) => [1, x]);
const [[b0], [b1]] = gauss(mul(transpose(X), X), mul(transpose(X), ys.map((y) => [y])));
console.log(b0.toFixed(4), b1.toFixed(4), util.inspect(zeros(2, 2)), util.inspect({ A }, { depth: 0 }));
try { inv([[1, 2], [2, 4]]); } catch ({ message }) { console.log(message); }
console.log(util.format('%s|%d|%i|%j', 'a', 1.5, 2.7, { x: 1 }), util.inspect('str'), util.inspect(new Map([['k', [1, 2]]])), import.meta.url.startsWith('file:'));
const trace = (m) => m.reduce((s, r, i) => s + r[i], 0), frob = (m) => Math.sqrt(m.flat().reduce((s, x) => s + x * x, 0));
console.log(trace(A), frob(A).toFixed(4), transpose([[1, 2, 3]]), A.flat().sort((a, b) => a - b), typeof require);
export default { trace };
