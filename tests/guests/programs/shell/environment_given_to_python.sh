export GREETING=hello
NAME=world python3 -c 'import os; print(os.environ["GREETING"], os.environ["NAME"])'
echo "${NAME:-unset after}"
python3 - one two <<'EOF'
import sys
print(sys.argv[1:])
EOF
value=$(python3 -c 'import json; print(json.dumps({"k": [1, 2]}))')
echo "$value" | jq -r '.k[1]'
python3 -c 'import sys; sys.stderr.write("to stderr\n"); print("to stdout")' 2>/dev/null
python3 -c 'raise ValueError("x")' 2>&1 | tail -1
