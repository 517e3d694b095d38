#!/usr/bin/env bash
# Arithmetic in bash: primes, fibonacci, gcd, factorial with bc, bubble sort, perfect numbers.
is_prime() { local n=$1 i; (( n < 2 )) && return 1; for ((i = 2; i * i <= n; i++)); do (( n % i )) || return 1; done; }
for n in {1..40}; do is_prime "$n" && printf '%d ' "$n"; done; echo
a=0 b=1; for _ in {1..15}; do printf '%d ' "$a"; (( t = a + b, a = b, b = t )); done; echo
gcd() { local a=$1 b=$2; while (( b )); do (( t = b, b = a % b, a = t )); done; echo "$a"; }
echo "gcd $(gcd 1071 462)"
echo "30! = $(seq -s '*' 30 | bc)"
xs=(5 3 8 1 9 2)
for ((i = 0; i < ${#xs[@]}; i++)); do for ((j = 0; j < ${#xs[@]} - i - 1; j++)); do
  if (( xs[j] > xs[j + 1] )); then t=${xs[j]}; xs[j]=${xs[j + 1]}; xs[j + 1]=$t; fi
done; done
echo "sorted: ${xs[*]}"
sum=0; for x in "${xs[@]}"; do let sum+=x; done; echo "sum $sum mean $(echo "scale=3; $sum / ${#xs[@]}" | bc)"
for ((n = 2; n < 500; n++)); do s=1; for ((d = 2; d * d <= n; d++)); do if (( n % d == 0 )); then (( s += d, d * d == n || (s += n / d) )); fi; done; (( s == n )) && echo "perfect $n"; done
to_bin() { local n=$1 out=; while (( n )); do out=$(( n & 1 ))$out; (( n >>= 1 )); done; echo "${out:-0}"; }
echo "$(to_bin 10) $(to_bin 255) $((2#1010)) $(printf '%x %o' 255 8) $((16#ff))"
echo $(( 7 / 2 )) $(( -7 / 2 )) $(( -7 % 3 )) $(( 2 ** 10 )) $(( 1 << 4 | 3 )) $(( ~5 )) $(( !0 )) $(( 5 > 3 && 2 < 1 )) $(( 9223372036854775807 + 1 ))
for r in {1..4}; do for c in {1..4}; do printf '%4d' $((r * c)); done; echo; done
collatz() { local n=$1 steps=0; until (( n == 1 )); do (( n = n % 2 ? 3 * n + 1 : n / 2, steps++ )); done; echo "$steps"; }
echo "collatz 27: $(collatz 27)"
echo "sqrt: $(bc <<< 'scale=10; sqrt(2)') pi: $(bc -l <<< 'scale=10; 4*a(1)')"
awk 'BEGIN { printf "%.4f %.4f %d\n", atan2(0,-1), exp(1), 17 % 5 }'
RANDOM=42; r=$RANDOM; (( r >= 0 && r < 32768 )) && echo "random in range"
((i = 5)); echo $((i++)) $((++i)) $((i--)) $i; echo $(( i = 3, i * 2 ))
