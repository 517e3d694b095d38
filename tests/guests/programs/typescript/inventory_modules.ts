// Several modules written at run time and imported: default, named, re-exports, type-only imports, JSON.
import { mkdirSync, writeFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
mkdirSync('mods/deep', { recursive: true });
writeFileSync('mods/types.ts', `export interface Item { sku: string; qty: number; price: number }\nexport type Totals = Record<string, number>;\nexport enum Unit { Piece = 'pc', Kilo = 'kg' }\n`);
writeFileSync('mods/deep/money.ts', `export const format = (cents: number): string => \`€\${(cents / 100).toFixed(2)}\`;\nexport default class Money { constructor(private readonly c: number) {} times(n: number): Money { return new Money(this.c * n); } toString(): string { return format(this.c); } }\n`);
writeFileSync('mods/inventory.ts', `import type { Item, Totals } from './types';
import { Unit, type Item as Again } from './types';
import Money, { format } from './deep/money';
export * from './types';
export { default as Money } from './deep/money';
const items: Item[] = [];
export function add(item: Again, unit: Unit = Unit.Piece): string { items.push(item); return \`\${item.qty} \${unit} of \${item.sku}\`; }
export const totals = (): Totals => items.reduce<Totals>((t, { sku, qty, price }) => ({ ...t, [sku]: (t[sku] ?? 0) + qty * price }), {});
export const worth = (): string => format(Object.values(totals()).reduce((a, b) => a + b, 0));
export const one = new Money(150).times(3);
`);
writeFileSync('mods/data.json', JSON.stringify([{ sku: 'pen', qty: 3, price: 120 }, { sku: 'ink', qty: 1, price: 799 }]));
async function main(): Promise<void> {
  const inv = await import(path.resolve('mods/inventory.ts'));
  console.log(Object.keys(inv).sort());
  console.log(inv.add({ sku: 'pen', qty: 2, price: 120 }), inv.add({ sku: 'salt', qty: 1, price: 90 }, inv.Unit.Kilo));
  const { readFileSync } = await import('node:fs');
  for (const item of JSON.parse(readFileSync('mods/data.json', 'utf8')) as { sku: string; qty: number; price: number }[]) inv.add(item);
  console.log(inv.totals(), inv.worth(), `${inv.one}`, inv.Unit);
  console.log((await import(path.resolve('mods/inventory.ts'))).totals === inv.totals, readdirSync('mods').sort());
  await import(path.resolve('mods/none.ts')).catch((e: NodeJS.ErrnoException) => console.log(e.code));
}
main();
