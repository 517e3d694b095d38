cat > words.txt <<'EOF'
banana apple cherry
apple banana apple
date cherry apple
EOF
tr ' ' '\n' < words.txt | sort | uniq -c | sort -k1,1nr -k2 | awk '{print $2": "$1}'
wc -l < words.txt
grep -c apple words.txt
