"""Ordinary least squares by hand with numpy, on a seeded data set."""
import numpy as np

rng = np.random.default_rng(7)
n = 200
X = np.column_stack([np.ones(n), rng.normal(size=n), rng.uniform(-1, 1, size=n)])
true_beta = np.array([1.5, -2.0, 0.75])
y = X @ true_beta + rng.normal(scale=0.1, size=n)

beta, residuals, rank, sv = np.linalg.lstsq(X, y, rcond=None)
print("rank", rank)
print("beta", np.round(beta, 3))
pred = X @ beta
ss_res = np.sum((y - pred) ** 2)
ss_tot = np.sum((y - y.mean()) ** 2)
print(f"R^2 = {1 - ss_res / ss_tot:.4f}")
cov = np.linalg.inv(X.T @ X) * ss_res / (n - 3)
print("std errors", np.sqrt(np.diag(cov)).round(4))

A = np.arange(12).reshape(3, 4)
print(A)
print(A.T.shape, A[:, ::2].tolist(), A.sum(axis=0), A.mean(axis=1))
print(np.where(A % 2 == 0, A, -A))
q, r = np.linalg.qr(np.array([[2.0, 1.0], [1.0, 3.0]]))
print(np.allclose(q @ r, [[2, 1], [1, 3]]))
print(np.linalg.eigvalsh(np.array([[2.0, 1.0], [1.0, 3.0]])).round(6))
print(np.percentile(y, [5, 50, 95]).round(3))
hist, edges = np.histogram(y, bins=5)
print(hist, edges.round(2))
