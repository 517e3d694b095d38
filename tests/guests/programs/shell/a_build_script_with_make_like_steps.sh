mkdir -p src build
for f in alpha beta; do echo "print('$f')" > src/$f.py; done
build() {
  local src=$1 out=build/$(basename "$1" .py).out
  if [[ ! -e $out || $src -nt $out ]]; then
    echo "building $out"
    python3 "$src" > "$out" || return 1
  else
    echo "up to date $out"
  fi
}
for s in src/*.py; do build "$s"; done
for s in src/*.py; do build "$s"; done
cat build/*.out
echo "raise SystemExit('broken')" > src/gamma.py
build src/gamma.py 2>/dev/null || echo "gamma failed"
