"""Read two CSV files, join them, compute grades, write results as CSV and as a fixed-width table."""
import csv
import os
from operator import itemgetter

with open("students.csv", "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["id", "name", "year"])
    w.writerows([[1, "Ngozi, A.", 2], [2, 'Sam "Ace" Lee', 1], [3, "Zoë", 2], [4, "Noor", 3]])
with open("marks.csv", "w", newline="") as f:
    w = csv.DictWriter(f, fieldnames=["student", "course", "mark"], quoting=csv.QUOTE_NONNUMERIC)
    w.writeheader()
    for s, c, m in [(1, "math", 81.5), (1, "art", 70), (2, "math", 55), (3, "art", 92.25), (3, "math", 88), (9, "art", 10)]:
        w.writerow({"student": s, "course": c, "mark": m})
print(open("students.csv", newline="").read().replace("\r\n", "\\r\\n\n"), end="")
students = {int(r["id"]): r for r in csv.DictReader(open("students.csv", newline=""))}
with open("marks.csv", newline="") as f:
    marks = list(csv.DictReader(f, quoting=csv.QUOTE_NONNUMERIC))
print(marks[0])
joined, orphans = {}, []
for m in marks:
    if (sid := int(m["student"])) not in students:
        orphans.append(sid)
        continue
    joined.setdefault(sid, []).append(m["mark"])
grade = lambda avg: next(g for limit, g in [(85, "A"), (70, "B"), (50, "C"), (0, "F")] if avg >= limit)
rows = []
for sid, s in students.items():
    ms = joined.get(sid, [])
    avg = sum(ms) / len(ms) if ms else None
    rows.append({"name": s["name"], "year": int(s["year"]), "average": avg, "grade": grade(avg) if avg is not None else "-"})
rows.sort(key=lambda r: (r["average"] is None, -(r["average"] or 0)))
print(f"{'Name':<15}|{'Year':^6}|{'Average':>9}|{'Grade':>6}")
print("-" * 15 + "+" + "-" * 6 + "+" + "-" * 9 + "+" + "-" * 6)
for r in rows:
    avg = f"{r['average']:.2f}" if r["average"] is not None else "n/a"
    print(f"{r['name']:<15}|{r['year']:^6}|{avg:>9}|{r['grade']:>6}")
print("orphans:", orphans)
with open("out.tsv", "w", newline="") as f:
    w = csv.writer(f, delimiter="\t", lineterminator="\n")
    w.writerows(map(itemgetter("name", "grade"), rows))
print(open("out.tsv").read(), end="")
print(csv.Sniffer().sniff("a;b;c\n1;2;3\n").delimiter, list(csv.reader(["x|'y|z'|w"], delimiter="|", quotechar="'")))
print(sorted(f for f in os.listdir() if f.endswith((".csv", ".tsv"))))
