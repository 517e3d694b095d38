#!/bin/bash
# jq: filters, maps, reduce, string interpolation, update, group, path expressions, raw output.
cat > shop.json <<'J'
{"store":"Corner","items":[{"id":1,"name":"Tea","price":3.5,"tags":["hot","drink"],"stock":{"a":4,"b":0}},{"id":2,"name":"Cake","price":4.25,"tags":["sweet"],"stock":{"a":1,"b":2}},{"id":3,"name":"Soup","price":5,"tags":[],"stock":{"a":0,"b":0}}],"open":true,"rating":null}
J
jq '.store, .items[0].name, (.items | length)' shop.json
jq -r '.items[] | "\(.id). \(.name) costs $\(.price)"' shop.json
jq -c '.items | map(select(.price > 4)) | map({name, price})' shop.json
jq '[.items[].price] | add, min, max, (add / length * 100 | round / 100)' shop.json
jq -c '.items[] | {(.name): (.stock | add)}' shop.json
jq -c '[.items[] | .tags[]] | unique' shop.json
jq -r '.items | sort_by(-.price) | .[] | [.name, .price] | @tsv' shop.json
jq -c '.items |= map(.price *= 2) | [.items[].price]' shop.json
jq -c 'del(.items[] | select(.tags == [])) | .items | length' shop.json
jq -c 'to_entries | map("\(.key):\(.value | type)")' shop.json
jq -c 'reduce .items[] as $i ({}; .[$i.name] = ($i.tags | join("/")))' shop.json
jq '.rating // "unrated"' shop.json
jq -c 'path(..) | select(length == 3) | map(tostring) | join(".")' shop.json | head -3
jq -c --arg n Tea --argjson p 9 '.items[] | select(.name == $n) | .price = $p | {name, price}' shop.json
jq -n -c '[range(5)] | map(. * .) | {sum: add, all: .}'
jq -n -c '"a,b,c" | split(",") | map(ascii_upcase) | join("-") , ("x" * 3), ("test" | test("es")), ("abc123" | capture("(?<l>[a-z]+)(?<d>[0-9]+)"))'
jq -c 'if .open then "open" else "closed" end, (.items | any(.price == 5)), (.items | all(.id > 0))' shop.json
echo '[3,1,2]' | jq -c 'sort, reverse, (map(tostring) | join("")), index(1), .[1:], first, last'
echo '{"a":1}{"a":2}' | jq -s -c 'map(.a), (.[0] * {b: 2})'
echo '[{"k":"x","v":1},{"k":"y","v":2},{"k":"x","v":3}]' | jq -c 'group_by(.k) | map({(.[0].k): map(.v)}) | add'
echo '"2024-05-06T07:08:09Z"' | jq 'fromdate, (fromdate | todate)'
jq -r '.items[] | select(.stock.b? == 0) | .name | @base64, @uri, @sh' shop.json
jq -c 'limit(2; .items[].name), (.items | map(.name) | index("Cake"))' shop.json
jq -e '.missing' shop.json > /dev/null; echo "status $?"
echo '{bad json' | jq . 2>/dev/null || echo "refused"
jq -c 'def area(w; h): w * h; area(3; 4), ([limit(3; repeat(1))]), (try error("oops") catch .), ([.items[].id] | contains([1, 2])), input_line_number' shop.json 2>/dev/null | head -4
jq --tab '.items[1].stock' shop.json
jq -S -c '{b: 1, a: {d: 1, c: 2}}' <<< null
jq -c 'walk(if type == "number" then . + 1 else . end) | .items[0].stock' shop.json
jq -c '.items | with_entries(.value |= .name)' shop.json 2>/dev/null || jq -c '.items | to_entries | map(.value.name)' shop.json
jq -c '[.items[] | .price] | [.[] | floor, ceil, sqrt > 2]' shop.json
jq -c 'tojson | fromjson | keys, has("open"), (.items[0] | keys_unsorted)' shop.json
