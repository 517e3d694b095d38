import random
from collections import Counter
from itertools import product

RANKS = "23456789TJQKA"
deck = [r + s for r, s in product(RANKS, "♠♥♦♣")]

def classify(hand):
    values = sorted((RANKS.index(c[0]) for c in hand), reverse=True)
    counts = sorted(Counter(values).values(), reverse=True)
    flush = len({c[1] for c in hand}) == 1
    straight = len(set(values)) == 5 and (values[0] - values[4] == 4 or values == [12, 3, 2, 1, 0])
    if straight and flush: return "straight flush"
    if counts[0] == 4: return "four of a kind"
    if counts[:2] == [3, 2]: return "full house"
    if flush: return "flush"
    if straight: return "straight"
    if counts[0] == 3: return "three of a kind"
    if counts[:2] == [2, 2]: return "two pair"
    if counts[0] == 2: return "pair"
    return "high card"

for hand in ["T♠ J♠ Q♠ K♠ A♠", "2♥ 2♦ 2♣ K♠ K♥", "A♠ 2♦ 3♥ 4♣ 5♠", "9♠ 9♥ 4♦ 4♣ J♦", "2♠ 7♠ 9♠ J♠ K♠"]:
    print(hand, "->", classify(hand.split()))
random.seed(5)
tally = Counter(classify(random.sample(deck, 5)) for _ in range(2000))
for name, n in tally.most_common():
    print(f"{name:16} {n / 2000:.2%}")
