"""Monte Carlo estimates, bootstrap confidence intervals, Markov chain text, and birthday paradox with seeds."""
import random
from collections import Counter, defaultdict
from statistics import NormalDist, correlation, covariance, geometric_mean, harmonic_mean, linear_regression, mean, mode, multimode, pstdev, variance

rng = random.Random(99)
inside = sum(rng.random() ** 2 + rng.random() ** 2 < 1 for _ in range(50_000))
print("pi", 4 * inside / 50_000)


def birthday(people, trials=2000):
    return sum(len({rng.randrange(365) for _ in range(people)}) < people for _ in range(trials)) / trials


print([(n, birthday(n)) for n in (10, 23, 40)])
sample = [rng.gauss(50, 10) for _ in range(100)]
boots = sorted(mean(rng.choices(sample, k=100)) for _ in range(500))
print(f"mean {mean(sample):.3f}, 95% [{boots[12]:.3f}, {boots[487]:.3f}]")
text = "the cat sat on the mat the cat ate the rat on the mat".split()
chain = defaultdict(list)
for a, b in zip(text, text[1:]):
    chain[a].append(b)
word, out = "the", ["the"]
while word in chain and len(out) < 12:
    word = rng.choice(chain[word])
    out.append(word)
print(" ".join(out))
doors = Counter()
for _ in range(3000):
    car, pick = rng.randrange(3), rng.randrange(3)
    doors["stay"] += pick == car
    doors["switch"] += pick != car
print(doors["stay"] / 3000, doors["switch"] / 3000)
data = [2, 3, 3, 5, 7, 10]
print(mode(data), multimode("aabbc"), variance(data), pstdev(data), geometric_mean(data), harmonic_mean(data))
nd = NormalDist(100, 15)
print(nd.cdf(115), nd.inv_cdf(0.9), (nd + NormalDist(10, 5)).stdev)
print(linear_regression([1, 2, 3], [2.1, 3.9, 6.2]), correlation([1, 2, 3], [1, 2, 4]), covariance([1, 2, 3], [1, 5, 7]))
walk = [0]
for _ in range(200):
    walk.append(walk[-1] + rng.choice((-1, 1)))
print(min(walk), max(walk), walk[-1], walk.count(0))
