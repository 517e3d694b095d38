"""Images as arrays: gradients, convolution, thresholds, labelling by flood fill, masks, fancy indexing, ASCII art."""
import numpy as np

h, w = 12, 24
y, x = np.mgrid[0:h, 0:w]
img = np.sqrt((x - w / 2) ** 2 / 4 + (y - h / 2) ** 2)
img = 1 - img / img.max()
chars = np.array(list(" .:-=+*#%@"))
print("\n".join("".join(row) for row in chars[(img * 9.999).astype(int)]))
kernel = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
padded = np.pad(img, 1, mode="edge")
blur = sum(kernel[i, j] * padded[i : i + h, j : j + w] for i in range(3) for j in range(3))
print(blur.shape, round(float(blur.mean()), 6), np.abs(blur - img).max().round(6))
rng = np.random.default_rng(0)
mask = rng.random((6, 10)) > 0.6
print("\n".join("".join("#" if c else "." for c in row) for row in mask))


def label(mask):
    labels, current = np.zeros(mask.shape, int), 0
    for start in zip(*np.nonzero(mask)):
        if labels[start]:
            continue
        current += 1
        stack = [start]
        while stack:
            r, c = stack.pop()
            if 0 <= r < mask.shape[0] and 0 <= c < mask.shape[1] and mask[r, c] and not labels[r, c]:
                labels[r, c] = current
                stack += [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
    return labels, current


labels, n = label(mask)
print(n, np.bincount(labels.ravel())[1:])
a = np.arange(10) ** 2
print(a[[1, 3, 5]], a[a % 2 == 0], a[::-1][:3], np.argsort(-a)[:2], np.unique([3, 1, 3]), np.cumsum(a)[-1], np.diff(a))
b = np.linspace(0, 1, 5)
print(b, np.outer(b, [1, 2]).sum(), np.dot(b, b), np.clip(b, 0.2, 0.8), np.round(np.sin(b), 4))
print(np.stack([a[:3], a[3:6]]).T, np.concatenate([a[:2], [7]]), np.repeat([1, 2], 2), np.tile([1, 2], 2), np.split(np.arange(6), 3))
print(np.array([1, 2, 3], dtype=np.uint8) - 2, np.float32(0.1) + np.float32(0.2), np.int64(7) // 2, np.nan == np.nan, np.isnan([1, np.nan]))
print(np.array2string(np.eye(2), precision=1), np.zeros((2, 2), dtype=bool), np.full(3, "ab"), np.array([[1.5, 2], [3, 4]]).astype(int).tolist())
s = np.array([("ann", 3), ("bob", 1)], dtype=[("name", "U5"), ("n", "i4")])
print(np.sort(s, order="n")["name"], s["n"].mean(), np.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((3, 2))))
try:
    np.ones(3) + np.ones(4)
except ValueError as e:
    print(e)
print(np.polyfit([0, 1, 2], [1, 3, 7], 2).round(6), np.roots([1, -3, 2]), np.fft.fft([1, 0, 0, 0]), np.median([3, 1, 2]), np.var([1, 2, 3, 4]))
