"""Habits tracker: longest streaks, weekly heat map, gaps; from dates in text."""
from datetime import date, timedelta
import re

TEXT = "Ran on 2024-01-01, 2024-01-02 and 2024-01-03; again 2024-01-07..2024-01-11. Skipped 2024-02-30. Also 2024-01-20, 2024-01-21."
days = set()
for a, b in re.findall(r"(\d{4}-\d{2}-\d{2})(?:\.\.(\d{4}-\d{2}-\d{2}))?", TEXT):
    try:
        start = date.fromisoformat(a)
        end = date.fromisoformat(b) if b else start
    except ValueError as e:
        print("ignored", a, type(e).__name__)
        continue
    while start <= end:
        days.add(start)
        start += timedelta(days=1)
ordered = sorted(days)
streaks, current = [], [ordered[0]]
for d in ordered[1:]:
    if d - current[-1] == timedelta(1):
        current.append(d)
    else:
        streaks.append(current)
        current = [d]
streaks.append(current)
for s in sorted(streaks, key=len, reverse=True):
    print(len(s), "days from", s[0].strftime("%d %B"), "to", f"{s[-1]:%d %B}")
gaps = [(b[0] - a[-1]).days - 1 for a, b in zip(streaks, streaks[1:])]
print("gaps", gaps, "longest", max(gaps))
first = ordered[0] - timedelta(days=ordered[0].weekday())
print("      M T W T F S S")
for week in range(4):
    monday = first + timedelta(weeks=week)
    print(f"wk {monday.isocalendar().week:>2} " + " ".join("■" if monday + timedelta(i) in days else "·" for i in range(7)))
print(f"{len(days) / 31:.1%} of January", ordered[-1].replace(day=1) - timedelta(1), max(days) in days)
