"""Commit, and what a command that makes commits keeps and says."""

import os
import re
import sys

from _hatchway.git import changes, dates, patches, repository, revisions, status
from _hatchway.git.base import Failure, parse, read_whole, say, tell
from _hatchway.git.pretty import shorten, subject_of
from _hatchway.git.staging import stage_changes
from _hatchway.git.worktree import Paths
from dulwich.objects import Commit

NO_COMMITS = "your current branch '{}' does not have any commits yet"


def commit(args):
    o = parse(
        args,
        (
            "m|message=* a|all amend allow-empty allow-empty-message F|file= q|quiet author= "
            "date= no-edit e|edit n|no-verify s|signoff"
            " C|reuse-message= reset-author o|only i|include v|verbose no-gpg-sign "
            "S|gpg-sign? p|patch dry-run fixup= cleanup= trailer=* no-status no-post-rewrite "
            "short porcelain"
        ),
    )
    if o.patch or o.get("fixup") or o.gpg_sign is not None:
        raise Failure("there is no terminal and no gpg here: use git commit -m MESSAGE")
    repo = repository.find()
    repo.need_work_tree()
    words = [os.fsencode(word) for word in o.rest] + (o.paths or [])
    head = repo.head()
    if o.amend and head is None:
        raise Failure("You have nothing yet to amend.")
    merging = read_state(repo, b"MERGE_HEAD")
    if o.all:
        stage_changes(repo, Paths(repo, [b":/"]))
    files = commit_files(repo, words, merging)
    if files is None:
        return 1
    old = repo.commit(head) if head is not None else None
    parents = old.parents if o.amend else [*([head] if head else []), *merging.split()]
    before = repo.files(repo.commit(parents[0]).tree) if parents else {}
    if files == before and not (o.allow_empty or o.amend or merging):
        repo.write_index()
        status.show_long(repo, status.Status(repo))
        return 1
    if o.dry_run:
        status.show_long(repo, status.Status(repo))
        return 0
    made = make_commit(repo, o, files, parents, old if o.amend else None)
    repo.write_index()
    name = repo.add(made)
    first = subject_of(made.message)
    what = "commit (amend)" if o.amend else "commit (merge)" if merging else "commit (initial)" if head is None else "commit"
    repo.set_ref(b"HEAD", name, f"{what}: {os.fsdecode(first)}")
    for state in (b"MERGE_HEAD", b"MERGE_MSG", b"MERGE_MODE", b"CHERRY_PICK_HEAD", b"REVERT_HEAD", b"SQUASH_MSG"):
        forget(repo, state)
    if not o.quiet:
        show_made(repo, name, made, before, is_dated=bool(o.amend or o.date or o.reuse_message))
    return 0


def commit_files(repo, words, merging):
    if repo.unmerged():
        listed = "".join(f"U\t{os.fsdecode(path)}\n" for path in repo.unmerged())
        say(listed)
        raise Failure(
            "Exiting because of an unresolved conflict.",
            prefix="error: Committing is not possible because you have unmerged files.\n"
            "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
            "hint: as appropriate to mark resolution and make a commit.\nfatal: ",
        )
    if not words:
        return repo.staged()
    paths = Paths(repo, words)
    if not stage_changes(repo, paths):
        raise Failure(f"pathspec '{os.fsdecode(words[0])}' did not match any file(s) known to git", 1, "error: ")
    files = dict(repo.files(repo.head_tree()))
    staged = repo.staged()
    for path in {*files, *staged}:
        if paths.matches(path):
            if path in staged:
                files[path] = staged[path]
            else:
                files.pop(path, None)
    return dict(sorted(files.items()))


def make_commit(repo, o, files, parents, amended):
    source = amended
    if o.reuse_message:
        source = repo.commit(revisions.commit_named(repo, o.reuse_message.encode()))
    picked = read_state(repo, b"CHERRY_PICK_HEAD").strip()
    author_of = source or (repo.commit(picked) if picked else None)
    made = Commit()
    made.tree, made.parents = repo.write_tree(files), parents
    made.committer, made.commit_time, made.commit_timezone = repo.person("COMMITTER")
    made.author, made.author_time, made.author_timezone = repo.person("AUTHOR")
    if author_of is not None and not o.reset_author:
        made.author, made.author_time, made.author_timezone = author_of.author, author_of.author_time, author_of.author_timezone
        made._author_timezone_neg_utc = author_of._author_timezone_neg_utc
    if o.author:
        if not re.fullmatch(r".*<.*>", o.author):
            raise Failure(f"--author '{o.author}' is not 'Name <email>' and matches no existing author")
        made.author = os.fsencode(o.author)
    if o.date:
        made.author_time, made.author_timezone = dates.read_or_fail(o.date)
    made.message = message_of(repo, o, source)
    if o.signoff:
        line = b"Signed-off-by: " + repo.person("COMMITTER")[0] + b"\n"
        made.message += line if re.search(rb"\n\n(\S+: .*\n)+$", made.message) else b"\n" + line
    for trailer in o.trailer or ():
        key, _, value = re.split("([:=])", trailer, maxsplit=1)
        line = f"{key}: {value.strip()}\n".encode()
        made.message += line if re.search(rb"\n\n(\S+: .*\n)+$", made.message) else b"\n" + line
    if not made.message.strip() and not o.allow_empty_message:
        tell("Aborting commit due to empty commit message.\n")
        raise SystemExit(1)
    return made


def message_of(repo, o, source):
    if o.message:
        return tidy(
            "\n\n".join(part.rstrip("\n") if i < len(o.message) - 1 else part for i, part in enumerate(o.message)).encode(
                "utf-8", "surrogateescape"
            )
        )
    if o.file:
        try:
            text = sys.stdin.buffer.read() if o.file == "-" else read_whole(o.file)
        except OSError:
            raise Failure(f"could not read log file '{o.file}': No such file or directory") from None
        return tidy(text)
    if source is not None:
        return source.message
    prepared = read_state(repo, b"MERGE_MSG") or read_state(repo, b"SQUASH_MSG")
    if prepared:
        return tidy(b"\n".join(line for line in prepared.split(b"\n") if not line.startswith(b"#")))
    tell("error: there is no terminal for an editor here; give the message with -m or -F.\n")
    raise SystemExit(1)


def tidy(message):
    """Without blank lines at its ends, runs of them, and spaces at the ends of lines."""
    found = []
    for line in message.split(b"\n"):
        line = line.rstrip()
        if line or (found and found[-1]):
            found.append(line)
    while found and not found[-1]:
        found.pop()
    return b"\n".join(found) + b"\n" if found else b""


def show_made(repo, name, made, before, is_dated=False):
    branch = repo.branch_name() or b"detached HEAD"
    root = b"" if made.parents else b" (root-commit)"
    say(b"[", branch, root, b" ", shorten(repo, name), b"] ", subject_of(made.message), b"\n")
    if made.author != made.committer:
        say(b" Author: ", made.author, b"\n")
    if is_dated:
        say(b" Date: ", dates.show(made.author_time, made.author_timezone), b"\n")
    if len(made.parents) < 2:
        found = changes.find(before, repo.files(made.tree), lambda path, name: repo.blob(name))
        patches.show(found, lambda path, name: repo.blob(name), patches.Style(patch=False, shortstat=True, summary=True))


def read_state(repo, name):
    try:
        with open(os.path.join(repo.git_dir, name), "rb") as file:
            return file.read()
    except OSError:
        return b""


def write_state(repo, name, data):
    with open(os.path.join(repo.git_dir, name), "wb") as file:
        file.write(data)


def forget(repo, name):
    try:
        os.unlink(os.path.join(repo.git_dir, name))
    except OSError:
        pass
