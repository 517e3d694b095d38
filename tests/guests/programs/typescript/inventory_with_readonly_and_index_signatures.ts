interface Item {
  readonly sku: string;
  qty: number;
  price: number;
  tags?: readonly string[];
}

type Inventory = { [sku: string]: Item };

const inventory: Inventory = {};
function restock(sku: string, qty: number, price = 1.0, ...tags: string[]): Item {
  const item = (inventory[sku] ??= { sku, qty: 0, price, tags });
  item.qty += qty;
  return item;
}

restock("apple", 10, 0.5, "fruit");
restock("pear", 4, 0.75, "fruit", "green");
restock("apple", 5);
const total = Object.values(inventory).reduce((sum: number, { qty, price }: Item) => sum + qty * price, 0);
console.log(`Total: $${total.toFixed(2)}`);
console.table;
for (const [sku, { qty, tags = [] }] of Object.entries(inventory)) {
  console.log(sku.padEnd(8), String(qty).padStart(4), tags.join("/"));
}
