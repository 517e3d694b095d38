#!/bin/bash
set -euo pipefail
sum() {
  local total=0
  for n in "$@"; do
    (( total += n ))
  done
  echo "$total"
}
numbers=(3 8 15 4)
echo "count: ${#numbers[@]}"
echo "sum: $(sum "${numbers[@]}")"
numbers+=(10)
echo "last: ${numbers[-1]}, slice: ${numbers[@]:1:2}"
sorted=($(printf '%s\n' "${numbers[@]}" | sort -n))
echo "sorted: ${sorted[*]}"
for i in "${!numbers[@]}"; do printf '%d=%d ' "$i" "${numbers[$i]}"; done; echo
