import random, statistics
random.seed(7)
data = [round(random.gauss(50, 15), 1) for _ in range(200)]
bins = [0] * 10
for x in data:
    bins[min(9, max(0, int(x // 10)))] += 1
for i, count in enumerate(bins):
    print(f"{i * 10:3}-{i * 10 + 9:<3} {'#' * count}")
q1, q2, q3 = statistics.quantiles(data, n=4)
print(f"Q1={q1:.2f} median={q2:.2f} Q3={q3:.2f} IQR={q3 - q1:.2f}")
outliers = [x for x in data if x < q1 - 1.5 * (q3 - q1) or x > q3 + 1.5 * (q3 - q1)]
print("outliers", outliers)
