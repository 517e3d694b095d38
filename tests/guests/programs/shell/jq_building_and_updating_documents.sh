echo '{"a":{"b":[1,2,3]},"c":"x"}' > d.json
jq -c '.a.b[1] = 20 | .a.b += [4] | del(.c) | .new = (.a.b | length)' d.json
jq -c 'to_entries' d.json
jq -c '[paths | map(tostring) | join(".")]' d.json
jq -n -c '[range(5)] | map(. * .) | {squares: ., sum: add}'
jq -r '.a.b | @sh "values: \(.)"' d.json
printf '{"n":1}\n{"n":2}\n{"n":3}\n' | jq -s -c 'map(.n) | {total: add, all: .}'
printf 'a,1\nb,2\n' | jq -R -c 'split(",") | {(.[0]): (.[1] | tonumber)}'
jq -r '"\(.c | ascii_upcase) \(.a.b | map(tostring) | join("-"))"' d.json
echo '[3,1,2]' | jq -c 'sort, reverse, index(1), (. | contains([1])), unique, first, last'
echo '"2024-01-15T10:00:00Z"' | jq 'fromdate, (fromdate | todate)'
