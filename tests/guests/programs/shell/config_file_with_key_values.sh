cat > app.ini <<'EOF'
[server]
host = 127.0.0.1
port=8080
# comment
[client]
retries = 3
EOF
get() { awk -F' *= *' -v s="[$1]" -v k="$2" '$0 == s {f = 1; next} /^\[/ {f = 0} f && $1 == k {print $2}' app.ini; }
echo "$(get server host):$(get server port) x$(get client retries)"
python3 -c '
import configparser, json
c = configparser.ConfigParser(); c.read("app.ini")
print(json.dumps({s: dict(c[s]) for s in c.sections()}))' | jq -c '.server.port | tonumber + 1'
sed -i '/^# /d; s/8080/9090/' app.ini; grep -c . app.ini; get server port
