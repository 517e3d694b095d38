#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
echo 1 > a; git add a; git commit -qm one; echo 2 > a; git commit -qam two; echo 3 > a; git commit -qam three
git reset --soft HEAD~1; git status -s; git reset -q; git status -s; git restore a; cat a; echo new > b; git add b; git restore --staged b; git status -s
git reset --hard HEAD~1; git log --oneline; echo x > a; git checkout a; cat a; echo y >> a; git commit -qam "y"; git revert --no-edit HEAD; cat a; git log --oneline; git commit --amend -q -m "amended"; git log -1 --format=%B; git clean -n; git clean -f; ls
