"""Time series with pandas: rolling windows, resampling, shifts, missing values, joins."""
import numpy as np
import pandas as pd

idx = pd.date_range("2024-01-01", periods=60, freq="D")
rng = np.random.default_rng(3)
s = pd.Series(100 + np.cumsum(rng.normal(0, 2, 60)), index=idx, name="price").round(2)
s.iloc[[5, 17, 18]] = np.nan
print(s.head(7))
print("missing", s.isna().sum())
filled = s.interpolate()
print(filled.iloc[[5, 17, 18]].round(3).to_dict())
print(filled.rolling(7).mean().dropna().head(3).round(3))
weekly = filled.resample("W").agg(["first", "max", "min", "last"])
print(weekly.head(4))
returns = filled.pct_change().dropna()
print(f"{returns.mean():.5f} {returns.std():.5f} {returns.idxmax():%Y-%m-%d}")
print((filled > filled.shift(1)).sum(), filled.diff().abs().max().round(3))
by = filled.groupby(filled.index.day_name()).mean().round(2)
print(by.sort_values().index.tolist())
df = pd.DataFrame({"p": filled, "v": rng.integers(100, 200, 60)}, index=idx)
df["signal"] = np.where(df["p"] > df["p"].rolling(5).mean(), "buy", "sell")
print(df["signal"].value_counts().to_dict())
print(df.loc["2024-02-10":"2024-02-13"])
print(df.corr(numeric_only=True).round(3))
print(df.groupby([df.index.month, "signal"])["v"].agg(["count", "sum"]))
print(filled.expanding().max().iloc[-1], filled.ewm(span=10).mean().iloc[-1].round(4), filled.autocorr(1).round(4))
monthly = df["v"].resample("ME").sum()
print(monthly.index.strftime("%Y-%m").tolist(), monthly.tolist())
