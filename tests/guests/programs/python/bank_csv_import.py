"""Categorise bank transactions with rules; monthly budget; detect duplicates; use Decimal and namedtuples."""
from collections import Counter, namedtuple
from decimal import Decimal
from itertools import groupby

Tx = namedtuple("Tx", "date text amount")
LINES = """2024-01-03;GROCERY STORE 123;-45.90
2024-01-05;SALARY ACME;2500.00
2024-01-09;NETFLIX.COM;-12.99
2024-01-09;NETFLIX.COM;-12.99
2024-02-01;RENT JANUARY;-900.00
2024-02-14;Flower shop;-35.50
2024-02-20;Grocery store 99;-51.05
2024-02-28;SALARY ACME;2500.00"""
RULES = [("grocery", "food"), ("salary", "income"), ("netflix", "fun"), ("rent", "home")]
txs = [Tx(d, t, Decimal(a)) for d, t, a in (line.split(";") for line in LINES.splitlines())]


def category(tx):
    return next((c for word, c in RULES if word in tx.text.lower()), "other")


print(txs[0], txs[0]._replace(amount=Decimal("1")).amount, Tx._fields)
print("duplicates:", [t for t, n in Counter(txs).items() if n > 1])
for month, group in groupby(txs, key=lambda t: t.date[:7]):
    group = list(group)
    spent = sum((t.amount for t in group if t.amount < 0), Decimal(0))
    earned = sum((t.amount for t in group if t.amount > 0), Decimal(0))
    print(f"{month}: earned {earned:>9,} spent {spent:>10} saved {(earned + spent) / earned:.1%}")
totals = Counter()
for t in txs:
    totals[category(t)] += t.amount
for name, value in sorted(totals.items(), key=lambda p: p[1]):
    print(f"{name:<7}{value:>10}")
balance = Decimal("100.00")
for t in txs:
    balance += t.amount
    if balance < 0:
        print("overdrawn on", t.date, balance)
print("final", balance, balance.quantize(Decimal("1")), f"{balance:e}")
