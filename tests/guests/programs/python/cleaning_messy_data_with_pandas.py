import pandas as pd
import numpy as np

df = pd.DataFrame({
    "name": [" Ann ", "bob", None, "Cid", "bob"],
    "age": ["31", "n/a", "45", "28", "n/a"],
    "salary": [5000, 4200, np.nan, 6100, 4200],
})
df["name"] = df["name"].str.strip().str.title()
df["age"] = pd.to_numeric(df["age"], errors="coerce")
print(df.isna().sum())
df = df.drop_duplicates().dropna(subset=["name"])
df["age"] = df["age"].fillna(df["age"].median())
df["band"] = pd.cut(df["salary"], bins=[0, 4500, 5500, 10000], labels=["low", "mid", "high"])
print(df.to_string(index=False))
print(df["salary"].describe().round(2))
