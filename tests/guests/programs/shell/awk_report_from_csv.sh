cat > sales.csv <<EOF
region,product,amount
north,apple,10
south,pear,20
north,pear,5
east,apple,7.5
south,apple,2
EOF
awk -F, 'NR > 1 { total[$1] += $3; n++ } END { for (r in total) printf "%s %.1f\n", r, total[r]; print n " rows" }' sales.csv | sort
awk -F, 'NR==1 {for (i=1;i<=NF;i++) h[i]=$i; next} $3 > 6 {print h[2] "=" $2, "amount=" $3}' sales.csv
cut -d, -f2 sales.csv | tail -n +2 | sort -u | paste -sd' ' -
sort -t, -k3,3n sales.csv | head -2
