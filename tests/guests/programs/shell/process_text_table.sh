#!/bin/bash
# Print aligned tables, boxes, progress bars and bar charts with printf.
items=("Widget:4:3.50" "Gadget with long name:12:20.00" "Nut:100:0.05")
line() { printf '+%s+%s+%s+\n' "$(printf -- '-%.0s' {1..23})" "$(printf -- '-%.0s' {1..6})" "$(printf -- '-%.0s' {1..10})"; }
line
printf '| %-21s | %4s | %8s |\n' Item Qty Price
line
total=0
for it in "${items[@]}"; do
  IFS=: read -r name qty price <<< "$it"
  printf '| %-21.21s | %4d | %8.2f |\n' "$name" "$qty" "$price"
  total=$(echo "$total + $qty * $price" | bc)
done
line
printf 'Total: %.2f\n' "$total"
bar() { local n=$1 width=20 filled; filled=$(( n * width / 100 )); printf '[%s%s] %3d%%\n' "$(printf '%*s' "$filled" | tr ' ' '#')" "$(printf '%*s' $((width - filled)) | tr ' ' '.')" "$n"; }
for p in 0 25 50 99 100; do bar "$p"; done
while read -r name value; do printf '%-6s %s %d\n' "$name" "$(printf '█%.0s' $(seq 1 "$value"))" "$value"; done <<'D'
alpha 3
beta 7
gamma 1
D
box() { local text=$1 w=${#1}; printf '╔%s╗\n║ %s ║\n╚%s╝\n' "$(printf '═%.0s' $(seq $((w + 2))))" "$text" "$(printf '═%.0s' $(seq $((w + 2))))"; }
box "Hello box"
printf '%s\t%s\n' name size a 1 bb 22 | column -t
printf '%05.1f|%+d|%e|%g|%c|%b|%%\n' 3.14159 5 12345.678 0.0001 xyz 'tab\there'
printf '%s %s\n' one two three
printf -v var '%08d' 42; echo "$var"
printf '%(%Y-%m-%d)T\n' 0
printf '[%*s] [%-*s]\n' 6 ab 6 cd
echo -e "a\tb\\nc\x41"; echo -n "no newline"; echo; echo 'single $HOME' "double \$HOME"
seq -f 'item-%03g' 1 3
pr -3 -t -w 30 <(seq 1 6) | sed 's/ *$//'
