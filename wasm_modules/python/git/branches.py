"""Commands about branches, and about all refs."""

import fnmatch
import os
import re

from _hatchway.git import dates, repository, revisions, status
from _hatchway.git.base import Failure, parse, say, tell
from _hatchway.git.commits import forget
from _hatchway.git.pretty import Formatter, shorten, subject
from dulwich.objects import Commit, Tag


def branch(args):
    o = parse(
        args,
        (
            "d|delete D m|move M c|copy C a|all r|remotes l|list v|verbose vv show-current "
            "f|force q|quiet u|set-upstream-to= unset-upstream"
            " t|track? no-track merged? no-merged? contains? format= sort= no-color color? "
            "column? i|ignore-case points-at= no-contains? abbrev?"
        ),
    )
    repo = repository.find()
    o.given["vv"] = sum(word.count("v") for word in args if word.startswith("-") and not word.startswith("--")) > 1
    words = [os.fsencode(word) for word in o.rest]
    if o.show_current:
        name = repo.branch_name()
        say(name + b"\n" if name else b"")
        return 0
    if o.delete or o.D:
        return delete_branches(repo, words, o)
    if o.move or o.M or o.copy or o.C:
        return move_branch(repo, words, o)
    if o.get("set-upstream-to") or o.unset_upstream:
        target = words[0] if words else repo.branch_name()
        return set_upstream(repo, target, o.get("set-upstream-to"))
    filters = (
        any(o.get(name) is not None for name in ("merged", "contains", "points-at", "no-contains")) or o.no_merged is not None
    )
    if words and not (o.list or o.all or o.remotes or filters):
        start = words[1] if len(words) > 1 else b"HEAD"
        make_branch(repo, words[0], start, o.force)
        return 0
    return list_branches(repo, words, o)


def make_branch(repo, name, start, is_forced=False, track=True):
    revisions.check_branch_name(name)
    full = b"refs/heads/" + name
    if full in repo.refs and revisions.find_quietly(repo, full) is not None:
        if not is_forced:
            raise Failure(f"a branch named '{os.fsdecode(name)}' already exists")
        if repo.branch() == full:
            raise Failure(f"cannot force update the branch '{os.fsdecode(name)}' checked out at '{os.fsdecode(repo.root)}'")
    if revisions.find(repo, start) is None:
        if start == b"HEAD" and repo.head() is None:
            raise Failure(f"not a valid object name: '{os.fsdecode(repo.branch_name() or b'HEAD')}'")
        raise Failure(f"not a valid object name: '{os.fsdecode(start)}'")
    target = revisions.commit_named(repo, start)
    repo.set_ref(full, target, f"branch: Created from {os.fsdecode(start)}")
    remote = revisions.full_name(repo, start)
    if track and remote and remote.startswith(b"refs/remotes/"):
        set_upstream(repo, name, os.fsdecode(start))
    return target


def delete_branches(repo, words, o):
    code = 0
    for name in words:
        full = (b"refs/remotes/" if o.remotes else b"refs/heads/") + name
        if full not in repo.refs:
            tell(f"error: branch '{os.fsdecode(name)}' not found.\n")
            code = 1
            continue
        if full == repo.branch():
            tell(f"error: Cannot delete branch '{os.fsdecode(name)}' checked out at '{os.fsdecode(repo.root)}'\n")
            code = 1
            continue
        target = repo.refs[full]
        tracked = revisions.upstream(repo, name)
        known = repo.refs[tracked] if tracked else repo.head()
        if not (o.D or o.force or o.remotes) and (known is None or not revisions.is_ancestor(repo, target, known)):
            shown = os.fsdecode(name)
            tell(
                f"error: The branch '{shown}' is not fully merged.\nIf you are sure you want to "
                f"delete it, run 'git branch -D {shown}'.\n"
            )
            code = 1
            continue
        repo.refs.remove_if_equals(full, None)
        forget(repo, b"logs/" + full)
        drop_settings(repo, name)
        if not o.quiet:
            kind = b"remote-tracking branch" if o.remotes else b"branch"
            say(b"Deleted %b %b (was %b).\n" % (kind, name, shorten(repo, target)))
    return code


def drop_settings(repo, name, new=None):
    settings = repo.repo.get_config()
    old = (b"branch", name)
    if old in settings:
        if new is not None:
            for key, value in settings.items(old):
                settings.set((b"branch", new), key, value)
        del settings[old]
        settings.write_to_path()


def move_branch(repo, words, o):
    old, new = words if len(words) == 2 else (repo.branch_name(), words[0])
    revisions.check_branch_name(new)
    full, target = b"refs/heads/" + old, b"refs/heads/" + new
    if full == repo.branch() and repo.head() is None and not (o.copy or o.C):
        repo.refs.set_symbolic_ref(b"HEAD", target)
        return 0
    if full not in repo.refs:
        raise Failure(f"No branch named '{os.fsdecode(old)}'.")
    if target in repo.refs and old != new and not (o.M or o.C or o.force):
        raise Failure(f"a branch named '{os.fsdecode(new)}' already exists")
    if old == new:
        return 0
    name, is_current = repo.refs[full], repo.branch() == full
    if not (o.copy or o.C):
        repo.refs.remove_if_equals(full, None)
        forget(repo, b"logs/" + full)
        drop_settings(repo, old, new)
    repo.set_ref(target, name, f"Branch: renamed {os.fsdecode(full)} to {os.fsdecode(target)}")
    if is_current and not (o.copy or o.C):
        repo.set_head(target, f"Branch: renamed {os.fsdecode(full)} to {os.fsdecode(target)}", name, name)
    return 0


def set_upstream(repo, name, word, is_quiet=False):
    settings, where = repo.repo.get_config(), (b"branch", name)
    if word is None:
        if where in settings:
            del settings[where]
            settings.write_to_path()
        return 0
    full = revisions.full_name(repo, word.encode())
    if full is None:
        raise Failure(f"the requested upstream branch '{word}' does not exist")
    if full.startswith(b"refs/remotes/"):
        remote, _, rest = full[13:].partition(b"/")
        settings.set(where, b"remote", remote)
        settings.set(where, b"merge", b"refs/heads/" + rest)
    else:
        settings.set(where, b"remote", b".")
        settings.set(where, b"merge", full)
    settings.write_to_path()
    if not is_quiet:
        say(f"branch '{os.fsdecode(name)}' set up to track '{word}'.\n")
    return 0


def list_branches(repo, patterns, o):
    head, current = repo.head(), repo.branch()
    kinds = [] if o.remotes else [b"refs/heads/"]
    kinds += [b"refs/remotes/"] if o.remotes or o.all else []
    names = [name for kind in kinds for name in sorted(repo.refs.allkeys()) if name.startswith(kind)]
    kept = []
    for name in names:
        try:
            target = repo.refs[name]
        except KeyError:
            continue
        if patterns and not any(fnmatch.fnmatchcase(repository.short(name), p) for p in patterns):
            continue
        if not passes(repo, target, head, o):
            continue
        kept.append((name, target))
    if o.sort:
        sort_names(repo, kept, o.sort)
    if o.format:
        for name, target in kept:
            say(format_ref(repo, o.format.encode(), name, target), b"\n")
        return 0
    rows = [(b"* " if name == current else b"  ", shown_branch(name, o), name, target) for name, target in kept]
    if current is None and head is not None and not o.remotes and not patterns:
        rows.insert(0, (b"* ", b"(HEAD detached at " + shorten(repo, head) + b")", b"HEAD", head))
    width = max((len(row[1]) for row in rows), default=0)
    for sign, shown, name, target in rows:
        link = repo.refs.read_loose_ref(name) or b""
        if link.startswith(b"ref: ") and name != b"HEAD":
            say(sign, shown, b" -> ", repository.short(link[5:].strip()), b"\n")
        elif o.verbose or o.vv:
            tracked = revisions.upstream(repo, repository.short(name)) if name.startswith(b"refs/heads/") else None
            extra = b""
            if tracked:
                ahead, behind = status.count_apart(repo, target, repo.refs[tracked])
                apart = b", ".join([b"ahead %d" % ahead] * bool(ahead) + [b"behind %d" % behind] * bool(behind))
                both = [repository.short(tracked)] if o.vv else []
                extra = b": ".join([*both, *([apart] if apart else [])])
                extra = b"[" + extra + b"] " if extra else b""
            say(sign, shown.ljust(width), b" ", shorten(repo, target), b" ", extra, subject(repo.commit(target)), b"\n")
        else:
            say(sign, shown, b"\n")
    return 0


def shown_branch(name, o):
    return b"remotes/" + repository.short(name) if o.all and name.startswith(b"refs/remotes/") else repository.short(name)


def passes(repo, target, head, o):
    def at(name):
        word = o.get(name)
        return None if word is None else revisions.commit_named(repo, word or "HEAD")

    merged, contains, points = at("merged"), at("contains"), at("points-at")
    if merged and not revisions.is_ancestor(repo, target, merged):
        return False
    if o.get("no-merged") is not None and revisions.is_ancestor(
        repo, target, revisions.commit_named(repo, o.get("no-merged") or "HEAD")
    ):
        return False
    if contains and not revisions.is_ancestor(repo, contains, revisions.peel(repo, target, Commit)):
        return False
    return not points or revisions.peel(repo, target, Commit) == points


def sort_names(repo, kept, key):
    is_down, key = key.startswith("-"), key.lstrip("-")
    if key in ("committerdate", "creatordate", "authordate"):
        kept.sort(key=lambda one: made_at(repo, one[1]), reverse=is_down)
    elif key in ("version:refname", "v:refname"):
        kept.sort(
            key=lambda one: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", os.fsdecode(one[0]))], reverse=is_down
        )
    elif key == "refname":
        kept.sort(reverse=is_down)
    else:
        raise Failure(f"unknown field name: {key}")


def made_at(repo, name):
    thing = repo.read(name)
    if isinstance(thing, Tag) and thing.tag_time is not None:
        return thing.tag_time
    return repo.commit(revisions.peel(repo, name, Commit)).commit_time


def format_ref(repo, text, name, target):
    """`%(refname:short)` and its like."""
    commit = repo.commit(revisions.peel(repo, target, Commit))
    thing = repo.read(target)
    formatter = Formatter(repo)
    tracked = revisions.upstream(repo, repository.short(name)) if name.startswith(b"refs/heads/") else None
    values = {
        b"refname": lambda: name, b"refname:short": lambda: repository.short(name), b"objectname": lambda: target,
        b"objectname:short": lambda: shorten(repo, target), b"objecttype": lambda: thing.type_name,
        b"HEAD": lambda: b"*" if name == repo.branch() else b" ",
        b"subject": lambda: subject(commit) if not isinstance(thing, Tag) else thing.message.split(b"\n")[0],
        b"contents:subject": lambda: subject(commit),
        b"authorname": lambda: formatter.of_person(b"an", commit),
        b"authoremail": lambda: b"<" + formatter.of_person(b"ae", commit) + b">",
        b"committername": lambda: formatter.of_person(b"cn", commit), b"contents": lambda: commit.message,
        b"upstream": lambda: tracked or b"", b"upstream:short": lambda: repository.short(tracked) if tracked else b"",
    }  # fmt: skip

    def value(match):
        key = match[1]
        if key in values:
            return values[key]()
        kind, _, style = key.partition(b":")
        if kind in (b"committerdate", b"authordate", b"creatordate", b"taggerdate"):
            at = (
                (commit.author_time, commit.author_timezone)
                if kind == b"authordate"
                else (commit.commit_time, commit.commit_timezone)
            )
            if isinstance(thing, Tag) and kind in (b"creatordate", b"taggerdate"):
                at = (thing.tag_time, thing.tag_timezone)
            return dates.show(*at, style.decode() or "default").encode()
        raise Failure(f"unknown field name: {os.fsdecode(key)}")

    return re.sub(rb"%\(([^)]+)\)", value, text).replace(b"%%", b"%")


def for_each_ref(args):
    o = parse(args, "format= sort= count= contains? merged? no-merged? points-at=")
    repo = repository.find()
    words = [os.fsencode(word) for word in o.rest]
    kept = []
    for name in sorted(repo.refs.allkeys()):
        if name != b"HEAD" and (
            not words or any(name == w or name.startswith(w.rstrip(b"/") + b"/") or fnmatch.fnmatchcase(name, w) for w in words)
        ):
            kept.append((name, repo.refs[name]))
    if o.sort:
        sort_names(repo, kept, o.sort)
    for name, target in kept[: int(o.count) if o.count else None]:
        say(format_ref(repo, (o.format or "%(objectname) %(objecttype)\t%(refname)").encode(), name, target), b"\n")
    return 0
