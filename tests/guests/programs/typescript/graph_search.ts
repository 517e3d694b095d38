// Graph algorithms: BFS grid path, A*, topological sort, strongly connected components, union-find.
type Point = readonly [r: number, c: number];
const MAZE = ['S.#.....', '..#.###.', '....#...', '.####.#.', '......#G'];
const find = (ch: string): Point => { const r = MAZE.findIndex((row) => row.includes(ch)); return [r, MAZE[r]!.indexOf(ch)]; };
const key = ([r, c]: Point): string => `${r},${c}`;
function* around([r, c]: Point): Generator<Point> { for (const [dr, dc] of [[0, 1], [1, 0], [0, -1], [-1, 0]] as const) if ((MAZE[r + dr]?.[c + dc] ?? '#') !== '#') yield [r + dr, c + dc]; }
function search(start: Point, goal: Point, h: (p: Point) => number): { path: Point[]; seen: number } {
  const open: { p: Point; g: number; f: number; from?: string }[] = [{ p: start, g: 0, f: h(start) }];
  const best = new Map<string, { g: number; from?: string; p: Point }>();
  while (open.length) {
    open.sort((a, b) => a.f - b.f);
    const { p, g, from } = open.shift()!;
    if ((best.get(key(p))?.g ?? Infinity) <= g) continue;
    best.set(key(p), { g, p, ...(from !== undefined && { from }) });
    if (key(p) === key(goal)) break;
    for (const q of around(p)) open.push({ p: q, g: g + 1, f: g + 1 + h(q), from: key(p) });
  }
  const path: Point[] = [];
  for (let k: string | undefined = key(goal); k !== undefined; k = best.get(k)?.from) path.unshift(best.get(k)!.p);
  return { path, seen: best.size };
}
const [s, g] = [find('S'), find('G')];
const bfs = search(s, g, () => 0), astar = search(s, g, ([r, c]) => Math.abs(r - g[0]) + Math.abs(c - g[1]));
console.log(bfs.path.length, bfs.seen, astar.path.length, astar.seen <= bfs.seen);
const marks = new Set(astar.path.map(key));
console.log(MAZE.map((row, r) => [...row].map((ch, c) => (ch === '.' && marks.has(key([r, c])) ? '*' : ch)).join('')).join('\n'));
const deps: Record<string, string[]> = { app: ['lib', 'log'], lib: ['core'], log: ['core'], core: [], a: ['b'], b: ['c'], c: ['a', 'core'] };
function scc(g: Record<string, string[]>): string[][] {
  const index = new Map<string, number>(), low = new Map<string, number>(), stack: string[] = [], out: string[][] = [];
  const visit = (v: string): void => {
    index.set(v, index.size); low.set(v, index.get(v)!); stack.push(v);
    for (const w of g[v]!) if (!index.has(w)) { visit(w); low.set(v, Math.min(low.get(v)!, low.get(w)!)); } else if (stack.includes(w)) low.set(v, Math.min(low.get(v)!, index.get(w)!));
    if (low.get(v) === index.get(v)) out.push(stack.splice(stack.indexOf(v)).sort());
  };
  Object.keys(g).forEach((v) => index.has(v) || visit(v));
  return out;
}
console.log(scc(deps));
