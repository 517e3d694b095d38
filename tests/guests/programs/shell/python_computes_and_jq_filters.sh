python3 - <<'EOF' > data.json
import json
rows = [{"n": n, "square": n * n, "even": n % 2 == 0} for n in range(6)]
print(json.dumps(rows))
EOF
jq -c '.[] | select(.even) | [.n, .square]' data.json
jq '[.[].square] | add' data.json | python3 -c 'import sys; print(int(sys.stdin.read()) * 2)'
total=$(python3 -c 'print(sum(range(101)))')
echo "total is $total"
