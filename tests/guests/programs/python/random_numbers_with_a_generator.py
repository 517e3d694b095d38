import numpy as np
rng = np.random.default_rng(42)
print(rng.integers(0, 100, 5), rng.random(3).round(6), rng.normal(0, 1, 3).round(6))
print(rng.choice(["a", "b", "c"], 5), rng.permutation(6))
np.random.seed(0)
print(np.random.rand(3).round(6), np.random.randint(0, 10, 5), np.random.randn(2).round(6))
inside = (rng.random((20000, 2)) ** 2).sum(axis=1) <= 1
print(round(4 * inside.mean(), 2))
