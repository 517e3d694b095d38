// Flags by bitwise enums, permissions, bit sets, and number formatting.
enum Permission { None = 0, Read = 1 << 0, Write = 1 << 1, Execute = 1 << 2, Admin = ~(~0 << 3) }
type Role = 'guest' | 'editor' | 'owner';
const roles: Record<Role, Permission> = { guest: Permission.Read, editor: Permission.Read | Permission.Write, owner: Permission.Admin };
const has = (p: Permission, flag: Permission): boolean => (p & flag) === flag;
const names = (p: Permission): string[] => (['Read', 'Write', 'Execute'] as const).filter((n) => has(p, Permission[n]));
for (const [role, p] of Object.entries(roles) as [Role, Permission][]) console.log(role.padEnd(7), p.toString(2).padStart(3, '0'), names(p).join('+'));
let mine: Permission = roles.editor;
mine |= Permission.Execute;
mine &= ~Permission.Read;
mine ^= Permission.Write;
console.log(names(mine), Permission[Permission.Admin], Permission[99] ?? 'no name');
class BitSet {
  private words: Uint32Array;
  constructor(size: number) { this.words = new Uint32Array(Math.ceil(size / 32)); }
  add(...bits: number[]): this { for (const b of bits) this.words[b >>> 5]! |= 1 << (b & 31); return this; }
  has(b: number): boolean { return ((this.words[b >>> 5]! >>> (b & 31)) & 1) === 1; }
  get size(): number { return this.words.reduce((n, w) => { for (; w; w &= w - 1) n++; return n; }, 0); }
  *[Symbol.iterator](): Generator<number, void, undefined> { for (let i = 0; i < this.words.length * 32; i++) if (this.has(i)) yield i; }
  and(o: BitSet): BitSet { const r = new BitSet(this.words.length * 32); r.words = this.words.map((w, i) => w & (o.words[i] ?? 0)); return r; }
}
const a = new BitSet(100).add(1, 5, 33, 64, 99), b = new BitSet(100).add(5, 64, 70);
console.log([...a], a.size, [...a.and(b)], a.has(33), a.has(34));
const mode = (s: string): string => s.match(/.{3}/g)!.map((t) => [...t].reduce((n, c, i) => n | (c === '-' ? 0 : 4 >> i), 0)).join('');
console.log(mode('rwxr-xr--'), (0o754).toString(8), 0b101, 0xff, 1_000_000, (-5 >>> 0).toString(16), ~~3.7, 5 & -5);
const rgb = (hex: number): [r: number, g: number, b: number] => [(hex >> 16) & 255, (hex >> 8) & 255, hex & 255];
console.log(rgb(0x336699), '#' + rgb(0x336699).map((c) => (255 - c).toString(16).padStart(2, '0')).join(''));
const enum Direction { Up = 'UP', Down = 'DOWN' }
const move = (d: Direction): number => ({ [Direction.Up]: -1, [Direction.Down]: 1 })[d];
console.log(move(Direction.Up), Direction.Down);
