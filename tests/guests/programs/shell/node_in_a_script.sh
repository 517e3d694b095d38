cat > sum.js <<'EOF'
const lines = require('fs').readFileSync(0, 'utf8').trim().split('\n');
console.log(lines.map(Number).reduce((a, b) => a + b, 0));
EOF
seq 10 | node sum.js
node -e 'console.log(process.argv.slice(1).join("+"))' a b
node -p '[1,2,3].map(x => x * 2).join()'
echo '{"x": 5}' | node -e 'const d = JSON.parse(require("fs").readFileSync(0)); d.x *= 2; console.log(JSON.stringify(d))' | jq -c '.y = .x + 1'
