import csv, io
from collections import defaultdict

data = '''date,region,product,units,price
2024-01-03,North,"Widget, large",10,2.50
2024-01-04,South,Gadget,,9.99
2024-01-05,North,Gadget,3,9.99
2024-01-06,East,"12"" ruler",7,1.25
2024-01-07,South,"Widget, large",4,2.50
'''
totals = defaultdict(float)
for row in csv.DictReader(io.StringIO(data)):
    units = int(row["units"] or 0)
    totals[row["region"]] += units * float(row["price"])
    if not row["units"]:
        print(f"warning: no units on {row['date']}")
writer = csv.writer(buf := io.StringIO(), lineterminator="\n")
writer.writerow(["region", "revenue"])
for region in sorted(totals):
    writer.writerow([region, f"{totals[region]:.2f}"])
print(buf.getvalue(), end="")
