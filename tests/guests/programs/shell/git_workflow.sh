#!/usr/bin/env bash
# A small repository: init, add, commit, branch, merge, log, diff, status.
set -e
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-05-01T10:00:00+0000" GIT_COMMITTER_DATE="2024-05-01T10:00:00+0000"
git init -q -b main repo
cd repo
printf 'one\ntwo\nthree\n' > list.txt
echo "# Demo" > README.md
git status --short
git add .
git commit -q -m "first commit"
git log --oneline | cut -d' ' -f2-
git checkout -q -b feature
sed -i 's/two/TWO/' list.txt
git diff --stat | cat
git diff | grep '^[-+]' | grep -v '^\(---\|+++\)'
git commit -qam "shout two"
git checkout -q main
cat list.txt
git merge -q feature
cat list.txt
git log --format='%s by %an' | cat
git branch | cat
echo junk > junk.txt
git status --porcelain
git rev-parse --abbrev-ref HEAD
git rev-list --count HEAD
git tag v1.0 && git tag
git show --name-only --format=%s HEAD | cat
