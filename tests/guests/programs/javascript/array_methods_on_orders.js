const orders = [
  { id: 1, customer: "ann", items: [{ sku: "a", qty: 2, price: 5 }, { sku: "b", qty: 1, price: 20 }] },
  { id: 2, customer: "bob", items: [{ sku: "a", qty: 1, price: 5 }] },
  { id: 3, customer: "ann", items: [{ sku: "c", qty: 10, price: 0.5 }] },
];
const total = (o) => o.items.reduce((s, { qty, price }) => s + qty * price, 0);
console.log(orders.map(total));
const byCustomer = orders.reduce((acc, o) => ({ ...acc, [o.customer]: (acc[o.customer] || 0) + total(o) }), {});
console.log(byCustomer);
console.log(orders.flatMap((o) => o.items).filter((i) => i.qty > 1).map((i) => i.sku).sort());
console.log(Object.entries(byCustomer).sort(([, a], [, b]) => b - a)[0]);
