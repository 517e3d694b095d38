#!/usr/bin/env bash
set -u
cleanup() { echo "cleanup (status $?)"; rm -f tmp.$$; }
trap cleanup EXIT
trap 'echo "error on line"' ERR
touch tmp.$$
false
echo "after false: $?"
( exit 5 ) || echo "subshell gave $?"
if ! grep -q needle <<< haystack; then echo "not found"; fi
command_that_does_not_exist 2>/dev/null
echo "status $?"
{ echo out; echo err >&2; } 2>&1 | sort
exit 3
