printf '%-10s|%8s|%6.2f\n' apple 3 1.5 banana 12 0.25
date -u -d '2024-02-28 +2 days' +%F
date -u -d @86400 '+%Y-%m-%d %H:%M:%S'
start=$(date -u -d 2024-01-01 +%s); end=$(date -u -d 2024-03-01 +%s); echo $(( (end - start) / 86400 )) days
printf '%s\n' {a..e}{1..2} | column -c 30 | head -3 >/dev/null; echo {01..05} {a,b}{x,y}
printf '%(%Y)T\n' 0
seq -s, 2 2 10; seq -w 8 10; seq 3 -1 1 | xargs
