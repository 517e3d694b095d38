// A deterministic snake game driven by a scripted list of moves; prints frames.
class Random { constructor(seed) { this.s = seed; } next(n) { this.s = (this.s * 1103515245 + 12345) & 0x7fffffff; return this.s % n; } }

class Snake {
  static DIRS = { U: [0, -1], D: [0, 1], L: [-1, 0], R: [1, 0] };
  constructor(w, h, seed) {
    Object.assign(this, { w, h, dir: 'R', body: [[2, 2], [1, 2]], score: 0, alive: true, rng: new Random(seed) });
    this.placeFood();
  }
  placeFood() {
    do { this.food = [this.rng.next(this.w), this.rng.next(this.h)]; } while (this.hits(this.food));
  }
  hits([x, y]) { return this.body.some(([a, b]) => a === x && b === y); }
  step(turn) {
    if (turn && { U: 'D', D: 'U', L: 'R', R: 'L' }[turn] !== this.dir) this.dir = turn;
    const [dx, dy] = Snake.DIRS[this.dir];
    const head = [this.body[0][0] + dx, this.body[0][1] + dy];
    if (head[0] < 0 || head[1] < 0 || head[0] >= this.w || head[1] >= this.h || this.hits(head)) { this.alive = false; return; }
    this.body.unshift(head);
    if (head[0] === this.food[0] && head[1] === this.food[1]) { this.score += 10; this.placeFood(); } else this.body.pop();
  }
  toString() {
    const grid = Array.from({ length: this.h }, () => Array(this.w).fill('.'));
    grid[this.food[1]][this.food[0]] = '*';
    this.body.forEach(([x, y], i) => { grid[y][x] = i ? 'o' : '@'; });
    return grid.map((r) => r.join('')).join('\n');
  }
}
const game = new Snake(8, 6, 42);
console.log(`${game}`);
const bot = () => {
  const [hx, hy] = game.body[0], [fx, fy] = game.food;
  const want = hx < fx ? 'R' : hx > fx ? 'L' : hy < fy ? 'D' : 'U';
  return want;
};
let steps = 0;
while (game.alive && steps < 200) { game.step(bot()); steps++; if (steps % 15 === 0 && game.alive) console.log(`-- step ${steps} score ${game.score}\n${game}`); }
console.log('over after', steps, 'score', game.score, 'length', game.body.length);
process.exitCode = game.score > 0 ? 0 : 1;
