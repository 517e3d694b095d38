pass=0 fail=0
check() {
  local want=$1; shift
  local got; got=$("$@" 2>&1)
  if [[ $got == "$want" ]]; then ((++pass)); else ((++fail)); echo "FAIL: $* -> '$got', wanted '$want'"; fi
}
add() { echo $(( $1 + $2 )); }
check 5 add 2 3
check 0 add -1 1
check HELLO bash -c 'echo hello | tr a-z A-Z'
check 42 python3 -c 'print(6 * 7)'
check wrong echo right
check '[1,2]' jq -c . <<< '[1, 2]'
echo "$pass passed, $fail failed"
[[ $fail -eq 0 ]] || exit 1
