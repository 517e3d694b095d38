// A* on a grid, flood fill, maze generation with a seeded generator, Bresenham lines, and convex hull.
const rng = ((s) => () => (s = (s * 16807) % 2147483647) / 2147483647)(77);
function maze(w, h) {
  const grid = Array.from({ length: 2 * h + 1 }, () => Array(2 * w + 1).fill('#'));
  const stack = [[0, 0]];
  grid[1][1] = ' ';
  while (stack.length) {
    const [x, y] = stack.at(-1);
    const options = [[1, 0], [-1, 0], [0, 1], [0, -1]].filter(([dx, dy]) => grid[2 * (y + dy) + 1]?.[2 * (x + dx) + 1] === '#');
    if (!options.length) { stack.pop(); continue; }
    const [dx, dy] = options[Math.floor(rng() * options.length)];
    grid[2 * y + 1 + dy][2 * x + 1 + dx] = ' ';
    grid[2 * (y + dy) + 1][2 * (x + dx) + 1] = ' ';
    stack.push([x + dx, y + dy]);
  }
  return grid;
}
function solve(grid, [sx, sy], [gx, gy]) {
  const open = new Map([[`${sx},${sy}`, { x: sx, y: sy, g: 0, f: 0, path: [] }]]), closed = new Set();
  while (open.size) {
    const [key, node] = [...open].reduce((a, b) => (b[1].f < a[1].f ? b : a));
    open.delete(key); closed.add(key);
    if (node.x === gx && node.y === gy) return [...node.path, [gx, gy]];
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      const [x, y] = [node.x + dx, node.y + dy], k = `${x},${y}`, g = node.g + 1;
      if (grid[y]?.[x] !== ' ' || closed.has(k) || (open.get(k)?.g ?? Infinity) <= g) continue;
      open.set(k, { x, y, g, f: g + Math.abs(x - gx) + Math.abs(y - gy), path: [...node.path, [node.x, node.y]] });
    }
  }
  return null;
}
const m = maze(10, 5);
const path = solve(m, [1, 1], [19, 9]);
for (const [x, y] of path) m[y][x] = '.';
console.log(m.map((r) => r.join('')).join('\n'), path.length);
const canvas = Array.from({ length: 8 }, () => Array(20).fill(' '));
const line = (x0, y0, x1, y1, ch) => { const dx = Math.abs(x1 - x0), dy = -Math.abs(y1 - y0), sx = Math.sign(x1 - x0), sy = Math.sign(y1 - y0); let err = dx + dy; for (;;) { canvas[y0][x0] = ch; if (x0 === x1 && y0 === y1) break; const e2 = 2 * err; if (e2 >= dy) { err += dy; x0 += sx; } if (e2 <= dx) { err += dx; y0 += sy; } } };
line(1, 1, 18, 6, '*'); line(1, 6, 18, 1, 'o'); line(1, 1, 1, 6, '|'); line(1, 1, 18, 1, '-');
const fill = (x, y, ch) => { if (canvas[y]?.[x] !== ' ') return; canvas[y][x] = ch; fill(x + 1, y, ch); fill(x - 1, y, ch); fill(x, y + 1, ch); fill(x, y - 1, ch); };
fill(3, 4, '~');
console.log(canvas.map((r) => r.join('').trimEnd()).join('\n'));
const pts = Array.from({ length: 12 }, () => [Math.floor(rng() * 20), Math.floor(rng() * 20)]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
const half = (ps) => ps.reduce((h, p) => { while (h.length > 1 && (h.at(-1)[0] - h.at(-2)[0]) * (p[1] - h.at(-2)[1]) - (h.at(-1)[1] - h.at(-2)[1]) * (p[0] - h.at(-2)[0]) <= 0) h.pop(); h.push(p); return h; }, []).slice(0, -1);
console.log(JSON.stringify([...half(pts), ...half([...pts].reverse())]));
