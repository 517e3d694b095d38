import pandas as pd, numpy as np
rng = np.random.default_rng(3)
df = pd.DataFrame({"x": rng.normal(10, 2, 50)})
df["y"] = df["x"] * 3 + rng.normal(0, 1, 50)
df.loc[49, "y"] = 100
q1, q3 = df["y"].quantile([0.25, 0.75])
iqr = q3 - q1
out = df[(df["y"] < q1 - 1.5 * iqr) | (df["y"] > q3 + 1.5 * iqr)]
print(out.index.tolist(), round(df.corr().loc["x", "y"], 2), round(df.drop(out.index).corr().loc["x", "y"], 2))
z = (df["y"] - df["y"].mean()) / df["y"].std()
print((z.abs() > 3).sum(), df.agg({"x": ["min", "max"], "y": "median"}).round(2))
