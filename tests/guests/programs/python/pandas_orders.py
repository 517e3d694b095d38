"""Clean and aggregate orders with pandas."""
import numpy as np
import pandas as pd

df = pd.DataFrame(
    {
        "order_id": range(1, 13),
        "customer": ["ann", "bob", "ann", "cid", "bob", "ann", "dee", "cid", "dee", "ann", "bob", "eve"],
        "amount": [20.5, 13.0, np.nan, 99.9, 5.25, 42.0, 18.0, np.nan, 7.5, 63.2, 11.1, 250.0],
        "when": pd.date_range("2024-03-01", periods=12, freq="5D"),
        "channel": ["web", "app", "web", "shop", "app", "web", "shop", "shop", "web", "app", "web", "web"],
    }
)
print(df.shape)
print(df.isna().sum().to_dict())
df["amount"] = df["amount"].fillna(df["amount"].median())
print(df.head(4))
per = df.groupby("customer").agg(orders=("order_id", "count"), total=("amount", "sum"), biggest=("amount", "max"))
per = per.sort_values("total", ascending=False)
print(per)
print(df.pivot_table(index="customer", columns="channel", values="amount", aggfunc="sum", fill_value=0))
monthly = df.set_index("when")["amount"].resample("MS").sum()
for stamp, value in monthly.items():
    print(stamp.strftime("%b %Y"), round(value, 2))
df["bucket"] = pd.cut(df["amount"], bins=[0, 15, 50, 1000], labels=["small", "medium", "large"])
print(df["bucket"].value_counts().sort_index())
top = df.nlargest(3, "amount")[["order_id", "customer", "amount"]]
print(top.to_string(index=False))
print(df["amount"].describe().round(3))
merged = df.merge(pd.DataFrame({"customer": ["ann", "bob"], "tier": ["gold", "silver"]}), on="customer", how="left")
print(merged["tier"].fillna("none").value_counts().to_dict())
