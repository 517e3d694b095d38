#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
for v in 1.0.0 1.1.0 1.10.0; do echo "$v" > VERSION; git add VERSION; git commit -qm "release $v"; git tag "v$v"; done
git tag --sort=-v:refname; git tag -l 'v1.1*'; last=$(git describe --tags --abbrev=0); echo "last $last"; echo fix > f; git add f; git commit -qm "fix: something"
echo "changes since $last:"; git log --format='- %s (%h)' "$last"..HEAD; git diff --stat "$last"; git log --author=Ann --grep=fix --oneline; git shortlog -sn HEAD; git blame VERSION; git show v1.0.0:VERSION
if git rev-parse -q --verify nothere >/dev/null; then echo there; else echo "not there"; fi; [ -z "$(git status --porcelain)" ] && echo clean; git rev-parse --abbrev-ref HEAD; git rev-parse --is-inside-work-tree
