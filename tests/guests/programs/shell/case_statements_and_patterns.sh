classify() {
  case "$1" in
    ''|*[!0-9]*) case "$1" in *.txt) echo text;; [A-Z]*) echo capital;; -*) echo option;; *) echo word;; esac ;;
    [0-9]) echo digit ;;
    *) echo number ;;
  esac
}
for x in 7 42 notes.txt Hello -v foo ""; do printf '%-10s %s\n" "' "$x" >/dev/null; echo "'$x' is a $(classify "$x")"; done
shopt -s extglob
case abab in +(ab)) echo repeated;; esac
[[ "file123.log" =~ ^([a-z]+)([0-9]+)\.(log|txt)$ ]] && echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]} ${BASH_REMATCH[3]}"
