import sys
total = 0
for number, line in enumerate(sys.stdin, 1):
    line = line.strip()
    if not line:
        continue
    try:
        total += float(line)
    except ValueError:
        print(f"line {number}: not a number: {line!r}", file=sys.stdout)
print("total", total)
