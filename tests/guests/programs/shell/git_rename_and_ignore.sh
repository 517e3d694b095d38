#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
mkdir src build; seq 1 50 > src/long.txt; echo o > build/o; printf 'build/\n*.tmp\n!keep.tmp\n' > .gitignore; touch x.tmp keep.tmp; git add .; git commit -qm base; git ls-files
git mv src/long.txt src/moved.txt; echo 51 >> src/moved.txt; git add -A; git status -s; git diff --cached; git commit -m moved; git log --oneline --follow -- src/moved.txt; git log --oneline -- src/long.txt
git check-ignore x.tmp build/o keep.tmp; git status --ignored -s; git rm --cached -q keep.tmp; git status -s; echo "q" > "a file"; echo é > é; git status -s; git add .; git diff --cached --name-only; chmod +x "a file"; git add .; git ls-files -s "a file"
