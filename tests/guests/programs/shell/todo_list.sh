#!/bin/bash
# A to-do list kept in a text file: add, list, done, delete, search.
FILE=todo.txt
: > "$FILE"
todo() {
  local action=$1; shift
  case $action in
    add) echo "[ ] $*" >> "$FILE"; echo "added: $*" ;;
    list) [[ -s $FILE ]] && nl -w2 -s'. ' "$FILE" || echo "(empty)" ;;
    done) sed -i "${1}s/\[ \]/[x]/" "$FILE"; sed -n "${1}p" "$FILE" ;;
    del) local line; line=$(sed -n "${1}p" "$FILE"); [[ -z $line ]] && { echo "no item $1" >&2; return 1; }; sed -i "${1}d" "$FILE"; echo "deleted: ${line#\[?\] }" ;;
    search) grep -n -i -- "$1" "$FILE" || echo "nothing found" ;;
    stats) local all open; all=$(wc -l < "$FILE"); open=$(grep -c '^\[ \]' "$FILE"); echo "$all items, $open open, $(( all ? 100 * (all - open) / all : 0 ))% done" ;;
    *) echo "unknown action: $action" >&2; return 2 ;;
  esac
}
todo list
todo add buy milk
todo add "call mom & dad"
todo add write 'the "report"'
todo add pay $((10 * 3)) euros
todo done 2
todo list
todo search MOM
todo search xyz
todo del 9 || echo "failed with $?"
todo del 1
todo stats
todo frob; echo "status $?"
sort -k2 "$FILE" | cut -c5-
awk '/\[x\]/ {d++} END {print d+0 " done"}' "$FILE"
while IFS= read -r line; do echo "${#line}: $line"; done < "$FILE"
tac "$FILE" | head -1
mapfile -t items < "$FILE"; printf '<%s>\n' "${items[@]:0:2}"
