import pandas as pd, json
df = pd.DataFrame([{"city": "Oslo", "pop": 709}, {"city": "Rome", "pop": 2873}, {"city": "Bonn", "pop": 336}])
print(df.to_dict("records"), df.set_index("city")["pop"].to_dict())
print(json.loads(df.to_json(orient="records"))[1], df.to_csv(index=False))
print(df.query("pop > 500").assign(big=lambda d: d["pop"] > 1000))
print(df["pop"].apply(lambda v: f"{v / 1000:.2f}M").tolist(), df.loc[df["pop"].idxmax(), "city"], df.shape, df.columns.tolist())
print(df["city"].str.contains("o", case=False).tolist(), df.nlargest(2, "pop")["city"].tolist(), df["pop"].rank().tolist())
for row in df.itertuples(index=False):
    print(row.city, row.pop)
