#!/usr/bin/env bash
# find, xargs, sort, du-like sums, rename in bulk.
set -eu
mkdir -p proj/{src,test,docs}/sub
touch proj/src/{a,b,c}.c proj/src/sub/d.c proj/test/{a,b}_test.c "proj/docs/with space.md" proj/docs/sub/x.md
printf 'int main(void) {\n  return 0; // TODO fix\n}\n' > proj/src/a.c
printf '// TODO: one\n// TODO: two\n' > proj/src/sub/d.c
head -c 2000 /dev/zero > proj/docs/big.bin
find proj -type f -name '*.c' | sort
find proj -type d -empty | sort
find proj -maxdepth 1 -mindepth 1 -type d -printf '%f\n' | sort
find proj -name '*.md' -print0 | sort -z | xargs -0 -I{} echo "[{}]"
find proj -type f -size +1k -exec basename {} \;
find proj -name '*.c' ! -path '*/test/*' -exec grep -l TODO {} + | sort
grep -rc TODO proj/src | sort | grep -v ':0$'
grep -rn --include='*.c' 'TODO' proj | sort | sed 's/:.*TODO/: TODO/'
find proj -name '*_test.c' | sort | while read -r f; do mv "$f" "${f%_test.c}.spec.c"; done
ls proj/test
seq 1 10 | xargs -n 3 echo row
echo "a b c d" | xargs -n1 | nl -w2 -s'. '
printf '%s\n' 3 1 2 | sort | xargs -I@ sh -c 'echo "item @ squared $((@ * @))"'
find proj \( -name '*.c' -o -name '*.md' \) -type f | sed 's/.*\.//' | sort | uniq -c | awk '{print $2, $1}'
find proj -type f -newer proj/src/a.c -name 'nothing' | wc -l
find . -path ./proj/docs -prune -o -name '*.c' -print | wc -l
find proj -name '*.bin' -delete -print
ls -R proj | head -8
find proj -type f | awk -F/ '{n[$2]++} END {for (d in n) print d, n[d]}' | sort
stat -c '%n %s' proj/src/a.c
wc -c proj/src/a.c | cut -d' ' -f1
find proj -perm -u+x -type f | wc -l; chmod +x proj/src/b.c; find proj -perm -u+x -type f
