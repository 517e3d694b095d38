from itertools import accumulate, islice, pairwise
from collections import deque

def moving_average(values, n):
    window = deque(maxlen=n)
    for v in values:
        window.append(v)
        if len(window) == n:
            yield sum(window) / n

prices = [10, 11, 12, 11, 13, 15, 14, 16, 18, 17]
print([round(x, 2) for x in moving_average(prices, 3)])
print(list(accumulate(prices)), list(accumulate(prices, max)))
print([f"{(b - a) / a:+.1%}" for a, b in pairwise(prices)])
ema, alpha, out = prices[0], 0.5, []
for p in prices:
    ema = alpha * p + (1 - alpha) * ema
    out.append(round(ema, 3))
print(out)
