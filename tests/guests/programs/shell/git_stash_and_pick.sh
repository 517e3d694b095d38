#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
echo a > a; git add a; git commit -qm a; echo b > b; git add b; git commit -qm b
echo change >> a; echo staged > c; git add c; git stash; git stash list; git status -s; git stash pop; git status -s; git stash push -q -m "named"; git stash list; git stash apply -q; git stash drop -q; git reset -q --hard
git checkout -q -b side HEAD~1; echo s > s; git add s; git commit -qm side; echo t > t; git add t; git commit -qm side2
git checkout -q main; git cherry-pick side~1; git log --oneline; git rebase -q main side; git log --oneline side; git rev-parse side
