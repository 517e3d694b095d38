import openpyxl, pandas as pd
wb = openpyxl.Workbook()
ws = wb.active
ws.title = "Data"
ws.append(["item", "qty", "price"])
for row in [("tea", 2, 3.5), ("pot", 1, 12.0)]:
    ws.append(row)
ws["D1"] = "total"
for r in range(2, 4):
    ws[f"D{r}"] = f"=B{r}*C{r}"
wb.save("book.xlsx")
again = openpyxl.load_workbook("book.xlsx")
print(again.sheetnames, [[c.value for c in row] for row in again["Data"].iter_rows()])
df = pd.read_excel("book.xlsx", usecols=["item", "qty", "price"])
print(df, df["qty"].sum())
