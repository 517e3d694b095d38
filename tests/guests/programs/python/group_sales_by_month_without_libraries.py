from collections import defaultdict
from statistics import mean, median, pstdev

sales = [
    {"date": "2024-01-15", "amount": 250.0, "rep": "Ann"}, {"date": "2024-01-20", "amount": 125.5, "rep": "Bob"},
    {"date": "2024-02-03", "amount": 300.0, "rep": "Ann"}, {"date": "2024-02-14", "amount": 75.25, "rep": "Cid"},
    {"date": "2024-02-28", "amount": 410.0, "rep": "Bob"}, {"date": "2024-03-09", "amount": 99.99, "rep": "Ann"},
]
by_month = defaultdict(list)
for s in sales:
    by_month[s["date"][:7]].append(s["amount"])
print(f"{'Month':<10}{'Count':>6}{'Total':>10}{'Mean':>10}")
for month, amounts in sorted(by_month.items()):
    print(f"{month:<10}{len(amounts):>6}{sum(amounts):>10.2f}{mean(amounts):>10.2f}")
amounts = [s["amount"] for s in sales]
print(f"median {median(amounts):.2f}, stdev {pstdev(amounts):.2f}")
best = max({s["rep"] for s in sales}, key=lambda r: sum(s["amount"] for s in sales if s["rep"] == r))
print("best rep:", best)
