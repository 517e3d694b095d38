#!/bin/bash
# Clean a CSV, compute per-group sums, join with another file, produce a Markdown table.
cat > emp.csv <<'CSV'
id,name,dept,salary
1, Ann ,eng,5200
2,Bob,ops,3100
3,Cid,eng,
4,Dee,hr,3900
5,Eve,ops,3300
CSV
printf '%s\n' eng,Engineering hr,People ops,Operations > dept.csv
head -1 emp.csv | tr ',' '\n' | nl
tail -n +2 emp.csv | sed 's/ *, */,/g' | awk -F, -v OFS=, '$4 == "" {$4 = 0} 1' > clean.csv
cat clean.csv
sort -t, -k3,3 -k4,4nr clean.csv > sorted.csv
join -t, -1 3 -2 1 -o 1.2,2.2,1.4 sorted.csv dept.csv
echo "| dept | n | total | avg |"
awk -F, '{n[$3]++; s[$3]+=$4} END {for (d in n) printf "| %s | %d | %d | %.1f |\n", d, n[d], s[d], s[d]/n[d]}' clean.csv | sort
declare -A best
while IFS=, read -r id name dept salary; do
  if [[ -z ${best[$dept]:-} || $salary -gt ${best[$dept]#*:} ]]; then best[$dept]="$name:$salary"; fi
done < clean.csv
for d in eng hr ops; do echo "$d best: ${best[$d]%%:*} (${best[$d]##*:})"; done
cut -d, -f4 clean.csv | paste -sd+ | bc
awk -F, '$4 > 3000' clean.csv | wc -l
awk -F, 'NR==FNR{d[$1]=$2;next} {print $2 " works in " d[$3]}' dept.csv clean.csv | head -2
cut -d, -f2,3 --output-delimiter=' / ' clean.csv | tail -1
