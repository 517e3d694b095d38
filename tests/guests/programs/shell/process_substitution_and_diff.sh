printf 'a\nb\nc\n' > one; printf 'a\nB\nc\nd\n' > two
diff one two; echo "status $?"
diff -u one two | tail -n +3
cmp -s one one && echo same
diff <(sort one) <(sort -r one) | grep -c '^[<>]'
paste one two | sed 's/\t/|/'
sdiff -s one two >/dev/null || echo differ
cat one two | sort | uniq -d; sort -u one two | wc -l
split -l 2 two part_; ls part_*; cat part_ab
