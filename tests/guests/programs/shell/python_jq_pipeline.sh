#!/usr/bin/env bash
# Generate data with Python, shape it with jq, count with node, join with awk.
set -euo pipefail
cat > gen.py <<'PY'
import json, random, sys
random.seed(int(sys.argv[1]))
for i in range(int(sys.argv[2])):
    print(json.dumps({"id": i, "user": random.choice(["ann", "bob", "cid"]), "ms": random.randint(10, 500), "ok": random.random() > 0.2}))
PY
python3 gen.py 7 12 > events.ndjson
wc -l < events.ndjson
jq -c 'select(.ok | not)' events.ndjson
jq -s 'group_by(.user) | map({user: .[0].user, n: length, mean: (map(.ms) | add / length | floor)})' events.ndjson
jq -r '[.id, .user, .ms] | @csv' events.ndjson | head -3
jq -rs 'map(.user) | unique | join(" ")' events.ndjson
cat > stats.js <<'JS'
const lines = require('fs').readFileSync(0, 'utf8').trim().split('\n').map(Number);
lines.sort((a, b) => a - b);
console.log(JSON.stringify({ n: lines.length, min: lines[0], max: lines.at(-1), median: lines[lines.length >> 1] }));
JS
python3 gen.py 1 9 | jq .ms | node stats.js | jq -r 'to_entries[] | "\(.key)=\(.value)"'
python3 - <<'PY' | sort -k2,2nr | awk '{printf "%-5s %3d %s\n", $1, $2, ($2 > 300 ? "slow" : "fast")}'
import json
best = {}
for line in open("events.ndjson"):
    e = json.loads(line)
    best[e["user"]] = max(best.get(e["user"], 0), e["ms"])
for user, ms in best.items():
    print(user, ms)
PY
total=$(python3 -c 'print(sum(range(101)))')
node -e "console.log($total * 2, process.argv.slice(1))" a b
echo '{"a":{"b":[1,{"c":null}]}}' | jq -c 'paths | map(tostring) | join(".")'
python3 -c 'import sys; sys.exit(5)' || echo "python exit $?"
node -e 'process.exit(6)' || echo "node exit $?"
echo "x,y
1,2
3,4" | python3 -c "
import csv, sys, json
print(json.dumps(list(csv.DictReader(sys.stdin))))" | jq -c '.[] | {sum: ((.x|tonumber) + (.y|tonumber))}'
export NAME=world
python3 -c 'import os; print("hello", os.environ["NAME"])'
node -p 'process.env.NAME.toUpperCase()'
