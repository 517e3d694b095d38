#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
echo base > a; git add a; git commit -qm base
git checkout -q -b feature; echo feat > f; git add f; git commit -qm feat
git checkout -q main; git merge feature; git log --oneline
git switch -q -c other HEAD~1; echo o > o; git add o; git commit -qm other; git switch -q main
git merge other -m "merge other"; git log --format='%h %p %s'; git branch; git branch --merged; git branch -d feature other
git tag v1; git tag -a v2 -m "version two"; git tag -n; git describe; git rev-parse v2^{commit}; git branch -v; git show-ref
git merge-base main main~1; git rev-list --count HEAD; git log --oneline --decorate -2
