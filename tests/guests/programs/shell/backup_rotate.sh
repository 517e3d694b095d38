#!/usr/bin/env bash
# Rotate backups: keep the newest N of each kind, report what is deleted.
set -euo pipefail

keep=2
dir=backups
mkdir -p "$dir"
for kind in db files; do
  for day in 01 02 03 04; do
    printf '%s backup of day %s\n' "$kind" "$day" > "$dir/$kind-2024-05-$day.bak"
  done
done
touch "$dir/readme.txt"

usage() { echo "usage: ${0##*/} [-k N] [-n] DIR" >&2; exit 64; }

rotate() {
  local OPTIND opt keep=3 dry=0
  while getopts ':k:n' opt; do
    case $opt in
      k) keep=$OPTARG ;;
      n) dry=1 ;;
      :) echo "option -$OPTARG needs a value"; return 64 ;;
      \?) echo "unknown option -$OPTARG"; return 64 ;;
    esac
  done
  shift $((OPTIND - 1))
  local where=${1:?directory missing}
  declare -A seen=()
  local file kind
  while IFS= read -r file; do
    kind=${file##*/}; kind=${kind%%-*}
    seen[$kind]=$(( ${seen[$kind]:-0} + 1 ))
    if (( seen[$kind] > keep )); then
      echo "delete ${file##*/}"
      (( dry )) || rm -- "$file"
    else
      echo "keep   ${file##*/}"
    fi
  done < <(find "$where" -name '*.bak' | sort -r)
  for kind in "${!seen[@]}"; do echo "$kind: ${seen[$kind]}"; done | sort
}

rotate -k "$keep" -n "$dir"
echo "--- for real"
rotate -k "$keep" "$dir"
ls "$dir"
rotate -x "$dir" || echo "status $?"
rotate -k || echo "status $?"
( rotate -k 1 ) 2>&1 | sed 's/^.*: //' || true
echo "total $(cat "$dir"/*.bak | wc -l) lines"
