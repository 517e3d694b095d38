import numpy as np
a = np.arange(12).reshape(3, 4)
print(a, a.T.shape, a[:, 1], a[a % 2 == 0])
print(a * np.array([1, 10, 100, 1000]), a.sum(axis=0), a.mean(axis=1), a.max())
print(np.where(a > 5, a, -1))
print(np.linspace(0, 1, 5), np.eye(2), np.zeros((2, 3)))
b = a.astype(float); b[1] = np.nan
print(np.nanmean(b, axis=0), np.isnan(b).sum(), np.argmax(a), np.unravel_index(7, a.shape))
print(np.concatenate([a, a[:1]]).shape, np.stack([a, a]).shape, np.unique([3, 1, 3, 2], return_counts=True))
print(np.clip(a, 2, 8), np.cumsum([1, 2, 3]), np.diff([1, 4, 9, 16]), np.percentile([1, 2, 3, 4], 50))
