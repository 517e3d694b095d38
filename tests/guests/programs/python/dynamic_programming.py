"""Dynamic programming classics: knapsack, LCS, edit distance, coin change, LIS, matrix chain."""
from bisect import bisect_left
from functools import cache


def knapsack(items, capacity):
    best = [[0] * (capacity + 1) for _ in range(len(items) + 1)]
    for i, (_, weight, value) in enumerate(items, 1):
        for c in range(capacity + 1):
            best[i][c] = best[i - 1][c]
            if weight <= c:
                best[i][c] = max(best[i][c], best[i - 1][c - weight] + value)
    chosen, c = [], capacity
    for i in range(len(items), 0, -1):
        if best[i][c] != best[i - 1][c]:
            chosen.append(items[i - 1][0])
            c -= items[i - 1][1]
    return best[-1][-1], chosen[::-1]


@cache
def lcs(a, b):
    if not a or not b:
        return ""
    if a[0] == b[0]:
        return a[0] + lcs(a[1:], b[1:])
    return max(lcs(a[1:], b), lcs(a, b[1:]), key=len)


def levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def change(coins, amount):
    ways = [1] + [0] * amount
    fewest = [0] + [float("inf")] * amount
    for coin in coins:
        for a in range(coin, amount + 1):
            ways[a] += ways[a - coin]
            fewest[a] = min(fewest[a], fewest[a - coin] + 1)
    return ways[amount], fewest[amount]


def lis(seq):
    tails, index, back = [], [], []
    for i, x in enumerate(seq):
        k = bisect_left(tails, x)
        tails[k : k + 1] = [x]
        index[k : k + 1] = [i]
        back.append(index[k - 1] if k else None)
    out, i = [], index[-1]
    while i is not None:
        out.append(seq[i])
        i = back[i]
    return out[::-1]


def chain(dims):
    @cache
    def cost(i, j):
        if i == j:
            return 0, chr(65 + i)
        return min((l + r + dims[i] * dims[k + 1] * dims[j + 1], f"({a}{b})") for k in range(i, j) for (l, a), (r, b) in [(cost(i, k), cost(k + 1, j))])

    return cost(0, len(dims) - 2)


print(knapsack([("map", 9, 150), ("compass", 13, 35), ("water", 153, 200), ("sandwich", 50, 160), ("glucose", 15, 60)], 100))
print(lcs("AGGTABQWERTY", "GXTXAYBWEZRTY"), lcs.cache_info().hits > 0)
print(levenshtein("kitten", "sitting"), levenshtein("", "abc"), levenshtein("intention", "execution"))
print(change([1, 2, 5, 10, 20, 50], 100), change([5, 10], 3))
print(lis([10, 9, 2, 5, 3, 7, 101, 18, 19, 4, 20]))
print(chain([40, 20, 30, 10, 30]))
