// Heat diffusion on a grid, matrix multiplication, LU determinant, Monte Carlo with a seeded PRNG.
const mulberry = (a) => () => { a |= 0; a = (a + 0x6d2b79f5) | 0; let t = Math.imul(a ^ (a >>> 15), 1 | a); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 4294967296; };
const multiply = (A, B) => A.map((row) => B[0].map((_, j) => row.reduce((s, v, k) => s + v * B[k][j], 0)));
const transpose = (M) => M[0].map((_, i) => M.map((r) => r[i]));
function det(M) {
  const m = M.map((r) => [...r]);
  let d = 1;
  for (let c = 0; c < m.length; c++) {
    let p = c;
    for (let r = c + 1; r < m.length; r++) if (Math.abs(m[r][c]) > Math.abs(m[p][c])) p = r;
    if (m[p][c] === 0) return 0;
    if (p !== c) { [m[c], m[p]] = [m[p], m[c]]; d = -d; }
    d *= m[c][c];
    for (let r = c + 1; r < m.length; r++) { const f = m[r][c] / m[c][c]; for (let k = c; k < m.length; k++) m[r][k] -= f * m[c][k]; }
  }
  return d;
}
console.log(multiply([[1, 2], [3, 4]], [[5, 6], [7, 8]]), transpose([[1, 2, 3], [4, 5, 6]]), det([[2, 0, 1], [1, 3, 2], [1, 1, 1]]).toFixed(6));
const N = 7;
let grid = Array.from({ length: N }, () => new Float64Array(N));
grid[3][3] = 100;
for (let step = 0; step < 10; step++) {
  grid = grid.map((row, y) => row.map((v, x) => v + 0.2 * ((grid[y - 1]?.[x] ?? v) + (grid[y + 1]?.[x] ?? v) + (row[x - 1] ?? v) + (row[x + 1] ?? v) - 4 * v)));
}
console.log(grid.map((r) => [...r].map((v) => v.toFixed(2).padStart(6)).join(' ')).join('\n'));
console.log('total', grid.flatMap((r) => [...r]).reduce((a, b) => a + b).toFixed(6));
const rand = mulberry(12345);
let inside = 0;
for (let i = 0; i < 20000; i++) { const x = rand(), y = rand(); if (x * x + y * y < 1) inside++; }
console.log('pi ~', (4 * inside) / 20000);
const shuffle = (list) => { const a = [...list]; for (let i = a.length - 1; i > 0; i--) { const j = Math.floor(rand() * (i + 1)); [a[i], a[j]] = [a[j], a[i]]; } return a; };
console.log(shuffle([...'ABCDEFGH']).join(''));
const walk = Array.from({ length: 1000 }, () => (rand() < 0.5 ? -1 : 1)).reduce((acc, s) => { acc.push((acc.at(-1) ?? 0) + s); return acc; }, []);
console.log('walk', Math.min(...walk), Math.max(...walk), walk.at(-1));
const mean = walk.reduce((a, b) => a + b) / walk.length;
console.log(mean.toFixed(4), Math.sqrt(walk.reduce((a, b) => a + (b - mean) ** 2, 0) / walk.length).toFixed(4));
