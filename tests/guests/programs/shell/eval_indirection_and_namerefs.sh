var=target; target=hit; echo "${!var}"
declare -n ref=target; ref=changed; echo "$target"
for v in one two; do declare "count_$v=${#v}"; done; echo "$count_one $count_two"
cmd='echo evaluated'; eval "$cmd \$((1+1))"
declare -i num=5; num+=3; echo $num; declare -r CONST=1; (CONST=2) 2>/dev/null || echo readonly
export EXPORTED=yes; bash -c 'echo $EXPORTED'; env FOO=bar bash -c 'echo $FOO'; FOO=tmp; unset FOO; echo "${FOO-unset}"
type -t cd echo_not if ls | head -3; alias ll='ls -l' 2>/dev/null; declare -f nothing || echo nofunc
printf -v padded '%03d' 7; echo $padded; echo "$(( $(echo 4) + 1 ))"; local_test() { local x=1; inner; echo $x; }; inner() { x=2; }; local_test
