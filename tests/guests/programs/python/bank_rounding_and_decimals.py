from decimal import Decimal, ROUND_HALF_UP, getcontext
getcontext().prec = 28
prices = ["19.99", "5.005", "0.1", "2.675"]
total = sum(Decimal(p) for p in prices)
print(total)
print(total.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))
print([round(x, 2) for x in (2.675, 1.005, 0.5)], round(0.5), round(1.5), round(2.5))
print(0.1 + 0.2, Decimal("0.1") + Decimal("0.2"))
print(Decimal(1) / Decimal(7))
