cat > in.csv <<EOF
id,name,score
1,Ann,90
2,Bob,85
3,"Cid, Jr.",77
EOF
python3 -c '
import csv, json, sys
print(json.dumps(list(csv.DictReader(open("in.csv")))))' > mid.json
jq length mid.json
jq -r 'map(.score |= tonumber) | sort_by(.score) | (.[0] | keys_unsorted) as $k | $k, (.[] | [.[$k[]]]) | @csv' mid.json
jq -r '.[] | "\(.name): \("*" * ((.score | tonumber) / 10 | floor))"' mid.json
