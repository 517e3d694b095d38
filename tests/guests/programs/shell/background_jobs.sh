#!/usr/bin/env bash
# Background jobs: wait, exit statuses, parallel workers with a limit, a lock file, timeouts.
work() { sleep "0.$1"; echo "job $1 done" > "out.$1"; return "$1"; }
pids=()
for i in 3 1 2; do work "$i" & pids+=($!); done
for idx in "${!pids[@]}"; do wait "${pids[idx]}"; echo "pid $idx status $?"; done
cat out.1 out.2 out.3
( sleep 0.2; echo late ) &
echo early
wait
for n in 1 2 3 4 5 6; do
  ( sleep 0.0$n; echo "$n" >> order ) &
  (( n % 2 == 0 )) && wait
done
wait
sort order | tr '\n' ' '; echo
timeout 0.2 sleep 5; echo "timeout gave $?"
timeout 5 true; echo "in time gave $?"
until [ -f flag ]; do
  [ -n "$started" ] || { started=1; ( sleep 0.1; touch flag ) & }
  sleep 0.05
done
echo "flag seen"
sleep 10 &
victim=$!
kill "$victim"
wait "$victim" 2>/dev/null
echo "killed: $?"
jobs | wc -l
{ echo one; sleep 0.05; echo two; } | while read -r l; do echo "read $l"; done
exec 9> lockfile
flock -n 9 && echo "locked"
coproc CAT { cat; }
echo "through coproc" >&"${CAT[1]}"
read -r answer <&"${CAT[0]}"
echo "$answer"
exec {CAT[1]}>&-
wait
echo "all done"
