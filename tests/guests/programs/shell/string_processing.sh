str="The quick brown fox"
echo "${#str}" "${str,,}" "$(rev <<< "$str")"
for word in $str; do echo -n "${word:0:1}"; done; echo
echo "$str" | fold -w 8
printf '%s\n' one two three | paste -d+ -s
echo "a b  c" | tr -s ' ' | tr ' ' '_'
echo "hello" | od -An -c | tr -s ' '
echo "abc" | xxd -p; printf '\x41\u00e9\n'
column -t <<< $'name age\nann 31\nbobby 7'
[[ "apple" < "banana" ]] && echo sorted
[[ $str == *quick* && ! $str =~ [0-9] ]] && echo matches
basename /a/b/c.txt .txt; dirname /a/b/c.txt
yes no | head -3 | paste -sd,
