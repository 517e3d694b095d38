import sys, json
items = json.load(sys.stdin)
low = [i for i in items if i["qty"] < i.get("min", 5)]
print(f"{len(items)} items, {len(low)} low")
for item in sorted(low, key=lambda i: (i["qty"], i["name"])):
    print(f"- {item['name']}: {item['qty']} left (min {item.get('min', 5)})")
value = sum(i["qty"] * i["price"] for i in items)
print(f"stock value {value:.2f}")
