path=/home/user/archive.tar.gz
echo "${path##*/} ${path%/*} ${path%%.*} ${path#*.} ${path/user/root} ${#path}"
name=world
echo "${name^} ${name^^} ${undefined:-default} ${name:1:3} ${name: -2}"
s="a,b,c"; IFS=, read -ra parts <<< "$s"; echo "${parts[1]} ${#parts[@]}"
echo "${s//,/ - }"
: "${NEW:=created}"; echo "$NEW"
echo "${path@Q} ${name@U}"
