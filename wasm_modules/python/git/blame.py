"""Blame: which commit each line of a file comes from."""

import os

from _hatchway.git import changes, dates, lines, repository, revisions
from _hatchway.git.base import Failure, parse, say
from _hatchway.git.worktree import Paths


def blame(args):
    o = parse(args, "L= e|show-email l s w porcelain p|line-porcelain date= t f|show-name n|show-number")
    if o.porcelain or o.get("line-porcelain"):
        raise Failure("--porcelain is not supported here")
    repo = repository.find()
    words, paths = revisions.separate(repo, o)
    path = Paths(repo, paths[:1]).patterns[0][1]
    at = revisions.commit_named(repo, words[0]) if words else repo.head()
    entry = repo.files(repo.commit(at).tree).get(path)
    if entry is None:
        raise Failure(f"no such path '{os.fsdecode(path)}' in {os.fsdecode(words[0]) if words else 'HEAD'}")
    text = lines.split(repo.blob(entry[1]))
    owners = find_owners(repo, at, path, text)
    first, last = 1, len(text)
    if o.L:
        start, _, end = o.L.partition(",")
        first = int(start or 1)
        last = first + int(end) - 1 if end.startswith("+") else int(end or last)
    chosen = [(i, owners[i - 1], text[i - 1]) for i in range(first, min(last, len(text)) + 1)]
    whose = {}
    for _, (name, is_root, _), _ in chosen:
        commit = repo.commit(name)
        who = commit.author.partition(b" <")
        shown = b"<" + who[2] if o.show_email else who[0]
        whose[name] = (shown, dates.show(commit.author_time, commit.author_timezone, o.date or "iso").encode(), is_root)
    width = max((len(one[0].decode("utf-8", "replace")) for one in whose.values()), default=0)
    digits = len(str(last))
    length = 40 if o.l else 8
    names = {one[2] for one in owners}
    widest = max(map(len, names)) if names != {path} else 0
    for i, (name, _, own), line in chosen:
        who, when, is_root = whose[name]
        shown = b"^" + name[: length - 1] if is_root else name[:length]
        padded = who + b" " * (width - len(who.decode("utf-8", "replace")))
        shown += b" " + own.ljust(widest) if widest else b""
        say(shown, b" " if o.s else b" (%b %b " % (padded, when), str(i).rjust(digits), b") ", line.removesuffix(b"\n"), b"\n")
    return 0


def find_owners(repo, at, path, text):
    """The commit that each line is from, whether that is one without parents, and the file's name there."""
    owners = [None] * len(text)
    todo = [(at, path, text, list(range(len(text))))]
    while todo:
        name, path, text, places = todo.pop(0)
        left = [place is not None for place in places]
        for parent in repo.parents(name):
            entry = repo.files(repo.commit(parent).tree).get(path)
            old_path = path
            if entry is None:
                found = changes.find(
                    repo.files(repo.commit(parent).tree), repo.files(repo.commit(name).tree), lambda p, n: repo.blob(n)
                )
                source = next((c for c in found if c.kind == "R" and c.new == path), None)
                if source is None:
                    continue
                entry, old_path = (source.old_mode, source.old_name), source.old
            old = lines.split(repo.blob(entry[1]))
            passed, i, j = [None] * len(old), 0, 0
            for a, b, removed, added in [*lines.compare(old, text), (len(old), len(text), 0, 0)]:
                while i < a and j < b:
                    if left[j]:
                        passed[i], left[j] = places[j], False
                    i, j = i + 1, j + 1
                i, j = a + removed, b + added
            if any(place is not None for place in passed):
                todo.append((parent, old_path, old, passed))
        for j, is_own in enumerate(left):
            if is_own:
                owners[places[j]] = (name, not repo.parents(name), path)
    return owners
