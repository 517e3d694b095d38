"""The stash: changes that are kept for later."""

import os

from _hatchway.git import changes, patches, repository, revisions, status
from _hatchway.git.base import Failure, parse, say, tell
from _hatchway.git.commits import forget
from _hatchway.git.merging import apply, hard, new_commit
from _hatchway.git.pretty import shorten, subject
from _hatchway.git.worktree import Tree, put, untracked, write_file


def stash(args):
    verb = args[0] if args and not args[0].startswith("-") else "push"
    rest = args[1:] if args and not args[0].startswith("-") else args
    repo = repository.find()
    repo.need_work_tree()
    verbs = {
        "push": stash_push,
        "save": stash_push,
        "list": stash_list,
        "pop": stash_apply,
        "apply": stash_apply,
        "drop": stash_drop,
        "clear": stash_drop,
        "show": stash_show,
    }
    if verb not in verbs:
        raise Failure(f"unknown subcommand: {verb}", 129, "error: ")
    return verbs[verb](repo, rest, verb)


def stash_push(repo, args, verb):
    o = parse(args, "m|message= u|include-untracked a|all k|keep-index q|quiet p|patch S|staged")
    if o.patch or o.staged or o.paths or (o.rest and verb == "push"):
        raise Failure("only the whole work tree can be stashed here")
    head = repo.head()
    if head is None:
        raise Failure("You do not have the initial commit yet", 1, "")
    found = status.Status(repo, untracked_files="no")
    extra = untracked(repo, True) if o.include_untracked or o.all else []
    if not (found.staged or found.changed or extra):
        say(b"No local changes to save\n")
        return 0
    staged, old = repo.staged(), repo.files(repo.head_tree())
    tree = Tree(repo)
    there = {path: entry for path, entry in tree.files().items()}
    for data in tree.contents.values():
        repo.add_blob(data)
    branch = repo.branch_name() or b"(no branch)"
    about = branch + b": " + shorten(repo, head) + b" " + subject(repo.commit(head))
    parents = [head, repo.add(new_commit(repo, staged, [head], b"index on " + about + b"\n"))]
    if extra:
        files = {}
        for path in extra:
            with open(repo.place(path), "rb") as file:
                files[path] = (repository.FILE, repo.add_blob(file.read()))
        parents.append(repo.add(new_commit(repo, files, [], b"untracked files on " + about + b"\n")))
    text = o.message or (" ".join(o.rest) if verb == "save" else None)
    message = b"On " + branch + b": " + text.encode() if text else b"WIP on " + about
    name = repo.add(new_commit(repo, there, parents, message))
    keep_stash(repo, name, message)
    hard(repo, head)
    repo.log(b"HEAD", head, head, "reset: moving to HEAD")
    if o.keep_index:
        put(repo, staged)
        repo.write_index()
    for path in extra:
        os.unlink(repo.place(path))
    for path in [path for path in staged if path not in old]:
        if not o.keep_index and os.path.lexists(repo.place(path)):
            os.unlink(repo.place(path))
    if not o.quiet:
        say(b"Saved working directory and index state ", message, b"\n")
    return 0


def keep_stash(repo, name, message):
    before = revisions.find(repo, b"refs/stash") or b"0" * 40
    repo.refs.set_if_equals(b"refs/stash", None, name)
    repo.log(b"refs/stash", before, name, os.fsdecode(message))


def stash_entry(repo, args):
    word = (args or ["0"])[0]
    digits = word.removeprefix("stash@{").removesuffix("}")
    entries = repo.read_log(b"refs/stash")
    if not digits.isdigit():
        raise Failure(f"{word} is not a valid reference", 1, "error: ")
    if int(digits) >= len(entries):
        if not entries:
            raise Failure("No stash entries found.", 1, "")
        raise Failure(f"stash@{{{digits}}} is not a valid reference", 1, "error: ")
    return int(digits), entries[int(digits)][1]


def stash_list(repo, args, verb):
    for i, (_, _, _, message) in enumerate(repo.read_log(b"refs/stash")):
        say(b"stash@{%d}: %b\n" % (i, message))
    return 0


def stash_show(repo, args, verb):
    o = parse(args, patches.OPTIONS)
    _, name = stash_entry(repo, o.rest)
    style = patches.style_of(o, default_patch=False)
    style = style if style.patch or style.names or style.status else style._replace(stat=True)
    read = lambda path, blob: repo.blob(blob)  # noqa: E731
    sides = [repo.files(repo.commit(one).tree) for one in (repo.parents(name)[0], name)]
    patches.show(changes.find(*sides, read), read, style)
    return 0


def stash_apply(repo, args, verb):
    o = parse(args, "index q|quiet")
    at, name = stash_entry(repo, o.rest)
    parents = repo.parents(name)
    base, there = repo.files(repo.commit(parents[0]).tree), repo.files(repo.commit(name).tree)
    staged = repo.files(repo.commit(parents[1]).tree)
    before = repo.staged()
    conflicts = apply(repo, base, there, (b"Updated upstream", b"Stashed changes"), "merge")
    if len(parents) > 2:
        for path, (mode, blob) in repo.files(repo.commit(parents[2]).tree).items():
            write_file(repo, path, mode, repo.blob(blob))
    if not conflicts:
        unstage(repo, before, base, staged, o.index)
    repo.write_index()
    if not o.quiet:
        status.show_long(repo, status.Status(repo))
    if conflicts:
        tell("The stash entry is kept in case you need it again.\n") if verb == "pop" else None
        return 1
    if verb == "pop":
        drop(repo, at, name, o.quiet)
    return 0


def unstage(repo, before, base, staged, with_index):
    """What was applied stays in the work tree; in the index only files that are new."""
    for path in list(repo.index):
        if with_index and staged.get(path) != base.get(path):
            if path in staged:
                repo.stage(path, *staged[path])
        elif path in before and repo.staged().get(path) != before[path]:
            repo.stage(path, *before[path])
    for path, entry in before.items():
        if path not in repo.index:
            repo.stage(path, *entry)


def stash_drop(repo, args, verb):
    if verb == "clear":
        forget(repo, b"refs/stash")
        forget(repo, b"logs/refs/stash")
        return 0
    drop(repo, *stash_entry(repo, [word for word in args if word != "-q"]), "-q" in args)
    return 0


def drop(repo, at, name, is_quiet):
    path = os.path.join(repo.git_dir, b"logs/refs/stash")
    with open(path, "rb") as file:
        found = file.read().splitlines(True)
    del found[len(found) - 1 - at]
    if not found:
        forget(repo, b"refs/stash")
        forget(repo, b"logs/refs/stash")
    else:
        with open(path, "wb") as file:
            file.writelines(found)
        repo.refs.set_if_equals(b"refs/stash", None, found[-1].split()[1])
    if not is_quiet:
        say(b"Dropped refs/stash@{%d} (%b)\n" % (at, name))
