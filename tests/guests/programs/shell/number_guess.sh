#!/bin/bash
# Guess a number from input lines, with validation and hints.
secret=42
tries=0
echo "I think of a number between 1 and 100."
while read -r guess; do
  [[ -z "$guess" ]] && continue
  if ! [[ "$guess" =~ ^-?[0-9]+$ ]]; then
    echo "'$guess' is not a number"; continue
  fi
  tries=$((tries + 1))
  if (( guess < 1 || guess > 100 )); then echo "out of range"
  elif (( guess < secret )); then echo "too low"
  elif (( guess > secret )); then echo "too high"
  else
    echo "correct after $tries tries"
    if [ $tries -le 5 ]; then echo "well done"; else echo "took a while"; fi
    exit 0
  fi
done
echo "no more guesses; it was $secret"
exit 1
