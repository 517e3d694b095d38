for i in {1..10}; do
  (( i % 2 )) || continue
  (( i > 7 )) && break
  echo -n "$i "
done; echo
n=1; until (( n > 100 )); do n=$((n * 3)); done; echo $n
while read -r line; do echo "got: $line"; done < <(printf 'x\ny z\n')
for ((i = 0, j = 10; i < j; i += 3, j -= 2)); do echo "$i $j"; done
seq 1 3 | while read n; do echo $((n * n)); done
for f in a b; do for g in 1 2; do echo -n "$f$g "; done; done; echo
