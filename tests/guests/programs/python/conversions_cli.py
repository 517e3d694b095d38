# args: 100 km miles
"""Unit conversions with units found by search over a graph of factors."""
import sys
from collections import defaultdict, deque

FACTORS = [("km", "m", 1000), ("m", "cm", 100), ("mile", "km", 1.609344), ("foot", "cm", 30.48), ("inch", "cm", 2.54), ("yard", "foot", 3), ("kg", "g", 1000), ("lb", "g", 453.59237), ("hour", "min", 60), ("min", "s", 60), ("day", "hour", 24)]
ALIASES = {"miles": "mile", "feet": "foot", "ft": "foot", "in": "inch", "inches": "inch", "kilometers": "km", "hours": "hour", "days": "day"}
graph = defaultdict(dict)
for a, b, f in FACTORS:
    graph[a][b] = f
    graph[b][a] = 1 / f


def convert(value, src, dst):
    src, dst = ALIASES.get(src, src), ALIASES.get(dst, dst)
    for unit in (src, dst):
        if unit not in graph:
            raise SystemExit(f"unknown unit: {unit}")
    queue, seen = deque([(src, value)]), {src}
    while queue:
        unit, v = queue.popleft()
        if unit == dst:
            return v
        for nxt, f in graph[unit].items():
            if nxt not in seen:
                seen.add(nxt)
                queue.append((nxt, v * f))
    raise SystemExit(f"cannot convert {src} to {dst}")


def celsius(text):
    value, unit = float(text[:-1]), text[-1].upper()
    return {"C": lambda v: v, "F": lambda v: (v - 32) * 5 / 9, "K": lambda v: v - 273.15}[unit](value)


print(f"{sys.argv[1]} {sys.argv[2]} = {convert(float(sys.argv[1]), sys.argv[2], sys.argv[3]):.4f} {sys.argv[3]}")
for v, a, b in [(1, "mile", "feet"), (2, "days", "s"), (5, "lb", "kg"), (6, "ft", "m"), (1, "yard", "inch")]:
    print(f"{v} {a} = {convert(v, a, b):.6g} {b}")
print([round(celsius(t), 2) for t in ("100C", "212F", "0K")])
convert(1, "kg", "m")
