rows = [("North", "Q1", 10), ("North", "Q2", 20), ("South", "Q1", 5), ("South", "Q3", 8), ("East", "Q2", 7), ("North", "Q1", 4)]
regions = sorted({r for r, _, _ in rows})
quarters = sorted({q for _, q, _ in rows})
table = {(r, q): sum(v for rr, qq, v in rows if (rr, qq) == (r, q)) for r in regions for q in quarters}
print("region".ljust(8) + "".join(q.rjust(6) for q in quarters) + " total")
for r in regions:
    values = [table[r, q] for q in quarters]
    print(r.ljust(8) + "".join(f"{v or '-':>6}" for v in values) + f"{sum(values):>6}")
