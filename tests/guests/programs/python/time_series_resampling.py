import pandas as pd
import numpy as np
idx = pd.date_range("2024-01-01", periods=90, freq="D")
s = pd.Series(np.arange(90) % 7 + np.arange(90) / 10, index=idx)
monthly = s.resample("MS").agg(["mean", "max", "size"])
print(monthly.round(3))
print(s.rolling(7).mean().dropna().head(3).round(4).tolist())
print(s["2024-02-28":"2024-03-02"])
print(s.groupby(s.index.day_name()).mean().round(2).sort_values())
print((s.shift(1) < s).sum(), s.pct_change().abs().max().round(3), s.idxmax())
