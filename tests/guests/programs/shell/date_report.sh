#!/bin/bash
# Dates with GNU date: arithmetic, formats, ages, calendars.
export TZ=UTC LC_ALL=C
base="2024-02-28 13:05:09"
date -d "$base" '+%Y/%m/%d %H:%M:%S %A %j %U %V %p %I'
for off in '1 day' '2 days' '1 week' '1 month' '-1 year' '90 minutes' 'next friday' '1 month ago'; do printf '%-12s %s\n' "$off" "$(date -d "$base $off" '+%F %R')"; done
days_between() { echo $(( ( $(date -d "$2" +%s) - $(date -d "$1" +%s) ) / 86400 )); }
days_between 2024-01-01 2024-12-25
for y in 1900 2000 2023 2024; do date -d "$y-02-29" +%F > /dev/null 2>&1 && echo "$y leap" || echo "$y common"; done
for m in {1..12}; do printf '%s ' "$(date -d "2024-$m-01 +1 month -1 day" +%d)"; done; echo
date -d @1700000000 --iso-8601=seconds; date -d @0 -R; date -u -d '1970-01-02' +%s
TZ=America/New_York date -d @1710054000 '+%F %T %Z'; TZ=Asia/Tokyo date -d @0 '+%F %T %z'
age() { local b=$1 t=$2 a; a=$(( $(date -d "$t" +%Y) - $(date -d "$b" +%Y) )); [[ $(date -d "$t" +%m%d) < $(date -d "$b" +%m%d) ]] && ((a--)); echo "$a"; }
age 1990-12-17 2024-06-01; age 1990-05-17 2024-06-01
d=2024-05-01; while [[ $d < 2024-05-06 ]]; do printf '%s:%s ' "$d" "$(date -d "$d" +%u)"; d=$(date -d "$d + 1 day" +%F); done; echo
secs=98765; printf '%dd %02d:%02d:%02d\n' $((secs/86400)) $((secs%86400/3600)) $((secs%3600/60)) $((secs%60))
printf '%(%A)T\n' 86400; date -d '12/25/2024' +%F; date -d 'Jan 5 2024 3pm' '+%F %H'; date -d 'yesterday 2024-03-01' +%F
touch -d '2024-01-01' f1; touch -d '2024-06-01' f2; ls -t f1 f2 | head -1; find . -newer f1 -name 'f*' | sort; date -r f2 +%F
date -d 'not a date' 2>/dev/null; echo "status $?"
date -d "$base" +'%s %N %-d %e %y %h %D %T %c' | cut -c1-60
