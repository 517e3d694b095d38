import pandas as pd
customers = pd.DataFrame({"id": [1, 2, 3], "name": ["Ann", "Bob", "Cid"]})
orders = pd.DataFrame({"order": [10, 11, 12, 13], "customer": [1, 1, 3, 4], "total": [50.0, 20.0, 70.0, 5.0]})
merged = customers.merge(orders, left_on="id", right_on="customer", how="outer", indicator=True)
print(merged[["name", "order", "total", "_merge"]])
per = orders.groupby("customer")["total"].sum().rename("spent")
print(customers.set_index("id").join(per).fillna({"spent": 0}))
print(pd.concat([customers, customers.assign(name=lambda d: d.name.str.upper())], ignore_index=True))
