#!/usr/bin/env bash
# A command line with getopts, long options, defaults and a usage text.
usage() {
  cat <<EOF
Usage: $(basename "$0" .sh | tr -d '\n' | wc -c | tr -d ' ') [options] FILE...
  -n N     number (default 1)
  -o FILE  output
  -v       verbose
EOF
}
set -- -v -n 3 -o out.txt file1 "file 2"
verbose=0 count=1 output=-
while getopts ":n:o:vh" opt; do
  case "$opt" in
    n) count="$OPTARG" ;;
    o) output="$OPTARG" ;;
    v) ((verbose++)) ;;
    h) usage; exit 0 ;;
    :) echo "missing value for -$OPTARG" >&2; exit 2 ;;
    *) echo "unknown option -$OPTARG" >&2; exit 2 ;;
  esac
done
shift "$((OPTIND - 1))"
echo "verbose=$verbose count=$count output=$output files=$# [$*]"
parse_long() {
  local name="" force=false rest=()
  while [[ $# -gt 0 ]]; do
    case $1 in
      --name=*) name="${1#*=}" ;;
      --name) name="$2"; shift ;;
      -f|--force) force=true ;;
      --) shift; rest+=("$@"); break ;;
      -*) echo "bad option $1"; return 1 ;;
      *) rest+=("$1") ;;
    esac
    shift
  done
  echo "name=$name force=$force rest=${rest[*]:-none} (${#rest[@]})"
}
parse_long --name "big deal" -f a b
parse_long --name=x -- --not-an-option y
parse_long --oops || echo "status $?"
for f in "$@"; do printf '%s: %d\n' "$f" "$count" >> "$output"; done
cat "$output"
for i in $(seq "$count"); do echo -n "$i "; done; echo
