"""Reshape with pandas: melt, pivot, multi-index, apply, string methods, categories, JSON and CSV round trips."""
import io

import pandas as pd

wide = pd.read_csv(io.StringIO("""name,math,art,sport
Ann,90,75,
Bob,65,88,70
Cid,78,,95
"""))
print(wide.dtypes.astype(str).to_dict())
long = wide.melt(id_vars="name", var_name="subject", value_name="mark").dropna()
print(long.sort_values(["name", "subject"]).to_string(index=False))
print(long.pivot(index="name", columns="subject", values="mark"))
long["grade"] = pd.cut(long["mark"], [0, 70, 80, 100], labels=["C", "B", "A"])
print(pd.crosstab(long["subject"], long["grade"]))
multi = long.set_index(["subject", "name"])["mark"].sort_index()
print(multi.loc["math"].to_dict(), multi.groupby(level=0).max().to_dict())
print(multi.unstack(fill_value=0))
names = pd.Series(["Smith, John", "Doe, Jane", None, "O'Neil, Al"])
print(names.str.split(", ", expand=True))
print(names.str.upper().fillna("?").tolist(), names.str.len().tolist(), names.str.contains("n", na=False).tolist(), names.str.extract(r"(\w)\w*$")[0].tolist())
print(wide.set_index("name").T.describe().round(1))
print(wide.to_json(orient="records"))
print(pd.read_json(io.StringIO(wide.to_json(orient="split")), orient="split").equals(wide))
print(wide.assign(total=lambda d: d[["math", "art", "sport"]].sum(axis=1)).query("total > 200")[["name", "total"]])
print(wide.apply(lambda r: r["name"][0] + str(r.drop("name").idxmax()), axis=1).tolist())
both = pd.concat([wide, pd.DataFrame({"name": ["Dee"], "math": [100]})], ignore_index=True)
print(both.tail(2), both.duplicated("name").any(), both["math"].rank().tolist(), sep="\n")
cat = pd.Series(["low", "high", "mid", "low"], dtype=pd.CategoricalDtype(["low", "mid", "high"], ordered=True))
print(cat.sort_values().tolist(), cat.max(), cat.cat.codes.tolist())
print(wide.to_csv(index=False, sep=";", na_rep="-"))
print(wide.iloc[1:, [0, 2]].to_dict("list"), wide.at[0, "math"], wide.loc[wide["art"].isna(), "name"].item())
