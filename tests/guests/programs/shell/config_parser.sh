#!/usr/bin/env bash
# Read an INI file into associative arrays; validate; print as JSON with jq.
cat > app.ini <<'I'
; global comment
debug = true

[server]
host = example.com   ; inline
port = 8080
# another comment
[database]
url = postgres://u:p@h/db?x=1
pool = ten
I
declare -A conf
section=global
lineno=0
while IFS= read -r line || [[ -n $line ]]; do
  ((lineno++))
  line="${line%%[;#]*}"
  line="$(sed 's/^[[:space:]]*//; s/[[:space:]]*$//' <<< "$line")"
  [[ -z $line ]] && continue
  if [[ $line =~ ^\[([A-Za-z0-9_]+)\]$ ]]; then
    section="${BASH_REMATCH[1]}"
  elif [[ $line =~ ^([A-Za-z_]+)[[:space:]]*=[[:space:]]*(.*)$ ]]; then
    conf["$section.${BASH_REMATCH[1]}"]="${BASH_REMATCH[2]}"
  else
    echo "line $lineno: cannot parse '$line'" >&2
  fi
done < app.ini
for key in $(printf '%s\n' "${!conf[@]}" | sort); do echo "$key = ${conf[$key]}"; done
require_int() { [[ ${conf[$1]} =~ ^[0-9]+$ ]] || { echo "error: $1 must be a number, not '${conf[$1]}'"; return 1; }; }
errors=0
for k in server.port database.pool; do require_int "$k" || ((errors++)); done
echo "$errors error(s)"
for key in "${!conf[@]}"; do jq -n --arg k "$key" --arg v "${conf[$key]}" '{($k): $v}'; done | jq -S -s -c 'add'
json=$(jq -n --arg host "${conf[server.host]}" --argjson port "${conf[server.port]}" '{server: {host: $host, port: $port}}')
echo "$json" | jq -r '.server | "\(.host):\(.port)"'
set_value() { sed -i "/^\[$1\]/,/^\[/ s|^$2 *=.*|$2 = $3|" app.ini; }
set_value server port 9999
set_value database pool 5
grep -E '^(port|pool)' app.ini
env -i NAME=test bash -c 'echo "${NAME:-none} ${HOME:-nohome}"'
export PREFIX_A=1 PREFIX_B=2
for v in "${!PREFIX_@}"; do echo "$v=${!v}"; done
source /dev/stdin <<< 'sourced="from here"'; echo "$sourced"
