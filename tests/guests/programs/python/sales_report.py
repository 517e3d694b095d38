"""Summarise a CSV of sales: revenue per region and product, best month, moving average."""
import csv
import io
from collections import defaultdict
from datetime import date
from statistics import mean, median, stdev

RAW = """date,region,product,units,price
2024-01-05,North,Widget,10,2.50
2024-01-17,South,Widget,7,2.50
2024-02-02,North,Gadget,3,19.99
2024-02-14,East,Widget,22,2.40
2024-02-28,South,Gizmo,5,7.25
2024-03-03,North,Gizmo,9,7.25
2024-03-19,East,Gadget,4,18.49
2024-04-01,West,Widget,31,2.35
2024-04-22,South,Gadget,2,19.99
2024-05-09,West,Gizmo,14,6.99
"""


def load(text):
    rows = []
    for row in csv.DictReader(io.StringIO(text)):
        row["date"] = date.fromisoformat(row["date"])
        row["units"] = int(row["units"])
        row["price"] = float(row["price"])
        row["revenue"] = row["units"] * row["price"]
        rows.append(row)
    return rows


def totals(rows, key):
    out = defaultdict(float)
    for row in rows:
        out[key(row)] += row["revenue"]
    return dict(sorted(out.items(), key=lambda kv: (-kv[1], kv[0])))


def main():
    rows = load(RAW)
    print(f"{len(rows)} sales, {sum(r['units'] for r in rows)} units")
    for title, key in [("region", lambda r: r["region"]), ("product", lambda r: r["product"])]:
        print(f"\nRevenue by {title}")
        for name, value in totals(rows, key).items():
            bar = "#" * round(value / 10)
            print(f"  {name:<8}{value:>10,.2f} {bar}")
    monthly = totals(rows, lambda r: r["date"].strftime("%Y-%m"))
    best = max(monthly, key=monthly.get)
    print(f"\nBest month: {best} ({monthly[best]:.2f})")
    revenue = [r["revenue"] for r in rows]
    print(f"mean={mean(revenue):.3f} median={median(revenue):.3f} stdev={stdev(revenue):.3f}")
    window = 3
    moving = [sum(revenue[i - window + 1 : i + 1]) / window for i in range(window - 1, len(revenue))]
    print("moving:", ", ".join(f"{m:.1f}" for m in moving))


if __name__ == "__main__":
    main()
