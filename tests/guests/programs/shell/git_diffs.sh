#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
seq 1 30 > n.txt; printf 'def a():\n    return 1\n\n\ndef b():\n    return 2\n' > p.py; git add .; git commit -qm base
sed -i '3s/.*/three/;20d' n.txt; printf 'def a():\n    return 1\n\n\ndef c():\n    return 3\n\n\ndef b():\n    return 22\n' > p.py
git diff; git diff --stat; git diff --numstat; git diff --shortstat; git diff --name-status; git diff -U1 n.txt
git add p.py; git diff --cached --name-only; git diff --name-only; git diff -w HEAD --stat
printf '\000\001' > bin; git add -A; git commit -qm all; git show --stat; git show HEAD~1 --format=%s --name-only
printf 'no newline' > n.txt; git diff n.txt | tail -5; git diff --quiet; echo "status $?"; git diff HEAD~1 HEAD -- p.py
