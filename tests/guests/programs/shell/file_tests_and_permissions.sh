touch plain; mkdir dir; ln -s plain link; echo x > full; chmod 755 full; chmod 600 plain
for f in plain dir link full missing; do
  r="$f:"
  [ -e "$f" ] && r+=" exists"; [ -f "$f" ] && r+=" file"; [ -d "$f" ] && r+=" dir"; [ -L "$f" ] && r+=" link"
  [ -s "$f" ] && r+=" nonempty"; [ -x "$f" ] && [ ! -d "$f" ] && r+=" executable"
  echo "$r"
done
stat -c '%a %F' plain full
[ full -nt missing ] && echo newer; test 3 -gt 2 -a a = a && echo and
readlink link; ls -l full | cut -c1-10
umask 077; touch private; stat -c %a private
