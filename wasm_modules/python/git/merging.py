"""Merge, and what brings the changes of other commits into index and work tree."""

import os

from _hatchway.git import changes, patches, repository, revisions
from _hatchway.git.base import Failure, parse, say
from _hatchway.git.commits import commit, forget, read_state, tidy, write_state
from _hatchway.git.pretty import Formatter, shorten
from _hatchway.git.three_way import merge_trees
from _hatchway.git.worktree import Tree, check_clean, keep_local, put
from dulwich.index import ConflictedIndexEntry
from dulwich.objects import Commit


def apply(repo, base, theirs, names, what):
    """Brings the difference of two sets of files into index and work tree. The conflicts, if any."""
    ours = repo.files(repo.head_tree())
    merged = merge_trees(repo, base, ours, theirs, names)
    check_clean(repo, ours, merged.files, what)
    put(repo, keep_local(repo, ours, merged.files))
    for path, sides in merged.conflicts.items():
        entries = [None if side is None else repository.make_entry(*side) for side in sides]
        repo.index[path] = ConflictedIndexEntry(*entries)
    repo.write_index()
    say(*merged.told)
    return merged.conflicts


def virtual_base(repo, bases):
    """The files of the common ancestor: of several, the first with the others merged into it."""
    if not bases:
        return {}
    files = repo.files(repo.commit(bases[0]).tree)
    for other in bases[1:4]:
        inner = revisions.merge_bases(repo, bases[0], other)
        below = repo.files(repo.commit(inner[0]).tree) if inner else {}
        files = merge_trees(
            repo, below, files, repo.files(repo.commit(other).tree), (b"Temporary merge branch 1", b"Temporary merge branch 2")
        ).files
    return files


def need_quiet(repo, verb):
    if read_state(repo, b"MERGE_HEAD"):
        raise Failure(
            "You have not concluded your merge (MERGE_HEAD exists).\n"
            "Please, commit your changes before you merge."
        )  # fmt: skip
    if repo.unmerged():
        raise Failure(
            "Exiting because of an unresolved conflict.",
            prefix=f"error: {verb} is not possible because you have unmerged files.\n"
            "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
            "hint: as appropriate to mark resolution and make a commit.\nfatal: ",
        )


def new_commit(repo, files, parents, message, like=None):
    made = Commit()
    made.tree, made.parents, made.message = repo.write_tree(files), parents, message
    made.committer, made.commit_time, made.commit_timezone = repo.person("COMMITTER")
    made.author, made.author_time, made.author_timezone = (
        repo.person("AUTHOR") if like is None else (like.author, like.author_time, like.author_timezone)
    )
    return made


def merge(args):
    o = parse(
        args,
        (
            "no-ff ff ff-only m|message=* squash no-commit commit abort continue quit "
            "q|quiet n|no-stat stat e|edit no-edit v|verbose"
            " allow-unrelated-histories s|strategy= X|strategy-option=* log? signoff "
            "no-verify F|file= autostash S|gpg-sign? progress"
        ),
    )
    repo = repository.find()
    repo.need_work_tree()
    if o.abort:
        return abort(repo, b"MERGE_HEAD", "There is no merge to abort (MERGE_HEAD missing).")
    if o.get("continue"):
        if not read_state(repo, b"MERGE_HEAD"):
            raise Failure("There is no merge in progress (MERGE_HEAD missing).")
        return commit(["--no-edit"])
    if o.strategy not in (None, "ort", "recursive") or o.get("strategy-option"):
        raise Failure("strategies and their options are not supported here: merge, and resolve the conflicts")
    need_quiet(repo, "Merging")
    words = o.rest or ([os.fsdecode(repository.short(t))] if (t := revisions.upstream(repo, repo.branch_name())) else [])
    if len(words) != 1:
        raise Failure(
            "merges of more than one commit are not supported here: merge one after the other"
            if words
            else "No remote for the current branch."
        )
    word = words[0].encode("utf-8", "surrogateescape")
    if revisions.find(repo, word) is None:
        raise Failure(f"{words[0]} - not something we can merge", 1, "merge: ")
    other, head = revisions.commit_named(repo, word), repo.head()
    return merge_commit(repo, other, word, head, o)


def merge_commit(repo, other, word, head, o, message=None):
    if head is None:
        put(repo, repo.files(repo.commit(other).tree))
        repo.write_index()
        repo.set_ref(b"HEAD", other, f"initial pull {os.fsdecode(word)}")
        return 0
    bases = revisions.merge_bases(repo, head, other)
    if other in bases:
        say(b"" if o.quiet else b"Already up to date.\n")
        return 0
    if head in bases and o.ff is not False and not o.squash:
        return fast_forward(repo, head, other, word, o)
    if o.get("ff-only"):
        raise Failure(
            "Not possible to fast-forward, aborting.",
            prefix=(
                "hint: Diverging branches can't be fast-forwarded, you need to "
                "either:\nhint:\nhint: \tgit merge --no-ff\nhint:\nhint: or:\nhint:\nhint: \tgit "
                'rebase\nhint:\nhint: Disable this message with "git config advice.diverging '
                'false"\nfatal: '
            ),
        )
    if not bases and not o.allow_unrelated_histories:
        raise Failure("refusing to merge unrelated histories")
    if o.message:
        message = tidy("\n\n".join(o.message).encode("utf-8", "surrogateescape"))
    message = message or merge_message(repo, word)
    write_state(repo, b"ORIG_HEAD", head + b"\n")
    conflicts = apply(repo, virtual_base(repo, bases), repo.files(repo.commit(other).tree), (b"HEAD", word), "merge")
    if conflicts or o.commit is False or o.squash:
        return stop_merge(repo, other, message, conflicts, o)
    files = repo.staged()
    made = new_commit(repo, files, [head, other], message)
    repo.set_ref(b"HEAD", repo.add(made), f"merge {os.fsdecode(word)}: Merge made by the 'ort' strategy.")
    if not o.quiet:
        say(b"Merge made by the 'ort' strategy.\n")
    show_difference(repo, repo.files(repo.commit(head).tree), files, o)
    return 0


def stop_merge(repo, other, message, conflicts, o):
    listed = b"".join(b"#\t%b\n" % path for path in conflicts)
    text = message + (b"\n# Conflicts:\n" + listed if conflicts else b"")
    if o.squash:
        write_state(repo, b"SQUASH_MSG", b"Squashed commit of the following:\n\n" + squash_text(repo, other))
        say(b"Squash commit -- not updating HEAD\n")
    else:
        write_state(repo, b"MERGE_HEAD", other + b"\n")
        write_state(repo, b"MERGE_MSG", text)
        write_state(repo, b"MERGE_MODE", b"no-ff" if o.ff is False else b"")
    if conflicts:
        say(b"Automatic merge failed; fix conflicts and then commit the result.\n")
        return 1
    say(b"Automatic merge went well; stopped before committing as requested\n")
    return 0


def squash_text(repo, other):
    formatter = Formatter(repo)
    texts = [formatter.show(name, commit) for name, commit in revisions.walk(repo, [other], [repo.head()])]
    return b"\n\n".join(texts) + b"\n"


def merge_message(repo, word):
    name = revisions.full_name(repo, word)
    kind = (
        "commit"
        if name is None
        else "branch"
        if name.startswith(b"refs/heads/")
        else "tag"
        if name.startswith(b"refs/tags/")
        else "remote-tracking branch"
    )
    into = repo.branch_name() or b"HEAD"
    return f"Merge {kind} '{os.fsdecode(word)}'".encode() + (b"" if into in (b"master", b"main") else b" into " + into) + b"\n"


def fast_forward(repo, head, other, word, o):
    old, new = repo.files(repo.commit(head).tree), repo.files(repo.commit(other).tree)
    check_clean(repo, old, new, "merge")
    if not o.quiet:
        say(b"Updating ", shorten(repo, head), b"..", shorten(repo, other), b"\nFast-forward\n")
    put(repo, keep_local(repo, old, new))
    repo.write_index()
    write_state(repo, b"ORIG_HEAD", head + b"\n")
    repo.set_ref(b"HEAD", other, f"merge {os.fsdecode(word)}: Fast-forward")
    show_difference(repo, old, new, o)
    return 0


def show_difference(repo, old, new, o):
    if not o.quiet and not o.get("no-stat") and o.stat is not False:
        read = lambda path, name: repo.blob(name)  # noqa: E731
        patches.show(changes.find(old, new, read), read, patches.Style(patch=False, stat=True, summary=True))


def abort(repo, state, text):
    if not read_state(repo, state):
        raise Failure(text)
    hard(repo, read_state(repo, b"ORIG_HEAD").strip() or repo.head())
    for name in (b"MERGE_HEAD", b"MERGE_MSG", b"MERGE_MODE", b"CHERRY_PICK_HEAD", b"REVERT_HEAD"):
        forget(repo, name)
    return 0


def hard(repo, name):
    """Index and work tree as in that commit."""
    new = repo.files(repo.commit(name).tree)
    there, old = Tree(repo), repo.staged()
    for path, staged in list(repo.index.items()):
        if isinstance(staged, ConflictedIndexEntry) or there.entry(path, staged) != (staged.mode, staged.sha):
            old[path] = None
    for path in [path for path in old if path not in new and path in repo.index]:
        if isinstance(repo.index[path], ConflictedIndexEntry):
            del repo.index[path]
    put(repo, new, old)
    repo.write_index()
