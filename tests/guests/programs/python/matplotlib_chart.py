"""Draw a chart with matplotlib, save it, and check what was written."""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 2 * np.pi, 100)
fig, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].plot(x, np.sin(x), label="sin")
axes[0].plot(x, np.cos(x), "--", label="cos")
axes[0].set_title("Waves")
axes[0].legend()
bars = axes[1].bar(["a", "b", "c"], [3, 7, 5], color=["red", "green", "blue"])
axes[1].set_ylabel("count")
axes[1].bar_label(bars)
fig.tight_layout()
fig.savefig("chart.png", dpi=80)
fig.savefig("chart.svg")
print(os.path.getsize("chart.png") > 1000, open("chart.png", "rb").read(8), "<svg" in open("chart.svg").read())
print([line.get_label() for line in axes[0].get_lines()], axes[0].get_title(), [b.get_height() for b in bars])
print(fig.get_size_inches().tolist(), axes[1].get_xticklabels()[1].get_text(), [round(v, 2) for v in axes[0].get_xlim()])
plt.close(fig)
fig, ax = plt.subplots()
n, bins, _ = ax.hist([1, 2, 2, 3, 3, 3, 4], bins=4)
print(n.tolist(), bins.tolist(), plt.get_fignums())
img = plt.imread("chart.png")
print(img.shape, img.dtype, float(img.max()))
