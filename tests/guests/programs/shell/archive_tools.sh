#!/bin/bash
# tar, gzip, zip, checksums, split and join of files.
set -e
mkdir -p data/sub
for i in 1 2 3; do printf 'file %d\n' $i > data/f$i.txt; done
seq 1000 > data/sub/numbers
tar czf data.tar.gz data
tar tzf data.tar.gz | sort
mkdir out && tar xzf data.tar.gz -C out --strip-components=1
diff -r data out && echo "same"
tar cf - data | tar tf - | wc -l
gzip -k data/sub/numbers; ls data/sub; gunzip -c data/sub/numbers.gz | tail -1; zcat data/sub/numbers.gz | wc -l
bzip2 -c data/f1.txt | bunzip2
( cd data && sha256sum f*.txt > ../sums ) && (cd data && sha256sum -c ../sums)
echo changed > data/f2.txt; (cd data && sha256sum -c ../sums 2>/dev/null) || echo "status $?"
split -b 1500 data/sub/numbers piece. && ls piece.*; cat piece.* | cmp - data/sub/numbers && echo "joined"
zip -qr data.zip data -x '*.gz' && unzip -l data.zip | awk 'NR > 3 && NF == 4 {print $4}' | sort | head -3
unzip -qo data.zip data/f3.txt -d unz && cat unz/data/f3.txt
md5sum data/f1.txt | cut -c1-8; cksum < data/f1.txt; base64 < data/f3.txt
tar --exclude='sub' -cf small.tar data && tar tf small.tar | sort
tar -rf small.tar sums && tar tf small.tar | tail -1
tar xf small.tar -O data/f1.txt
du -b data/f1.txt | cut -f1; wc -c < data/sub/numbers
cp -r data copy && rm -r copy/sub && ls copy; mv copy/f1.txt copy/renamed; ls copy
ln -s f3.txt data/link; readlink data/link; cat data/link; [ -L data/link ] && echo "is link"
mkdir -p a/b/c && rmdir -p a/b/c && [ ! -d a ] && echo "removed"
touch -d '2020-01-02 03:04:05 UTC' old && date -u -r old +%F; [ data/f1.txt -nt old ] && echo newer
chmod 640 old && stat -c '%a %A' old; install -m 755 old new && stat -c %a new
dd if=data/sub/numbers bs=1 skip=2 count=5 2>/dev/null | tr '\n' ,; echo
head -c 16 /dev/zero | od -An -tx1
file data.tar.gz | cut -d: -f2 | cut -d, -f1
