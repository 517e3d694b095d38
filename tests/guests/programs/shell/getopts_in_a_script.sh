parse() {
  local OPTIND opt verbose=0 name= 
  while getopts ":vn:h" opt; do
    case $opt in
      v) verbose=1 ;;
      n) name=$OPTARG ;;
      h) echo usage; return 0 ;;
      :) echo "-$OPTARG needs a value"; return 1 ;;
      \?) echo "unknown -$OPTARG"; return 1 ;;
    esac
  done
  shift $((OPTIND - 1))
  echo "verbose=$verbose name=$name rest=$*"
}
parse -v -n Bob a b
parse -h
parse -n || echo "failed $?"
parse -x || echo "failed $?"
parse file
