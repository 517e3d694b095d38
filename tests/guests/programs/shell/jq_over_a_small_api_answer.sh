cat > users.json <<'EOF'
{"users": [{"id": 1, "name": "Ann", "tags": ["admin", "dev"], "age": 31}, {"id": 2, "name": "Bob", "tags": [], "age": 25},
 {"id": 3, "name": "Cid", "tags": ["dev"], "age": 42}], "page": {"next": null}}
EOF
jq -r '.users[].name' users.json
jq -c '.users | map(select(.age > 30) | {name, first: .tags[0]})' users.json
jq '[.users[].age] | {min: min, max: max, avg: (add / length)}' users.json
jq -r '.users[] | [.id, .name, (.tags | join("|"))] | @csv' users.json
jq -r '.users | group_by(.tags | length > 0) | map("\(.[0].tags | length > 0): \(length)") | .[]' users.json
jq --arg n Bob '.users[] | select(.name == $n) | .age + 1' users.json
jq -e '.page.next' users.json; echo "status $?"
