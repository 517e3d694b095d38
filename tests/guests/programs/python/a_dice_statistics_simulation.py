import random
from collections import Counter
random.seed(12)
rolls = Counter(sum(random.choices(range(1, 7), k=2)) for _ in range(3600))
for total in range(2, 13):
    expected = 100 * (6 - abs(7 - total))
    print(f"{total:2} {rolls[total]:4} {expected:4} {'*' * (rolls[total] // 20)}")
print("yahtzee odds", sum(len(set(random.choices(range(6), k=5))) == 1 for _ in range(5000)))
