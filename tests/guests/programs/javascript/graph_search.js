const graph = { A: ["B", "C"], B: ["D"], C: ["D", "E"], D: ["F"], E: ["F"], F: [] };
const bfs = (start, goal) => {
  const queue = [[start]], seen = new Set([start]);
  while (queue.length) {
    const path = queue.shift(), node = path.at(-1);
    if (node === goal) return path;
    for (const n of graph[node]) if (!seen.has(n)) { seen.add(n); queue.push([...path, n]); }
  }
};
const allPaths = (a, b, path = [a]) => (a === b ? [path] : graph[a].flatMap((n) => allPaths(n, b, [...path, n])));
console.log(bfs("A", "F"), allPaths("A", "F").length);
const grid = ["#..#", "..#.", "#..."].map((r) => [...r]);
let islands = 0;
const sink = (r, c) => { if (grid[r]?.[c] !== "#") return; grid[r][c] = "."; [[0, 1], [1, 0], [0, -1], [-1, 0]].forEach(([dr, dc]) => sink(r + dr, c + dc)); };
grid.forEach((row, r) => row.forEach((cell, c) => { if (cell === "#") { islands++; sink(r, c); } }));
console.log(islands);
