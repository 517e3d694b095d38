declare -A capital=([France]=Paris [Italy]=Rome [Japan]=Tokyo)
capital[Spain]=Madrid
for country in $(printf '%s\n' "${!capital[@]}" | sort); do
  printf '%-8s -> %s\n' "$country" "${capital[$country]}"
done
unset 'capital[Italy]'
echo "${#capital[@]} left"
[[ -v capital[Japan] ]] && echo "has Japan"
[[ -v capital[Italy] ]] || echo "no Italy"
