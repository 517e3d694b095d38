sum=0; for i in $(seq 1 100); do sum=$((sum + i * i)); done; echo $sum
seq 1 100 | awk '{s += $1 * $1} END {print s}'
python3 -c 'print(sum(i * i for i in range(1, 101)))'
node -p 'Array.from({length: 100}, (_, i) => (i + 1) ** 2).reduce((a, b) => a + b)'
jq -n '[range(1; 101) | . * .] | add'
echo 'scale=0; s=0; for (i=1; i<=100; i++) s+=i*i; s' | bc
