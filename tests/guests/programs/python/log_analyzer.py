"""Parse an access log by regular expression; report status codes, top paths, slow requests, errors per hour."""
import re
import sys
from collections import Counter, defaultdict
from datetime import datetime, timedelta

LINE = re.compile(
    r'(?P<ip>\d{1,3}(?:\.\d{1,3}){3}) - (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<method>[A-Z]+) (?P<path>[^ "]+) HTTP/[\d.]+" '
    r"(?P<status>\d{3}) (?P<size>\d+|-) (?P<ms>\d+)ms"
)


def parse(lines):
    for number, line in enumerate(lines, 1):
        m = LINE.match(line)
        if not m:
            print(f"line {number}: cannot parse {line.strip()[:30]!r}", file=sys.stderr)
            continue
        d = m.groupdict()
        yield {
            **d,
            "time": datetime.strptime(d["time"], "%d/%b/%Y:%H:%M:%S %z"),
            "status": int(d["status"]),
            "size": 0 if d["size"] == "-" else int(d["size"]),
            "ms": int(d["ms"]),
        }


entries = list(parse(sys.stdin))
print(len(entries), "requests from", len({e["ip"] for e in entries}), "clients")
for status, n in sorted(Counter(e["status"] for e in entries).items()):
    print(f"  {status}: {n:3d} {'█' * n}")
print("top paths:", Counter(re.sub(r"/\d+", "/:id", e["path"].split("?")[0]) for e in entries).most_common(3))
hours = defaultdict(list)
for e in entries:
    hours[e["time"].replace(minute=0, second=0)].append(e)
for hour, group in sorted(hours.items()):
    bad = sum(e["status"] >= 500 for e in group)
    print(hour.isoformat(), len(group), "requests", f"{bad / len(group):.0%} errors")
slow = sorted(entries, key=lambda e: -e["ms"])[:3]
for e in slow:
    print(f"{e['ms']:>6} ms {e['method']:<5} {e['path']}")
span = max(e["time"] for e in entries) - min(e["time"] for e in entries)
print("span", span, "per minute", round(len(entries) / (span / timedelta(minutes=1)), 2))
print("bytes", f"{sum(e['size'] for e in entries):,}")
