echo $((2 ** 10)) $((17 % 5)) $((-7 / 2)) $((0xff)) $((2#1011)) $((1 ? 5 : 6)) $(( (3 + 4) * 2 ))
x=5; (( x++ )); (( x += 10 )); echo $x $((x--)) $x
printf '%05d|%x|%o|%.3f|%e|%s|%5s|%-5s|%c|%%\n' 42 255 8 3.14159 12345.678 str ab cd xyz
echo "scale=4; 10 / 3; sqrt(2)" | bc
echo "obase=2; 10" | bc
let "y = 3 * 4"; echo $y
expr 3 \* 4 + 1
is_prime() { local n=$1 i; (( n > 1 )) || return 1; for ((i = 2; i * i <= n; i++)); do (( n % i == 0 )) && return 1; done; return 0; }
for n in {1..30}; do is_prime $n && echo -n "$n "; done; echo
