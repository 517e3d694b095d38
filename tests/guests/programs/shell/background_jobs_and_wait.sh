work() { echo "job $1 done" > "out.$1"; return $(( $1 % 2 )); }
for i in 1 2 3; do work $i & pids+=($!); done
failed=0
for p in "${pids[@]}"; do wait "$p" || ((failed++)); done
cat out.1 out.2 out.3
echo "failed $failed"
( sleep 0.01; echo late > late.txt ) & wait; cat late.txt
result=$(echo inner; exit 7); echo "$result $?"
sleep 0 && echo slept | tee log.txt | wc -c; cat log.txt; time_spent=$SECONDS; [[ $time_spent -lt 60 ]] && echo quick
