import pandas as pd
import io

csv = """date,store,product,units,price
2024-01-05,A,tea,10,2.5
2024-01-06,B,coffee,4,5.0
2024-02-01,A,coffee,3,5.0
2024-02-10,B,tea,8,2.5
2024-02-11,A,tea,1,2.5
"""
df = pd.read_csv(io.StringIO(csv), parse_dates=["date"])
df["revenue"] = df["units"] * df["price"]
print(df.head())
print(df.groupby("store")["revenue"].agg(["sum", "mean", "count"]))
print(df.pivot_table(index=df["date"].dt.to_period("M"), columns="product", values="revenue", aggfunc="sum", fill_value=0))
print(df.sort_values("revenue", ascending=False).iloc[0]["product"])
