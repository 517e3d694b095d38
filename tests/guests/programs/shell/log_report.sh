#!/bin/bash
# Report on a web log with awk, sort, uniq, cut and printf.
cat > access.log <<'LOG'
10.0.0.1 [10/Oct/2024:13:55:36] "GET /index.html" 200 2326
10.0.0.2 [10/Oct/2024:13:56:01] "GET /api/users" 200 512
10.0.0.1 [10/Oct/2024:13:57:12] "POST /api/users" 201 64
10.0.0.3 [10/Oct/2024:14:02:11] "GET /missing" 404 0
10.0.0.2 [10/Oct/2024:14:05:40] "GET /api/orders" 500 128
10.0.0.1 [10/Oct/2024:14:07:40] "GET /index.html" 304 0
10.0.0.4 [10/Oct/2024:15:00:00] "DELETE /api/orders/5" 503 17
LOG
echo "== requests per client"
awk '{print $1}' access.log | sort | uniq -c | sort -k1,1nr -k2 | awk '{printf "%-12s %d\n", $2, $1}'
echo "== status classes"
awk '{ c[substr($5,1,1) "xx"]++ } END { for (k in c) print k, c[k] }' access.log | sort
echo "== bytes by method"
awk -F'"' '{ split($2, r, " "); split($3, s, " "); bytes[r[1]] += s[2]; n[r[1]]++ }
  END { for (m in bytes) printf "%s\t%d\t%.1f\n", m, bytes[m], bytes[m]/n[m] }' access.log | sort | column -t
echo "== per hour"
sed -E 's/.*\[[^:]*:([0-9]{2}):.*/\1/' access.log | uniq -c | while read -r n hour; do
  printf '%s:00 %s\n' "$hour" "$(printf '#%.0s' $(seq "$n"))"
done
echo "== errors"
grep -nE '" [45][0-9]{2} ' access.log | cut -d: -f1,2- | awk '{print $0; n++} END {print n " errors"}'
echo "== top path"
grep -oE '"[A-Z]+ [^"]+"' access.log | tr -d '"' | cut -d' ' -f2 | sort | uniq -c | sort -rn | head -1 | sed 's/^ *//'
total=$(awk '{s+=$NF} END {print s}' access.log)
printf 'total %s bytes, mean %.2f\n' "$total" "$(bc -l <<< "$total / $(wc -l < access.log)")"
tac access.log | head -2 | cut -c1-30
paste -d, <(cut -d' ' -f1 access.log) <(awk '{print $5}' access.log) | tail -n 3
