#!/bin/bash
# awk programs: grouping, formatted tables, arrays, functions, getline, string functions.
cat > sales.tsv <<'T'
region	product	qty	price
north	pen	10	1.50
south	pen	4	1.50
north	book	2	12.00
east	lamp	1	45.25
south	book	7	11.50
east	pen	30	1.40
T
awk -F'\t' 'NR > 1 { t[$1] += $3 * $4; q[$1] += $3 } END { for (r in t) printf "%-6s %3d %8.2f\n", r, q[r], t[r] | "sort"; close("sort"); print "done" }' sales.tsv
awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next } { print $col["product"] ":" $(col["qty"]) }' OFS=- sales.tsv
awk 'BEGIN { FS = OFS = "\t" } NR > 1 { $3 = $3 * 2; $5 = sprintf("%.1f", $3 * $4); print }' sales.tsv | head -2
awk -F'\t' 'NR>1{m[$2][$1]=$3} END{n=asorti(m,p); for(i=1;i<=n;i++){printf "%s", p[i]; k=asorti(m[p[i]],r); for(j=1;j<=k;j++) printf " %s=%d", r[j], m[p[i]][r[j]]; print ""}}' sales.tsv
awk 'function fib(n) { return n < 2 ? n : fib(n-1) + fib(n-2) } BEGIN { for (i = 0; i < 15; i++) printf "%d%s", fib(i), (i < 14 ? " " : "\n") }'
awk 'BEGIN { s = "The quick brown fox"; print length(s), toupper(s), substr(s, 5, 5), index(s, "brown"); gsub(/o/, "0", s); print s; n = split(s, w, " "); for (i = n; i; i--) printf "%s ", w[i]; print ""; if (match(s, /br[a-z0-9]+/)) print RSTART, RLENGTH, substr(s, RSTART, RLENGTH) }'
echo "a=1;b=2;c=3" | awk -F'[=;]' '{ for (i = 1; i <= NF; i += 2) sum += $(i+1); print sum, NF }'
printf 'x 1\ny 2\nx 3\n' | awk '!seen[$1]++'
printf '5\n3\n9\n' | awk 'NR==1{min=max=$1} {if($1<min)min=$1; if($1>max)max=$1; s+=$1; ss+=$1^2} END{m=s/NR; printf "%d %d %.2f %.3f\n", min, max, m, sqrt(ss/NR-m^2)}'
awk 'BEGIN { while (("echo one; echo two" | getline line) > 0) print "got " line; "date -u -d @0 +%Y" | getline y; print y }'
awk '/START/{f=1;next} /END/{f=0} f' <<< $'a\nSTART\nb\nc\nEND\nd'
awk -v name="$USER_X" -v n=3 'BEGIN { printf "[%s] %03d %5.1f%% %s %c%c %e %x\n", name, n, 12.345, "str", 65, "hello", 12345.678, 255; print substr("hello", 0, 3), 1e6, 1e-5, 0.1 + 0.2, 10 % 3, -7 % 3, 2 ** 10, int(-3.7) }'
awk 'BEGIN { a["x"]; if ("x" in a) print "in"; delete a["x"]; print length(a); print 1 == 1.0, "a" < "b", "10" < "9", 10 < 9 }'
printf 'one two\nthree\n\nfour five six\n' | awk 'BEGIN { RS = ""; FS = "\n" } { print NR ": " $1 " (" NF ")" }'
awk '{ $1 = ""; sub(/^ /, ""); print; print NF }' <<< "first second third"
printf '1,2\n3,4\n' | awk -F, 'NR == FNR { a[$1] = $2; next }  { print a[$1] + 0 }' - /dev/null; echo "status $?"
awk 'BEGIN { printf "%s %s %s\n", strftime("%Y-%m-%d", 0, 1), tolower("ABC"), gensub(/(a)(b)/, "\\2\\1", "g", "abab") }'
awk 'BEGIN { exit 3 } END { print "end runs" }'; echo "status $?"
