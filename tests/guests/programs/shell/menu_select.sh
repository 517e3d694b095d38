#!/bin/bash
# Read menu choices from standard input until quit; keep an account.
balance=100
declare -a history
show() { printf 'Balance: %d\n' "$balance"; }
while true; do
  read -r -p "choice> " cmd amount || { echo; echo "end of input"; break; }
  case "$cmd" in
    d|deposit)
      if [[ ! $amount =~ ^[0-9]+$ ]]; then echo "not a number: '$amount'"; continue; fi
      (( balance += amount )); history+=("+$amount"); show ;;
    w|withdraw)
      if (( amount > balance )); then echo "not enough"; else (( balance -= amount )); history+=("-$amount"); show; fi ;;
    h*) printf '%s\n' "${history[@]}" | nl ;;
    "") continue ;;
    q|quit|exit) echo "bye"; break ;;
    *) echo "unknown: $cmd" ;;
  esac
done
PS3="pick: "
select item in apple banana "something else"; do
  [[ -n $item ]] && { echo "you picked $item ($REPLY)"; break; }
  echo "invalid $REPLY"
done
read -r rest
echo "rest: $rest"
read -rn 3 three; echo "three: $three"
read -t 1 -r line; echo "line: $line"
exit $(( balance > 100 ? 7 : 0 ))
