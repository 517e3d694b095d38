#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
echo 1 > a; git add a; git commit -qm one; cd ..
git clone -q --bare repo hub.git; git clone -q hub.git work; cd work; git branch -a; git status; echo 2 > b; git add b; git commit -qm two; git status -sb; git push -q origin main; git status -sb
cd ..; git clone -q hub.git second; cd second; git log --oneline; echo 3 > c; git add c; git commit -qm three; git push -q; cd ../work; git fetch -q; git status; git pull -q; git log --oneline; git checkout -q -b topic; git push -q -u origin topic; git branch -vv; git remote get-url origin | sed 's|.*/||'; git ls-remote --heads origin; git push -q origin --delete topic; git branch -r
