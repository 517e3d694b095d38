import re
from datetime import timedelta
UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds", "w": "weeks"}
def parse_duration(text):
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([wdhms])", text)
    if not parts or re.sub(r"(\d+(?:\.\d+)?)\s*([wdhms])\s*", "", text).strip():
        raise ValueError(f"bad duration {text!r}")
    return timedelta(**{UNITS[u]: float(n) for n, u in parts})

for t in ["1h30m", "2d 4h", "90s", "1.5w", "abc", "5x"]:
    try: print(f"{t:8} {parse_duration(t)}")
    except ValueError as e: print(e)

def expand(field, lo, hi):
    out = set()
    for part in field.split(","):
        part, _, step = part.partition("/")
        a, b = (lo, hi) if part == "*" else map(int, part.split("-")) if "-" in part else (int(part),) * 2
        out |= set(range(a, b + 1, int(step or 1)))
    return sorted(out)
print(expand("*/15", 0, 59), expand("1-5", 0, 6), expand("1,3,10-14/2", 1, 31))
