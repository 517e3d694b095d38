#!/usr/bin/env bash
# Redirections: stderr, both, appending, swapping, process substitution, tee, named descriptors, pipes with status.
noisy() { echo "to out"; echo "to err" >&2; return "${1:-0}"; }
noisy 2>/dev/null
noisy > /dev/null 2>&1; echo "quiet $?"
noisy 2>&1 >/dev/null | sed 's/^/piped: /'
noisy > out.log 2> err.log; wc -l out.log err.log | head -2
noisy &> both.log; cat both.log; noisy >> both.log 2>&1; wc -l < both.log
{ noisy 3>&1 1>&2 2>&3; } 2>/dev/null
echo "line" | tee t1 t2 > /dev/null; cat t1 t2
noisy 3 2>/dev/null | cat; echo "${PIPESTATUS[0]} ${PIPESTATUS[1]}"
set -o pipefail; noisy 4 2>/dev/null | cat > /dev/null; echo "pipefail $?"; set +o pipefail
diff <(sort <<< $'b\na') <(printf 'a\nb\n') && echo "equal"
while read -r a b; do echo "$b-$a"; done < <(printf '1 x\n2 y\n')
exec 3< <(seq 3); read -r -u 3 first; read -r second <&3; echo "$first $second"; exec 3<&-
exec {fd}> named.txt; echo "named" >&"$fd"; exec {fd}>&-; cat named.txt
cat <<< "here string" | tr a-z A-Z
( echo sub; echo err >&2 ) 2>&1 | sort
for i in 1 2 3; do echo "$i"; done > loop.txt; paste -sd, loop.txt
count=0; while read -r _; do ((count++)); done < loop.txt; echo "count $count"
count=0; cat loop.txt | while read -r _; do ((count++)); done; echo "lost in a subshell: $count"
set -C; echo x 2>/dev/null > loop.txt || echo "noclobber"; echo forced >| loop.txt; cat loop.txt; set +C
cat nofile 2>&1 | sed 's/.*: //'; ls nofile 2>/dev/null || echo "ls failed"
echo a b c | { read -r x y; echo "$y"; }; echo $'tab\tnewline\\n' | cat -A
yes | head -3 | wc -l; seq 100000 | head -1; : > empty; [ -s empty ] || echo "empty file"
sort -u << EOF | nl -s: -w1
b
a
b
EOF
tr '\n' ' ' < <(seq 5); echo; cat /dev/null | wc -c; printf 'x%.0s' {1..5} | wc -c
mkfifo fifo; (echo "through fifo" > fifo &); cat fifo; rm fifo
grep -c . <<< "$(printf 'a\n\nb\n')"; xargs -a loop.txt echo; cut -f2 <<< $'1\t2\t3'
