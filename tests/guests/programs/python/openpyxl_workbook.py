"""Write and read an Excel workbook, with formulas, styles and a summary; also via pandas."""
import pandas as pd
from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

wb = Workbook()
ws = wb.active
ws.title = "Sales"
ws.append(["Product", "Qty", "Price", "Total"])
for i, (name, qty, price) in enumerate([("Pen", 10, 1.5), ("Book", 3, 12.0), ("Lamp", 1, 45.25)], start=2):
    ws.append([name, qty, price, f"=B{i}*C{i}"])
for cell in ws[1]:
    cell.font = Font(bold=True)
ws.column_dimensions["A"].width = 20
ws.merge_cells("A6:B6")
ws["A6"] = "total"
other = wb.create_sheet("Notes", 0)
other["B2"] = "hello"
wb.save("book.xlsx")
again = load_workbook("book.xlsx")
print(again.sheetnames, again["Sales"].dimensions, again["Sales"]["A1"].font.bold, again["Sales"].merged_cells.ranges)
for row in again["Sales"].iter_rows(min_row=2, max_row=4, values_only=True):
    print(row)
print(get_column_letter(28), again["Notes"]["B2"].value, again["Notes"].max_row, again["Sales"].cell(row=3, column=1).value)
df = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
df.to_excel("frame.xlsx", index=False, sheet_name="S")
print(pd.read_excel("frame.xlsx"))
with pd.ExcelWriter("two.xlsx") as writer:
    df.to_excel(writer, sheet_name="one")
    (df["a"] * 10).to_frame().to_excel(writer, sheet_name="two")
print({k: v.shape for k, v in pd.read_excel("two.xlsx", sheet_name=None).items()})
