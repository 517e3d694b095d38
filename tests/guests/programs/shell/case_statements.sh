#!/usr/bin/env bash
# case, patterns, extglob, dispatch, loops with break and continue, functions returning statuses.
shopt -s extglob nullglob
classify() {
  case $1 in
    '') echo "empty" ;;
    +([0-9])) echo "integer" ;;
    ?(-)+([0-9]).+([0-9])) echo "decimal" ;;
    @(yes|y|true)) echo "true-ish" ;;
    *.@(jpg|png|gif)) echo "image" ;;
    [A-Z]*) echo "capitalised" ;;
    *' '*) echo "has spaces" ;;
    !(*[a-z]*)) echo "no small letters" ;;
    *) echo "other" ;;
  esac
}
for w in "" 42 -3.14 y cat.png Hello "two words" "###" abc; do printf '%-12s %s\n' "[$w]" "$(classify "$w")"; done
days() { case $1 in 2) (( $2 % 4 == 0 && $2 % 100 != 0 || $2 % 400 == 0 )) && echo 29 || echo 28 ;; 4|6|9|11) echo 30 ;; *) echo 31 ;; esac; }
echo "$(days 2 2024) $(days 2 1900) $(days 2 2000) $(days 4 1) $(days 12 1)"
for i in {1..10}; do
  (( i == 3 )) && continue
  (( i == 6 )) && break
  for j in a b c; do [[ $j == b ]] && continue 2; printf '%s%s ' "$i" "$j"; done
done; echo
i=0; while :; do (( ++i > 3 )) && break; echo "loop $i"; done
until (( i <= 0 )); do (( i -= 2 )); done; echo "i=$i"
dispatch() { local cmd=cmd_$1; shift; if declare -F "$cmd" > /dev/null; then "$cmd" "$@"; else echo "no command ${cmd#cmd_}"; return 127; fi; }
cmd_greet() { echo "hello ${1:-you}"; }
cmd_add() { echo $(( $1 + $2 )); }
dispatch greet Ann; dispatch add 2 3; dispatch fly; echo "status $?"
touch a.txt b.txt c.md; for f in *.txt; do echo "text $f"; done; for f in *.zip; do echo "never"; done
echo !(*.txt|*.sh); files=(*.txt); echo "${#files[@]} ${files[@]%.txt}"
x=5; [[ $x -eq 5 && ! -e nothing ]] && echo both; [ "$x" -gt 3 -a "$x" -lt 9 ] && echo "between"
[[ "apple" < "banana" ]] && echo less; [[ "file.tar.gz" == *.tar.* ]] && echo tar; [[ ab == a? ]] && echo question
if grep -q zzz /dev/null; then echo no; elif true; then echo elif; else echo else; fi
f() { return 7; }; f; echo "returned $?"; ! f; echo "negated $?"; f || true; echo "$?"
(exit 9); echo $?; { echo group; } ; ( x=changed; echo "$x" ); echo "$x"; : "${y:=new}"; echo "$y"
case abc in a*) echo one ;& zzz) echo two ;; *) echo three ;; esac
