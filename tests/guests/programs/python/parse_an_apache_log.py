import re
from collections import Counter, defaultdict

LOG = '''127.0.0.1 - - [10/Oct/2023:13:55:36 +0000] "GET /index.html HTTP/1.1" 200 2326
192.168.1.5 - bob [10/Oct/2023:13:55:40 +0000] "POST /api/login HTTP/1.1" 401 128
192.168.1.5 - bob [10/Oct/2023:13:56:01 +0000] "POST /api/login HTTP/1.1" 200 512
10.0.0.7 - - [10/Oct/2023:14:01:22 +0000] "GET /missing HTTP/1.1" 404 209
127.0.0.1 - - [10/Oct/2023:14:05:00 +0000] "GET /index.html HTTP/1.1" 304 0
garbage line'''

pattern = re.compile(r'(?P<ip>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<method>\w+) (?P<path>\S+) [^"]*" (?P<status>\d{3}) (?P<size>\d+)')
by_status, by_ip, skipped = Counter(), defaultdict(int), 0
for line in LOG.splitlines():
    m = pattern.match(line)
    if not m:
        skipped += 1
        continue
    d = m.groupdict()
    by_status[d["status"]] += 1
    by_ip[d["ip"]] += int(d["size"])
print(dict(by_status))
for ip, size in sorted(by_ip.items(), key=lambda kv: -kv[1]):
    print(f"{ip:15} {size:>6,} bytes")
print("skipped:", skipped)
