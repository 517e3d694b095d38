cat > check.py <<'EOF'
import sys
if len(sys.argv) < 2:
    print("usage: check.py FILE", file=sys.stderr)
    sys.exit(2)
with open(sys.argv[1]) as f:
    bad = [i for i, line in enumerate(f, 1) if line.rstrip("\n") != line.rstrip("\n").rstrip()]
print(f"{len(bad)} lines with trailing space: {bad}")
sys.exit(1 if bad else 0)
EOF
printf 'good\nbad \nalso bad\t\n' > in.txt
python3 check.py in.txt; echo "status $?"
python3 check.py 2>&1; echo "status $?"
printf 'clean\n' > ok.txt; if python3 check.py ok.txt; then echo passed; fi
