cat > access.log <<'EOF'
10.0.0.1 GET /index 200 120
10.0.0.2 GET /about 404 30
10.0.0.1 POST /login 500 5
10.0.0.3 GET /index 200 110
10.0.0.2 GET /index 304 0
10.0.0.1 GET /img.png 200 2048
EOF
echo "Top clients:"; cut -d' ' -f1 access.log | sort | uniq -c | sort -rn | head -2 | sed 's/^ *//'
echo "Errors:"; awk '$4 >= 400 {print $4, $3}' access.log
echo "Bytes: $(awk '{s += $5} END {print s}' access.log)"
grep -E ' (404|500) ' access.log | wc -l
join <(sort access.log | cut -d' ' -f1 | uniq) <(printf '10.0.0.1 web\n10.0.0.3 db\n')
tail -n 2 access.log | tac | nl -w2 -s') '
comm -12 <(printf 'a\nb\nc\n') <(printf 'b\nc\nd\n') | tr '\n' ' '; echo
