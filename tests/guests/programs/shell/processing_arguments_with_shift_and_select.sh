set -- --name=x --flag pos1 -- -not-an-option
while (( $# )); do
  case $1 in
    --name=*) echo "name ${1#*=}" ;;
    --flag) echo flag ;;
    --) shift; echo "rest: $*"; break ;;
    *) echo "positional $1" ;;
  esac
  shift
done
set -- a "b c" d
echo $# "$2"; for a; do echo "<$a>"; done; echo "${@:2}"; echo "${*: -1}"
IFS=-; echo "$*"; unset IFS
