#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
printf '1\n2\n3\n4\n5\n6\n7\n8\n' > n; git add n; git commit -qm base
git checkout -q -b left; sed -i '2s/.*/left/;7s/.*/both/' n; git commit -qam left
git checkout -q main; sed -i '2s/.*/right/;7s/.*/both/' n; git commit -qam right
git merge left; echo "status $?"; cat n; git status; git status -s; git diff; git ls-files -u; git diff --name-only --diff-filter=U
git checkout --theirs n; cat n; git add n; git status; git commit -qm merged; git log --format='%h %p %s' -1; git rev-parse HEAD
git checkout -q left; git merge main; git checkout -q -b del HEAD~1; git rm -q n; git commit -qm del; git merge left; echo "status $?"; git merge --abort; git status -s
