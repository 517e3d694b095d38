#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
git status
printf 'one\ntwo\nthree\n' > a.txt; mkdir -p d/e; echo x > d/e/f.py; echo '*.log' > .gitignore; echo l > x.log
git status; git status -s
git add a.txt; git status; git commit -m "first commit"; git status --porcelain -b
git add -A; git commit -q -m "second

body line"
git log; git log --oneline; git log --stat; git log --format='%h|%an|%ad|%s|%P' --date=short
git rev-parse HEAD 'HEAD^{tree}'; git cat-file -p HEAD; git ls-tree -r HEAD; git ls-files -s
