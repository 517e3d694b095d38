fact() { (( $1 <= 1 )) && echo 1 || echo $(( $1 * $(fact $(( $1 - 1 ))) )); }
fact 10
fib() { if (( $1 < 2 )); then echo $1; else echo $(( $(fib $(($1 - 1))) + $(fib $(($1 - 2))) )); fi; }
for i in {0..10}; do echo -n "$(fib $i) "; done; echo
hanoi() { (( $1 == 0 )) && return; hanoi $(($1 - 1)) $2 $4 $3; echo "$2->$3"; hanoi $(($1 - 1)) $4 $3 $2; }
hanoi 3 A C B | paste -sd' '
gcd() { while (( $2 )); do set -- $2 $(($1 % $2)); done; echo $1; }
gcd 1071 462
