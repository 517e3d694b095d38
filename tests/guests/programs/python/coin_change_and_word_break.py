def min_coins(coins, amount):
    best = [0] + [float("inf")] * amount
    for a in range(1, amount + 1):
        best[a] = min((best[a - c] + 1 for c in coins if c <= a), default=float("inf"))
    return best[amount] if best[amount] != float("inf") else -1

def ways(coins, amount):
    table = [1] + [0] * amount
    for c in coins:
        for a in range(c, amount + 1):
            table[a] += table[a - c]
    return table[amount]

print(min_coins([1, 2, 5], 11), min_coins([2], 3), ways([1, 2, 5, 10, 25, 50], 100))

def word_break(s, words):
    def go(i):
        if i == len(s):
            yield []
        for w in words:
            if s.startswith(w, i):
                for rest in go(i + len(w)):
                    yield [w] + rest
    return [" ".join(p) for p in go(0)]

print(word_break("catsanddog", ["cat", "cats", "and", "sand", "dog"]))
