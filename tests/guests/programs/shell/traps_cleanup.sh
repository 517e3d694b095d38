#!/usr/bin/env bash
# Traps, temporary files, error handling, subshells, exit statuses.
set -Eeuo pipefail
tmp=$(mktemp -d)
cleanup() { local status=$?; rm -rf "$tmp"; echo "cleanup with status $status"; [[ -d $tmp ]] && echo "still there" || echo "gone"; }
trap cleanup EXIT
trap 'echo "error on line $LINENO: $BASH_COMMAND (status $?)"' ERR
trap 'echo "got USR1"' USR1

echo data > "$tmp/file"
if ! grep -q nothing "$tmp/file"; then echo "not found, as expected"; fi
false || echo "handled"
( trap 'echo "subshell exit"' EXIT; exit 3 ) || echo "subshell gave $?"
kill -USR1 $$
value=$(cat "$tmp/file" | tr a-z A-Z)
echo "$value"
run() { "$@" && echo "ok: $*" || echo "failed ($?): $*"; }
run true
run false
run sh -c 'exit 42'
run test -f none.txt
set +e
cat /no/such/file 2>/dev/null | wc -l
echo "pipestatus ${PIPESTATUS[*]}"
missing_command_xyz 2>/dev/null; echo "status $?"
set -e
retry() {
  local n=0 max=$1; shift
  until "$@"; do
    (( ++n < max )) || { echo "gave up after $n"; return 1; }
    echo "retry $n"
  done
}
count=0
flaky() { (( ++count >= 3 )); }
retry 5 flaky && echo "worked after $count"
retry 2 false || echo "never worked"
exec 3> "$tmp/log"
echo "to log" >&3
exec 3>&-
cat "$tmp/log"
readonly LIMIT=5
( LIMIT=6 ) 2>/dev/null || echo "readonly is kept: $LIMIT"
trap - ERR
echo "about to fail"
grep -q nope "$tmp/file"
echo "never printed"
