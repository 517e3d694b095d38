for i in $(seq 1 5); do head -c $((i * 100)) /dev/zero | tr '\0' "$((i % 3))" > "f$i.bin"; done
sha256sum f1.bin f2.bin | awk '{print substr($1, 1, 16), $2}'
wc -c f*.bin | tail -1
cat f1.bin f2.bin | python3 -c 'import sys, hashlib; print(hashlib.md5(sys.stdin.buffer.read()).hexdigest())'
cat f1.bin f2.bin | md5sum | cut -d' ' -f1
du -b f3.bin | cut -f1; ls -S f*.bin | head -1; base64 -w 20 f1.bin | head -1; cksum f1.bin | cut -d' ' -f2
