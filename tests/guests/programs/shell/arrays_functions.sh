#!/usr/bin/env bash
# Arrays, associative arrays, functions with namerefs, string operations, arithmetic.
fruits=(apple "blood orange" cherry)
fruits+=(date)
echo "${#fruits[@]} fruits: ${fruits[*]}"
for i in "${!fruits[@]}"; do printf '%d=%s;' "$i" "${fruits[i]}"; done; echo
unset 'fruits[1]'
echo "${!fruits[@]} | ${fruits[@]:1:2} | ${fruits[-1]}"
declare -A age=([ann]=31 [bob]=25 ["carl c"]=40)
age[dee]=19
for k in $(printf '%s\n' "${!age[@]}" | grep -v ' ' | sort); do echo "$k is ${age[$k]}"; done
[[ -v age[bob] ]] && echo "bob is known"; [[ -v age[zoe] ]] || echo "zoe is not"
join_by() { local IFS=$1; shift; echo "$*"; }
join_by , "${fruits[@]}"
reverse() { local -n out=$1; shift; out=(); local x; for x; do out=("$x" "${out[@]}"); done; }
reverse backwards 1 2 3 "four 4"
declare -p backwards
max() { local m=$1; for n; do (( n > m )) && m=$n; done; echo "$m"; }
echo "max $(max 3 17 5 -2)"
s="Hello, World"
echo "${s,,} ${s^^} ${s:7} ${s: -5:3} ${s/o/0} ${s//o/0} ${s#*, } ${s%,*} ${#s} ${s~~}"
file=/var/log/app/server.log.gz
echo "${file##*/} ${file%/*} ${file%%.*} ${file#*.} ${file/%.gz/.zip}"
unset v; echo "${v:-default} ${v:=assigned} $v ${v:+set} ${v:0:3}"
(( x = 5, y = x ** 2, z = y % 7 )); echo "$x $y $z $(( x > 3 ? 10 : 20 )) $(( 0xff + 010 + 2#101 )) $(( x++ + ++x )) $x"
for (( i = 10; i > 0; i -= 3 )); do printf '%s ' "$i"; done; echo
mapfile -t lines < <(printf 'one\ntwo\nthree\n'); echo "${#lines[@]} ${lines[1]}"
IFS=: read -r user _ uid _ <<< "root:x:0:0:root"; echo "$user $uid"
matrix=("1 2 3" "4 5 6"); for row in "${matrix[@]}"; do read -ra cells <<< "$row"; echo "${cells[2]} $(( cells[0] * cells[1] ))"; done
fact() { (( $1 <= 1 )) && { echo 1; return; }; echo $(( $1 * $(fact $(( $1 - 1 ))) )); }
echo "10! = $(fact 10)"
[[ "2024-05-06" =~ ^([0-9]{4})-([0-9]{2})-([0-9]{2})$ ]] && echo "${BASH_REMATCH[3]}.${BASH_REMATCH[2]}.${BASH_REMATCH[1]}"
printf '%5s|%-6s|%05d|%x|%.2f|%q|%s\n' ab cd 42 255 3.14159 "it's" end
sorted=($(printf '%s\n' 5 3 9 1 | sort -n)); echo "${sorted[@]}"
echo {a..e} {1..10..3} file{1,2}.{txt,md}
echo "${fruits[@]/#/my-}" "${fruits[@]^}"
case "foobar" in foo*) echo starts ;;& *bar) echo ends ;; *) echo never ;; esac
