printf '# comment\nhost=localhost\nport=80\n\n; other\nport=8080\n' > app.conf
sed -e '/^[#;]/d' -e '/^$/d' app.conf
sed -n '/port/p' app.conf | sed 's/=\(.*\)/ is "\1"/'
sed -i 's/^port=80$/port=443/' app.conf
grep port app.conf
echo "2024-01-15" | sed -E 's/([0-9]+)-([0-9]+)-([0-9]+)/\3.\2.\1/'
sed '2q' app.conf; sed '$!d' app.conf; sed '1!G;h;$!d' <<< $'a\nb\nc'
sed 's/o/0/2' <<< "foo boo"; sed 'y/abc/xyz/' <<< aabbcc
