#!/bin/bash
# Generate configuration files from templates with here-documents, envsubst-like expansion, sed and nested quoting.
app=shop
declare -A ports=([web]=8080 [api]=9090)
make_conf() {
  local name=$1 port=$2
  cat <<EOF
# $name of $app
server {
  listen ${port};
  root /srv/$app/${name^^};
  workers $(( port / 1000 ));
  literal \$uri \`cmd\`
  date $(echo 2024-05-01 | tr - /)
}
EOF
}
for n in api web; do make_conf "$n" "${ports[$n]}" > "$n.conf"; done
cat api.conf
diff api.conf web.conf
echo "diff status $?"
cat <<'RAW' > template.txt
Dear {{name}},
your order #{{id}} costs ${{price}}.
RAW
render() { sed -e "s/{{name}}/$1/g" -e "s/{{id}}/$2/" -e "s|{{price}}|$3|" template.txt; }
render "Ann O'Neil" 17 9.99
cat <<-TABBED
	tabs are removed
		also here
	TABBED
while IFS='=' read -r key value; do
  [[ $key =~ ^[[:space:]]*# || -z $key ]] && continue
  key=${key// /}; value=${value# }
  printf '%-10s => [%s]\n' "$key" "$value"
done <<'INI'
# comment
host = localhost
port=5432

user = admin = root
INI
read -r -d '' json <<'JSON'
{"name": "x", "list": [1, 2]}
JSON
echo "$json" | jq -c '.list | map(. * 10)'
wc -l < <(cat api.conf web.conf)
tr 'a-z' 'A-Z' <<< "here string with $app"
cat - api.conf <<< "first" | head -2
sed -n '/listen/{s/[^0-9]//g;p}' *.conf
sed -i 's/listen \([0-9]*\)/listen 127.0.0.1:\1/' web.conf && grep listen web.conf
eval "echo \"$(cat <<'T'
evaluated: $app and $((1+1))
T
)\""
