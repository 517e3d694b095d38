name=Ada count=3
cat <<EOF
Dear $name,
you have $count new ${count:+messages}.
Sum: $((count + 1)), today: $(echo fixed)
EOF
cat <<'EOF'
No $expansion `here`
EOF
cat <<-EOF
	tabs stripped
	EOF
tr a-z A-Z <<< "here string"
read -r first rest <<< "one two three"; echo "$first|$rest"
mapfile -t lines < <(printf 'l1\nl2\n'); echo "${#lines[@]} ${lines[1]}"
