"""Diff: the differences of commits, index, work tree and files."""

import os

from _hatchway.git import changes, patches, repository, revisions
from _hatchway.git.base import Failure, parse, read_whole
from _hatchway.git.combined import show_combined
from _hatchway.git.worktree import Paths, Tree
from dulwich.objects import Blob
from dulwich.objects import Tree as TreeObject


def diff(args):
    o = parse(args, patches.OPTIONS + " merge-base ours base theirs")
    if o.no_index:
        return diff_files([*o.rest, *map(os.fsdecode, o.paths or [])], o)
    try:
        repo = repository.find()
    except Failure:
        both = [*o.rest, *map(os.fsdecode, o.paths or [])]
        if len(both) == 2:
            return diff_files(both, o)
        raise
    words, paths = revisions.separate(repo, o)
    style = patches.style_of(o)
    chosen = Paths(repo, paths) if paths else None
    keep = lambda files: {p: e for p, e in files.items() if chosen is None or chosen.matches(p)}  # noqa: E731
    read = lambda path, name: repo.blob(name)  # noqa: E731
    unmerged = []
    if b"..." in (words or [b""])[0]:
        left, right = (revisions.commit_named(repo, one or b"HEAD") for one in words[0].split(b"...", 1))
        bases = revisions.merge_bases(repo, left, right)
        if not bases:
            raise Failure(f"{os.fsdecode(words[0])}: no merge base")
        old, new = tree_files(repo, bases[0]), tree_files(repo, right)
    elif len(words) == 2 or b".." in (words or [b""])[0]:
        pair = words if len(words) == 2 else words[0].split(b"..", 1)
        left, right = (revisions.resolve(repo, one or b"HEAD") for one in pair)
        if isinstance(repo.read(left), Blob):
            return diff_blobs(repo, pair, (left, right), style, o)
        old, new = tree_files(repo, left), tree_files(repo, right)
    elif len(words) > 2:
        raise Failure("diffs of more than two commits are not supported here; name two")
    elif o.cached:
        unmerged = [path for path in repo.unmerged() if chosen is None or chosen.matches(path)]
        at = revisions.resolve(repo, words[0]) if words else repo.head()
        old, new = ({} if at is None else tree_files(repo, at)), repo.staged()
        old = {path: entry for path, entry in old.items() if path not in unmerged}
    else:
        repo.need_work_tree()
        tree = Tree(repo)
        read = tree.read
        unmerged = [path for path in repo.unmerged() if chosen is None or chosen.matches(path)] if not words else []
        there = tree.files(chosen)
        old = tree_files(repo, revisions.resolve(repo, words[0])) if words else repo.staged()
        new = {path: entry for path, entry in there.items() if path not in unmerged or words}
    found = changes.find(keep(old), keep(new), read, not o.no_renames)
    if unmerged:
        found = show_unmerged(repo, unmerged, found, style, o)
    is_any = bool(patches.keep(found, style.only)) if o.quiet else patches.show(found, read, style)
    return 1 if is_any and (o.exit_code or o.quiet) else 0


def tree_files(repo, name):
    return repo.files(revisions.peel(repo, name, TreeObject))


def show_unmerged(repo, unmerged, found, style, o):
    """Files with conflicts: named, or with both sides' changes together."""
    if o.cached or not style.patch:
        extra = [changes.Change("U", path, path, 0, 0, None, None) for path in unmerged]
        if not o.cached:
            extra += against_ours(repo, unmerged)
        return sorted([*extra, *found], key=lambda c: c.new)
    for path in unmerged:
        show_combined(repo, path, repo.index[path])
    return found


def against_ours(repo, unmerged):
    tree = Tree(repo)
    ours = {path: repo.index[path].this for path in unmerged}
    old = {path: (entry.mode, entry.sha) for path, entry in ours.items() if entry is not None}
    new = {path: entry for path in unmerged if (entry := tree.entry(path, None)) is not None}
    for _path, data in tree.contents.items():
        repo.add_blob(data)
    return changes.find(old, new, tree.read, False)


def diff_blobs(repo, words, names, style, o):
    labels = [word.rpartition(b":")[2] for word in words]
    c = changes.Change("M", labels[0], labels[1], 0o100644, 0o100644, *names)
    if names[0] != names[1]:
        patches.show([c], lambda path, name: repo.blob(name), style)
    return 1 if o.exit_code and names[0] != names[1] else 0


def diff_files(words, o):
    """`--no-index`: two files that are in no repository."""
    contents = []
    for word in words[:2]:
        try:
            contents.append(read_whole(word) if word != "/dev/null" else b"")
        except OSError:
            raise Failure(f"Could not access '{word}'", 1, "error: ") from None
    old, new = (os.fsencode(word).lstrip(b"/") for word in words[:2])
    names = [None if word == "/dev/null" else Blob.from_string(data).id for word, data in zip(words, contents, strict=False)]
    if names[0] == names[1]:
        return 0
    kind = "A" if names[0] is None else "D" if names[1] is None else "M"
    if kind != "M":
        old = new = new if kind == "A" else old
    modes = [
        0 if name is None else 0o100755 if os.stat(word).st_mode & 0o100 else 0o100644
        for name, word in zip(names, words, strict=False)
    ]
    both = dict(zip(names, contents, strict=True))
    patches.show([changes.Change(kind, old, new, *modes, *names)], lambda path, name: both[name], patches.style_of(o))
    return 1
