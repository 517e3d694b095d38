// Date ranges in UTC: overlaps, merging, business days, formatting with Intl, and a calendar.
class Day {
  private constructor(readonly ms: number) {}
  static readonly MS = 86_400_000 as const;
  static of(iso: `${number}-${string}-${string}`): Day { const ms = Date.parse(iso + 'T00:00:00Z'); if (Number.isNaN(ms)) throw new RangeError(`bad date ${iso}`); return new Day(ms); }
  plus(days: number): Day { return new Day(this.ms + days * Day.MS); }
  get weekday(): number { return new Date(this.ms).getUTCDay(); }
  minus(other: Day): number { return Math.round((this.ms - other.ms) / Day.MS); }
  valueOf(): number { return this.ms; }
  toString(): string { return new Date(this.ms).toISOString().slice(0, 10); }
  toJSON(): string { return this.toString(); }
}
class Range implements Iterable<Day> {
  constructor(readonly from: Day, readonly to: Day) { if (from > to) throw new RangeError(`${from} is after ${to}`); }
  *[Symbol.iterator](): IterableIterator<Day> { for (let d = this.from; d <= this.to; d = d.plus(1)) yield d; }
  overlaps = ({ from, to }: Range): boolean => this.from <= to && from <= this.to;
  get days(): number { return this.to.minus(this.from) + 1; }
  static merge(ranges: readonly Range[]): Range[] {
    return [...ranges].sort((a, b) => +a.from - +b.from).reduce<Range[]>((out, r) => {
      const last = out[out.length - 1];
      if (last && +r.from <= +last.to.plus(1)) out[out.length - 1] = new Range(last.from, +r.to > +last.to ? r.to : last.to);
      else out.push(r);
      return out;
    }, []);
  }
}
const r = (a: string, b: string) => new Range(Day.of(a as any), Day.of(b as any));
const list = [r('2024-01-10', '2024-01-15'), r('2024-01-01', '2024-01-05'), r('2024-01-06', '2024-01-07'), r('2024-01-14', '2024-01-20')];
console.log(JSON.stringify(Range.merge(list).map(({ from, to }) => [from, to])), list[0]!.overlaps(list[3]!), list[0]!.overlaps(list[1]!));
const feb = r('2024-02-01', '2024-02-29');
const business = [...feb].filter((d) => d.weekday !== 0 && d.weekday !== 6);
console.log(feb.days, business.length, `${business[0]}`, `${business.at(-1)}`);
console.log(new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', weekday: 'long', month: 'short', day: 'numeric' }).format(new Date(+Day.of('2024-02-29'))));
const cells = [...Array<string>(feb.from.weekday).fill('  '), ...[...feb].map((d) => `${d}`.slice(8))];
for (let i = 0; i < cells.length; i += 7) console.log(cells.slice(i, i + 7).join(' '));
for (const f of [() => Day.of('2024-13-01'), () => r('2024-02-02', '2024-02-01')]) try { f(); } catch (e) { console.log((e as Error).name, (e as Error).message); }
