#!/usr/bin/env bash
# sed scripts: substitution, ranges, hold space, in-place editing, groups, append/insert/change.
cat > story.txt <<'T'
Once upon a time
there was a small fox.
The fox liked    apples.

The end of the fox
T
sed 's/fox/bear/' story.txt
sed -n '2,3p' story.txt
sed '/^$/d; s/  */ /g' story.txt
sed -E 's/([A-Za-z]+) ([A-Za-z]+)/\2 \1/' story.txt
sed '1!G;h;$!d' story.txt | head -2
sed -n '$=' story.txt
sed '2i\inserted before two' story.txt | head -3
sed '/end/a\appended line' story.txt | tail -1
sed '3c\changed' story.txt | sed -n 3p
sed -n '/Once/,/small/{=;p}' story.txt
sed 's/\b./\U&/g' story.txt | head -1
sed -E 's/^(.*)$/\L\1/; s/o/[&]/2' story.txt | head -2
sed 'y/abc/ABC/' story.txt | head -1
sed -n 'l' <<< $'tab\there'
sed '$!N;s/\n/ + /' <<< $'a\nb\nc'
sed ':a;N;$!ba;s/\n/,/g' <<< $'x\ny\nz'
printf 'key1=a\nkey2=b\n' > conf; sed -i.bak 's/^key2=.*/key2=changed/' conf; cat conf conf.bak
sed -e '/fox/!s/^/- /' -e '/fox/s/^/* /' story.txt
sed '/small/q5' story.txt > /dev/null; echo "status $?"
sed 's|/usr/local|/opt|g' <<< "/usr/local/bin:/usr/local/lib"
sed -n '/T/w out.txt' story.txt; cat out.txt
sed -E 's/[0-9]{3}-([0-9]{4})/XXX-\1/g' <<< "call 555-1234 or 555-9876"
sed '0~2d' <<< $'1\n2\n3\n4\n5'
sed = <<< $'a\nb' | sed 'N;s/\n/\t/'
sed -s -n '1p' story.txt conf
echo "hello world" | sed 's/\(hello\) \(world\)/\2, \1!/;s/$/ ok/'
sed '/Once/{n;d}' story.txt | head -2
sed -n 'H;${x;s/\n/|/g;p}' conf
sed --expression='s/e/E/3' <<< "eeee"
sed 's/a/b/;ta;s/$/ (no a)/;:a' <<< $'cat\ndog'
cat > script.sed <<'S'
# comment
s/one/1/
/two/{
  s//2/
  s/$/!/
}
S
sed -f script.sed <<< $'one\ntwo\nthree'
