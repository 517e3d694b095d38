// Conway's Game of Life with a class, readonly grids, an enum of rules and string rendering.
enum Cell { Dead = 0, Alive = 1 }
type Grid = ReadonlyArray<ReadonlyArray<Cell>>;
class Life {
  private generation = 0;
  private constructor(private grid: Grid, private readonly wrap: boolean) {}
  static parse(text: string, { wrap = true }: { wrap?: boolean } = {}): Life { return new Life(text.trim().split('\n').map((row) => [...row.trim()].map((c) => (c === '#' ? Cell.Alive : Cell.Dead))), wrap); }
  private at(r: number, c: number): Cell {
    const h = this.grid.length, w = this.grid[0]!.length;
    return this.wrap ? this.grid[(r + h) % h]![(c + w) % w]! : this.grid[r]?.[c] ?? Cell.Dead;
  }
  private neighbours(r: number, c: number): number { let n = 0; for (let dr = -1; dr <= 1; dr++) for (let dc = -1; dc <= 1; dc++) if (dr || dc) n += this.at(r + dr, c + dc); return n; }
  step(times = 1): this {
    while (times-- > 0) {
      this.grid = this.grid.map((row, r) => row.map((cell, c) => { const n = this.neighbours(r, c); return n === 3 || (n === 2 && cell === Cell.Alive) ? Cell.Alive : Cell.Dead; }));
      this.generation++;
    }
    return this;
  }
  get population(): number { return this.grid.flat().reduce<number>((a, b) => a + b, 0); }
  toString(): string { return `gen ${this.generation} (${this.population})\n` + this.grid.map((row) => row.map((c) => '.#'[c]).join('')).join('\n'); }
}
const glider = Life.parse(`
  .#......
  ..#.....
  ###.....
  ........
  ........
  ........`);
console.log(`${glider}`);
console.log(`${glider.step(4)}`);
console.log(`${glider.step(20)}`);
const edge = Life.parse('###\n...\n...', { wrap: false });
console.log(`${edge.step()}\n${edge.step()}`, Cell[1], Cell.Dead);
