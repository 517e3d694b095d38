#!/usr/bin/env bash
# A small library of string functions in bash with tests.
trim() { local s="$1"; s="${s#"${s%%[![:space:]]*}"}"; s="${s%"${s##*[![:space:]]}"}"; printf '%s' "$s"; }
repeat() { local out= i; for ((i = 0; i < $2; i++)); do out+=$1; done; printf '%s' "$out"; }
reverse() { local s=$1 out= i; for ((i = ${#s} - 1; i >= 0; i--)); do out+=${s:i:1}; done; printf '%s' "$out"; }
is_palindrome() { local s=${1,,}; s=${s//[^a-z0-9]/}; [[ $s == "$(reverse "$s")" ]]; }
contains() { [[ $1 == *"$2"* ]]; }
split() { local IFS=$2; read -ra REPLY_ARRAY <<< "$1"; }
capitalize() { local w out=(); for w in $1; do out+=("${w^}"); done; echo "${out[*]}"; }
count_char() { local only=${1//[^$2]/}; echo "${#only}"; }
pad_left() { printf "%*s" "$2" "$1"; }
rot13() { tr 'a-zA-Z' 'n-za-mN-ZA-M' <<< "$1"; }
urlencode() { local s=$1 c i out=; for ((i = 0; i < ${#s}; i++)); do c=${s:i:1}; case $c in [a-zA-Z0-9.~_-]) out+=$c ;; *) printf -v c '%%%02X' "'$c"; out+=$c ;; esac; done; echo "$out"; }
pass=0 fail=0
check() { if [[ "$2" == "$3" ]]; then ((++pass)); else ((++fail)); echo "FAIL $1: expected '$3', got '$2'"; fi; }
check trim "$(trim "   two words  ")" "two words"
check repeat "$(repeat ab 3)" ababab
check reverse "$(reverse "héllo")" olléh
check palindrome "$(is_palindrome 'A man, a plan, a canal: Panama' && echo yes)" yes
check contains "$(contains foobar oba && echo yes || echo no)" yes
split "a:b c:d" :
check split "${#REPLY_ARRAY[@]}-${REPLY_ARRAY[1]}" "3-b c"
check capitalize "$(capitalize 'the quick fox')" "The Quick Fox"
check count "$(count_char mississippi s)" 4
check pad "[$(pad_left x 4)]" "[   x]"
check rot13 "$(rot13 "$(rot13 Hello)")" Hello
check url "$(urlencode 'a b&c=d/é')" "a%20b%26c%3Dd%2Fé"
check default "${UNSET_VAR:-d}${UNSET_VAR-e}" de
check quote "$(printf '%q' 'a b$c')" 'a\ b\$c'
check upper "$(tr '[:lower:]' '[:upper:]' <<< abc)" ABC
check replace "$(x=a.b.c; echo "${x//./-}")" a-b-c
check index "$(x=hello; y=${x%%l*}; echo ${#y})" 2
echo "$pass passed, $fail failed"
exit "$fail"
