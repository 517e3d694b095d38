#!/usr/bin/env bash
# Mix node, jq, awk and bash: build a JSON config, transform it, validate, report.
set -euo pipefail
node > config.json <<'JS'
const services = ['web', 'api', 'worker'].map((name, i) => ({ name, port: 8000 + i, replicas: i + 1, env: { LOG: i ? 'debug' : 'info' } }));
console.log(JSON.stringify({ version: '1.4.2', services }, null, 2));
JS
jq -r '.services[] | [.name, .port, .replicas] | @tsv' config.json | while IFS=$'\t' read -r name port replicas; do
  printf '%-8s %5d x%d\n' "$name" "$port" "$replicas"
done
total=$(jq '[.services[].replicas] | add' config.json)
echo "total replicas: $total"
bump() { awk -F. -v part="$1" '{ if (part == "minor") { $2++; $3 = 0 } else $3++; print $1 "." $2 "." $3 }'; }
new=$(jq -r .version config.json | bump minor)
jq --arg v "$new" '.version = $v | .services |= map(select(.name != "worker"))' config.json > next.json
diff <(jq -S . config.json) <(jq -S . next.json) | grep '^[<>]' | head -3 || true
node -e '
const [a, b] = process.argv.slice(1).map((f) => JSON.parse(require("fs").readFileSync(f)));
const names = (c) => c.services.map((s) => s.name);
console.log("removed:", names(a).filter((n) => !names(b).includes(n)).join());
console.log("version:", a.version, "->", b.version);
' config.json next.json
jq -e '.services | all(.port > 8000)' config.json > /dev/null && echo "ports ok" || echo "ports bad"
jq -r '.services[] | .name as $n | .env | to_entries[] | "\($n)_\(.key)=\(.value)"' config.json | tr a-z A-Z | sort
python3 - config.json <<'PY'
import json, sys
cfg = json.load(open(sys.argv[1]))
print("{:<8}|{:>6}".format("name", "port"))
for s in cfg["services"]:
    print("{name:<8}|{port:>6}".format(**s))
PY
cat > sum.mjs <<'JS'
import { readFileSync } from 'node:fs';
const { services } = JSON.parse(readFileSync('config.json', 'utf8'));
console.log(services.reduce((s, { replicas }) => s + replicas, 0));
JS
node sum.mjs
cat > types.ts <<'TS'
interface Service { name: string; port: number }
const s: Service = { name: 'ts', port: 1 as number };
enum E { A = 'a' }
console.log(s.name + s.port, E.A);
TS
tsx types.ts
seq 5 | node -e 'let t = 0; require("readline").createInterface({ input: process.stdin }).on("line", (l) => (t += +l)).on("close", () => console.log("sum", t))'
