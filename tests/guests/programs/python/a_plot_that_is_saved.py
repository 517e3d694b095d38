import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np, os
x = np.linspace(0, 2 * np.pi, 50)
fig, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].plot(x, np.sin(x), label="sin"); axes[0].legend(); axes[0].set_title("Waves")
axes[1].bar(["a", "b"], [3, 5], color="green"); axes[1].set_ylabel("count")
fig.tight_layout()
fig.savefig("plot.png", dpi=50)
plt.close(fig)
print(os.path.getsize("plot.png") > 1000, open("plot.png", "rb").read(8))
print(len(axes), axes[0].get_title(), axes[1].get_ylim()[0])
