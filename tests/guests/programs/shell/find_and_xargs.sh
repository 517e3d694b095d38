mkdir -p proj/src proj/test
for i in 1 2 3; do echo "line $i" > "proj/src/f$i.c"; done
touch proj/test/t.py "proj/test/with space.txt"
find proj -type f | sort
find proj -name '*.c' -print0 | sort -z | xargs -0 wc -l | tail -1
find proj -type f ! -name '*.c' -exec basename {} \; | sort
find proj -name '*.c' | xargs -n1 basename | sed 's/\.c$//' | sort | xargs echo
find proj -type d | wc -l
find . -name '*.py' -delete; ls proj/test
