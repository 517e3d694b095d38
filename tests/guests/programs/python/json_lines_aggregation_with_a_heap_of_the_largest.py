import json, heapq
lines = "\n".join(json.dumps({"id": i, "score": (i * 37) % 101, "team": "abc"[i % 3]}) for i in range(60))
records = [json.loads(line) for line in lines.splitlines()]
print(heapq.nlargest(3, records, key=lambda r: r["score"]))
print(heapq.nsmallest(2, records, key=lambda r: (r["score"], r["id"])))
from collections import Counter
totals = Counter()
for r in records:
    totals[r["team"]] += r["score"]
print(totals.most_common())
