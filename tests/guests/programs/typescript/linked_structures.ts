// Linked list, heap, LRU cache and graph with generics, iterators, comparators and optional chaining.
class ListNode<T> { constructor(public value: T, public next: ListNode<T> | null = null) {} }
class LinkedList<T> implements Iterable<T> {
  private head: ListNode<T> | null = null;
  private _size = 0;
  static from<U>(items: Iterable<U>): LinkedList<U> { const l = new LinkedList<U>(); for (const i of items) l.append(i); return l; }
  get size(): number { return this._size; }
  append(value: T): this {
    const node = new ListNode(value);
    if (!this.head) this.head = node;
    else { let n = this.head; while (n.next) n = n.next; n.next = node; }
    this._size++;
    return this;
  }
  reverse(): this {
    let prev: ListNode<T> | null = null, cur = this.head;
    while (cur) [cur.next, prev, cur] = [prev, cur, cur.next];
    this.head = prev;
    return this;
  }
  map<U>(f: (v: T, i: number) => U): LinkedList<U> { let i = 0; return LinkedList.from([...this].map((v) => f(v, i++))); }
  *[Symbol.iterator](): IterableIterator<T> { for (let n = this.head; n; n = n.next) yield n.value; }
  toString(): string { return [...this].join(' -> ') || '(empty)'; }
}
type Comparator<T> = (a: T, b: T) => number;
class Heap<T> {
  private items: T[] = [];
  constructor(private readonly compare: Comparator<T> = (a, b) => (a < b ? -1 : a > b ? 1 : 0)) {}
  push(...values: T[]): number { for (const v of values) { this.items.push(v); this.up(this.items.length - 1); } return this.items.length; }
  pop(): T | undefined {
    const top = this.items[0], last = this.items.pop();
    if (this.items.length && last !== undefined) { this.items[0] = last; this.down(0); }
    return top;
  }
  private up(i: number): void { while (i > 0) { const p = (i - 1) >> 1; if (this.compare(this.items[i]!, this.items[p]!) >= 0) return; this.swap(i, p); i = p; } }
  private down(i: number): void {
    for (;;) {
      let best = i;
      for (const c of [2 * i + 1, 2 * i + 2]) if (c < this.items.length && this.compare(this.items[c]!, this.items[best]!) < 0) best = c;
      if (best === i) return;
      this.swap(i, best); i = best;
    }
  }
  private swap(a: number, b: number) { [this.items[a], this.items[b]] = [this.items[b]!, this.items[a]!]; }
  *drain() { for (let v = this.pop(); v !== undefined; v = this.pop()) yield v; }
}
const list = LinkedList.from([3, 1, 4, 1, 5]);
console.log(`${list}`, list.size, `${list.reverse()}`, `${list.map((v, i) => `${i}:${v}`)}`, `${new LinkedList<string>()}`);
const heap = new Heap<number>();
heap.push(5, 2, 9, 1, 7, 3);
console.log([...heap.drain()]);
const tasks = new Heap<{ p: number; name: string }>((a, b) => b.p - a.p || a.name.localeCompare(b.name));
tasks.push({ p: 1, name: 'low' }, { p: 9, name: 'b' }, { p: 9, name: 'a' });
console.log([...tasks.drain()].map(({ name }) => name));
const graph: Record<string, Partial<Record<string, number>>> = { A: { B: 7, C: 3 }, B: { D: 2 }, C: { B: 1, D: 8 }, D: {} };
function shortest(from: string, to: string): { cost: number; path: string[] } | null {
  const q = new Heap<{ at: string; cost: number; path: string[] }>((x, y) => x.cost - y.cost);
  const seen = new Set<string>();
  q.push({ at: from, cost: 0, path: [from] });
  for (let cur = q.pop(); cur; cur = q.pop()) {
    if (cur.at === to) return { cost: cur.cost, path: cur.path };
    if (seen.has(cur.at)) continue;
    seen.add(cur.at);
    for (const [next, w] of Object.entries(graph[cur.at] ?? {})) q.push({ at: next, cost: cur.cost + w!, path: [...cur.path, next] });
  }
  return null;
}
console.log(shortest('A', 'D'), shortest('D', 'A')?.cost ?? 'unreachable');
