#!/usr/bin/env bash
# Text statistics with the classic tools.
cat > poem.txt <<'P'
Two roads diverged in a yellow wood,
And sorry I could not travel both
And be one traveler, long I stood
And looked down one as far as I could
To where it bent in the undergrowth;
P
wc poem.txt
wc -lw < poem.txt
tr -cs '[:alpha:]' '\n' < poem.txt | tr '[:upper:]' '[:lower:]' | sort | uniq -c | sort -k1,1nr -k2,2 | head -5
fold -w 20 -s poem.txt | head -4
fmt -w 30 poem.txt
nl -ba poem.txt | head -2
rev <<< "stressed"
cut -d' ' -f2-3 poem.txt
sort -k2 poem.txt | cut -c1-15
paste -sd' ' poem.txt | cut -c1-60
head -c 10 poem.txt; echo
tail -c 14 poem.txt
grep -c And poem.txt; grep -io 'i' poem.txt | wc -l; grep -vn And poem.txt | cut -d: -f1 | paste -sd,
comm -12 <(printf 'a\nb\nc\n') <(printf 'b\nc\nd\n')
join <(printf '1 one\n2 two\n') <(printf '1 uno\n2 dos\n')
diff <(printf 'a\nb\nc\n') <(printf 'a\nx\nc\nd\n')
diff -u <(echo same) <(echo same) && echo "no difference"
seq -w 8 11 | paste - - ; seq 1 0.5 3 | tr '\n' ' '; echo
printf '%s\n' 10 9 2 33 1 | sort -n | head -3 | tac
printf 'b 2\na 10\nc 1\n' | sort -k2n; printf 'v1.10\nv1.9\nv1.2\n' | sort -V
echo "hello" | md5sum | cut -d' ' -f1; echo -n "hello" | sha256sum | cut -c1-16; echo hello | base64; echo aGVsbG8K | base64 -d
od -An -c <<< "hi"; xxd <<< "hex dump"
printf 'a\tb\n' | expand -t 4; echo "x    y" | tr -s ' '
split -l 2 poem.txt part_; ls part_*; cat part_ac
csplit -s poem.txt '/one/' && head -1 xx01
column -t -s, <<< $'name,size\nalpha,1\nb,22222'
date -u -d '2024-02-28 +2 days' '+%Y-%m-%d %a %j'; date -u -d @86400 +%s
expr 3 + 4 \* 2; expr length hello; expr "abc123" : '[a-z]*'
factor 360; bc <<< "scale=4; 22/7; 2^64"; echo "obase=16; 255" | bc
tee copy.txt < poem.txt | head -1; cmp poem.txt copy.txt && echo identical
shuf -i 1-5 | sort -n | paste -sd+ | bc
basename /a/b/c.txt .txt; dirname /a/b/c.txt; realpath --relative-to=/a/b /a/c/d
tsort <<< $'shirt tie\ntie jacket\ntrousers shoes\ntrousers jacket' | head -1
numfmt --to=iec 1048576 2500; numfmt --from=si 1K
truncate -s 5 copy.txt; cat copy.txt; echo; yes no | head -2; strings <<< $'\x01abcdef\x02'
