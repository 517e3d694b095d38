#!/usr/bin/env bash
# Recursion and locals: hanoi, permutations, tree printing, ackermann, memoisation with associative arrays.
hanoi() { local n=$1 a=$2 b=$3 c=$4; (( n == 0 )) && return; hanoi $((n - 1)) "$a" "$c" "$b"; echo "$a->$c"; hanoi $((n - 1)) "$b" "$a" "$c"; }
hanoi 3 A B C | paste -sd' '
permute() { local prefix=$1 rest=$2 i; [[ -z $rest ]] && { echo "$prefix"; return; }; for ((i = 0; i < ${#rest}; i++)); do permute "$prefix${rest:i:1}" "${rest:0:i}${rest:i+1}"; done; }
permute "" abc | tr '\n' ' '; echo
declare -A memo
fib() { local n=$1; if [[ -n ${memo[$n]} ]]; then r=${memo[$n]}; return; fi; if (( n < 2 )); then r=$n; else fib $((n - 1)); local x=$r; fib $((n - 2)); r=$((x + r)); fi; memo[$n]=$r; }
fib 60; echo "fib 60 = $r"
mkdir -p tree/{src/{lib,bin},docs}; touch tree/src/main.c tree/src/lib/{a,b}.c tree/docs/index.md
show() { local dir=$1 indent=$2 e; for e in "$dir"/*; do echo "$indent${e##*/}"; [[ -d $e ]] && show "$e" "$indent  "; done; return 0; }
show tree ""
count() { local dir=$1 n=0 e; for e in "$dir"/*; do if [[ -d $e ]]; then (( n += $(count "$e") )); elif [[ -f $e ]]; then (( n++ )); fi; done; echo "$n"; }
echo "files: $(count tree)"
outer() { local v=outer; inner; echo "after: $v"; }; inner() { echo "inner sees $v"; v=changed; }
v=global; outer; echo "$v"
swap() { local -n x=$1 y=$2; local t=$x; x=$y; y=$t; }; p=1 q=2; swap p q; echo "$p $q"
ack() { local m=$1 n=$2; if (( m == 0 )); then r=$((n + 1)); elif (( n == 0 )); then ack $((m - 1)) 1; else ack "$m" $((n - 1)); ack $((m - 1)) "$r"; fi; }
ack 2 3; echo "ack $r"
map() { local f=$1 x; shift; for x; do "$f" "$x"; done; }; square() { echo $(( $1 * $1 )); }; map square 1 2 3 | xargs
reduce() { local f=$1 acc=$2 x; shift 2; for x; do acc=$("$f" "$acc" "$x"); done; echo "$acc"; }; add() { echo $(($1 + $2)); }; reduce add 0 1 2 3 4
gcd() { (( $2 == 0 )) && echo "$1" || gcd "$2" $(( $1 % $2 )); }; gcd 48 36
depth() { (( $1 > 0 )) && depth $(( $1 - 1 )) || echo "bottom ${#FUNCNAME[@]}"; }; depth 50
declare -f square; type square | head -1; unset -f square; type square 2>/dev/null || echo "gone"
args() { echo "$# [$1] [${2-none}] [${*:2}] [${@: -1}]"; }; args "one arg" two; args solo; set -- x "y z"; args "$@"; args $*
