"""Commands about tags: tag, describe."""

import fnmatch
import os

from _hatchway.git import repository, revisions, status
from _hatchway.git.base import Failure, parse, read_whole, say, tell
from _hatchway.git.branches import format_ref, passes, sort_names
from _hatchway.git.commits import tidy
from _hatchway.git.pretty import shorten
from dulwich.objects import Commit, Tag


def tag(args):
    o = parse(
        args,
        (
            "a|annotate m|message=* F|file= d|delete l|list f|force n? sort= points-at= "
            "contains? merged? no-merged? format= s|sign u= v column? i"
        ),
    )
    repo = repository.find()
    words = [os.fsencode(word) for word in o.rest]
    if o.sign or o.u or o.v:
        raise Failure("there is no gpg here: make a tag without a signature (-a)")
    if o.delete:
        code = 0
        for name in words:
            full = b"refs/tags/" + name
            if full not in repo.refs:
                tell(f"error: tag '{os.fsdecode(name)}' not found.\n")
                code = 1
                continue
            target = repo.refs[full]
            repo.refs.remove_if_equals(full, None)
            say(b"Deleted tag '%b' (was %b)\n" % (name, shorten(repo, target)))
        return code
    if not words or o.list or o.n is not None or o.contains is not None or o.get("points-at"):
        return list_tags(repo, words, o)
    name = words[0]
    full = b"refs/tags/" + name
    revisions.check_branch_name(name)
    if full in repo.refs and not o.force:
        raise Failure(f"tag '{os.fsdecode(name)}' already exists")
    target = revisions.find(repo, words[1] if len(words) > 1 else b"HEAD")
    if target is None:
        raise Failure(f"Failed to resolve '{os.fsdecode(words[1] if len(words) > 1 else b'HEAD')}' as a valid ref.")
    if o.annotate or o.message or o.file:
        if not (o.message or o.file):
            raise Failure("there is no editor here: give the message with -m", 1, "error: ")
        made, thing = Tag(), repo.read(target)
        made.name, made.object = name, (type(thing), target)
        made.tagger, made.tag_time, made.tag_timezone = repo.person("COMMITTER")
        text = read_whole(o.file) if o.file else "\n\n".join(o.message).encode("utf-8", "surrogateescape")
        made.message = tidy(text)
        target = repo.add(made)
    repo.set_ref(full, target, "")
    return 0


def list_tags(repo, patterns, o):
    kept = []
    for name in sorted(repo.refs.allkeys()):
        if not name.startswith(b"refs/tags/") or (patterns and not any(fnmatch.fnmatchcase(name[10:], p) for p in patterns)):
            continue
        if passes(repo, repo.refs[name], repo.head(), o):
            kept.append((name, repo.refs[name]))
    if o.sort:
        sort_names(repo, kept, o.sort)
    for name, target in kept:
        if o.format:
            say(format_ref(repo, o.format.encode(), name, target), b"\n")
            continue
        thing = repo.read(target)
        text = thing.message if isinstance(thing, Tag) else repo.commit(target).message if isinstance(thing, Commit) else b""
        say(name[10:].ljust(15) + b" " + text.split(b"\n")[0] if o.n is not None else name[10:], b"\n")
    return 0


def describe(args):
    o = parse(args, "tags always long dirty? abbrev= match= all exact-match contains first-parent")
    repo = repository.find()
    word = o.rest[0] if o.rest else "HEAD"
    at = revisions.commit_named(repo, word)
    names = {}
    for name in sorted(repo.refs.allkeys()):
        if not name.startswith(b"refs/tags/") or not (o.tags or isinstance(repo.read(repo.refs[name]), Tag)):
            continue
        if not o.match or fnmatch.fnmatchcase(os.fsdecode(name[10:]), o.match):
            names.setdefault(revisions.peel(repo, repo.refs[name], Commit), name[10:])
    below = revisions.reachable(repo, [at])
    found = [(len(below - revisions.reachable(repo, [target])), name) for target, name in names.items() if target in below]
    is_dirty = o.dirty is not None and is_changed(repo)
    mark = os.fsencode(o.dirty or "-dirty") if is_dirty else b""
    if not found or (o.exact_match and min(found)[0]):
        if not o.always:
            untold = f"No tags can describe '{at.decode()}'.\nTry --always, or create some tags."
            raise Failure(untold if names else "No names found, cannot describe anything.")
        say(shorten(repo, at), mark, b"\n")
        return 0
    distance, name = min(found)
    say(name, b"-%d-g%b" % (distance, shorten(repo, at)) if (distance or o.long) and o.abbrev != "0" else b"", mark, b"\n")
    return 0


def is_changed(repo):
    found = status.Status(repo, untracked_files="no")
    return bool(found.staged or found.is_dirty)
