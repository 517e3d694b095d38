#!/usr/bin/env bash
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com
export GIT_AUTHOR_DATE="2024-01-02T03:04:05Z" GIT_COMMITTER_DATE="2024-01-02T03:04:05Z" HOME=$PWD
export GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo || exit 1
git log 2>/dev/null; echo $?; git commit -q -m none >/dev/null; echo $?; git add nothere 2>/dev/null; echo $?; echo a > a; git add a; git commit -qm a
git checkout nothere 2>/dev/null; echo $?; git branch main 2>/dev/null; echo $?; git branch -d nothere 2>/dev/null; echo $?; git frobnicate 2>/dev/null; echo $?; git merge nothere 2>/dev/null; echo $?; git show nothere 2>/dev/null; echo $?; git commit -qm again; echo $?
cd ..; git -C / status 2>/dev/null; echo $?; mkdir e; git -C e rev-parse 2>/dev/null; echo $?; git config --global user.name "Bob B"; git config user.name; git config --get nope.nope; echo $?; cd repo; git config core.editor vi; git config --get core.editor; git config --unset core.editor; cat .git/config; git tag t; git tag t 2>/dev/null; echo $?; git rm nothere 2>/dev/null; echo $?
