python3 -c '
for word in "pear fig apple fig pear fig".split():
    print(word)
' | sort | uniq -c | awk '{ printf "%s=%d\n", $2, $1 }' | sort -t= -k2,2nr
echo "3 4 5" | python3 -c 'import sys; print(*[int(x) ** 2 for x in sys.stdin.read().split()])'
seq 5 | python3 -c '
import sys
for line in sys.stdin:
    n = int(line)
    print(n, "odd" if n % 2 else "even")' | grep odd | wc -l
