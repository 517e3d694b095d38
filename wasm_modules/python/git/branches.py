"""Commands about branches and tags, and those that put other files in place: checkout, switch, restore, reset."""

import fnmatch
import os

from _hatchway.git import changes, dates, repository, revisions, status
from _hatchway.git.base import Failure, parse, quote, read_whole, relative, say, tell
from _hatchway.git.history import forget, tidy, write_state
from _hatchway.git.merging import hard
from _hatchway.git.pretty import Formatter, shorten, subject
from _hatchway.git.worktree import Paths, Tree, check_clean, keep_local, put, remove_file, write_file
from dulwich.index import ConflictedIndexEntry
from dulwich.objects import Commit, Tag

DETACHED = """Note: switching to '{}'.

You are in 'detached HEAD' state. You can look around, make experimental
changes and commit them, and you can discard any commits you make in this
state without impacting any branches by switching back to a branch.

If you want to create a new branch to retain commits you create, you may
do so (now or later) by using -c with the switch command. Example:

  git switch -c <new-branch-name>

Or undo this operation with:

  git switch -

Turn off this advice by setting config variable advice.detachedHead to false

"""


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
        import re

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
    import re

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


# ---- tag, describe ----


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


# ---- checkout, switch, restore, reset ----

CHECKOUT = (
    "b= B= f|force q|quiet detach d t|track? no-track ours theirs m|merge p|patch "
    "orphan= no-guess guess progress no-progress l overlay no-overlay "
    "recurse-submodules? c= C= create= force-create= discard-changes conflict="
)


def checkout(args):
    o = parse(args, CHECKOUT)
    repo = repository.find()
    repo.need_work_tree()
    if o.patch:
        raise Failure("there is no terminal to ask at: name the files")
    words = [os.fsencode(word) for word in o.rest]
    new = o.b or o.B
    if o.paths is None and not new and not o.orphan and words:
        if not is_target(repo, words[0], o):
            return checkout_paths(repo, None, words, o)
        if len(words) > 1:
            return checkout_paths(repo, words[0], words[1:], o)
    elif o.paths:
        return checkout_paths(repo, words[0] if words else None, o.paths, o)
    return move(repo, words, o, os.fsencode(new) if new else None, bool(o.B), bool(o.detach or o.d))


def is_target(repo, word, o):
    if word == b"-" or revisions.find_quietly(repo, word) is not None:
        return True
    return not os.path.lexists(word) and len(remote_of(repo, word)) == 1


def remote_of(repo, name):
    return [
        one
        for one in sorted(repo.refs.allkeys())
        if one.startswith(b"refs/remotes/") and one[13:].partition(b"/")[2] == name and name != b"HEAD"
    ]


def switch(args):
    o = parse(args, CHECKOUT)
    repo = repository.find()
    repo.need_work_tree()
    new = o.c or o.C or o.create or o.get("force-create")
    words = [os.fsencode(word) for word in o.rest]
    if not new and not words and not o.orphan:
        raise Failure("missing branch or commit argument")
    if words and not new and not (o.detach or o.d) and words[0] != b"-":
        full = b"refs/heads/" + words[0]
        if full not in repo.refs and not remote_of(repo, words[0]):
            if revisions.find_quietly(repo, words[0]) is None:
                raise Failure(f"invalid reference: {os.fsdecode(words[0])}")
            found = revisions.full_name(repo, words[0])
            kind = (
                "tag"
                if found and found.startswith(b"refs/tags/")
                else "remote branch"
                if found and found.startswith(b"refs/remotes/")
                else "commit"
            )
            raise Failure(
                f"a branch is expected, got {kind} '{os.fsdecode(words[0])}'",
                prefix="fatal: ",
            )
    o.given["force"] = o.force or o.get("discard-changes")
    return move(repo, words, o, os.fsencode(new) if new else None, bool(o.C or o.get("force-create")), bool(o.detach or o.d))


def move(repo, words, o, new, is_forced, is_detached):
    """Makes another commit, or branch, the one that is checked out."""
    head, old_branch = repo.head(), repo.branch()
    if o.orphan:
        return make_orphan(repo, os.fsencode(o.orphan))
    word = words[0] if words else b"HEAD"
    if word == b"-":
        word = revisions.previous_branch(repo, 1)
        if word is None:
            raise Failure("invalid reference: @{-1}")
    full = b"refs/heads/" + word
    if new is None and full not in repo.refs and revisions.find_quietly(repo, word) is None:
        remotes = remote_of(repo, word)
        if len(remotes) != 1:
            raise Failure(f"pathspec '{os.fsdecode(word)}' did not match any file(s) known to git", 1, "error: ")
        new, word = word, repository.short(remotes[0])
    if new is not None:
        revisions.check_branch_name(new)
        if b"refs/heads/" + new in repo.refs and not is_forced:
            raise Failure(f"a branch named '{os.fsdecode(new)}' already exists")
        if head is None and word == b"HEAD":
            repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/" + new)
            tell(f"Switched to a new branch '{os.fsdecode(new)}'\n") if not o.quiet else None
            return 0
        full = b"refs/heads/" + new
    target = revisions.commit_named(
        repo, word if new is not None or b"refs/heads/" + word not in repo.refs else b"refs/heads/" + word
    )
    put_commit(repo, head, target, o)
    is_branch = (new is not None or full in repo.refs) and not is_detached
    before = repository.short(old_branch) if old_branch else head
    if new is not None:
        existed = full in repo.refs
        remote = revisions.full_name(repo, word)
        if not existed or repo.refs[full] != target:
            repo.set_ref(full, target, f"branch: Created from {os.fsdecode(word)}")
        if remote and remote.startswith(b"refs/remotes/") and not o.get("no-track"):
            set_upstream(repo, new, os.fsdecode(word), o.quiet)
    to = repository.short(full) if is_branch else word
    message = f"checkout: moving from {os.fsdecode(before or b'HEAD')} to {os.fsdecode(to)}"
    repo.set_head(full if is_branch else target, message, head, target)
    if not o.quiet:
        tell_move(repo, o, (old_branch, head), (full if is_branch else None, target, to), new, is_forced)
    return 0


def put_commit(repo, head, target, o):
    if o.force:
        hard(repo, target)
        return
    if repo.unmerged() and target != head:
        listed = "".join(f"{os.fsdecode(path)}: needs merge\n" for path in repo.unmerged())
        raise Failure("you need to resolve your current index first", 1, listed + "error: ")
    old = repo.files(repo.commit(head).tree) if head else {}
    new = repo.files(repo.commit(target).tree)
    if old != new:
        check_clean(repo, old, new, "checkout")
        put(repo, keep_local(repo, old, new))
        repo.write_index()


def tell_move(repo, o, before, after, new, is_forced):
    (old_branch, head), (full, target, to) = before, after
    found = status.Status(repo, untracked_files="no")
    kinds = {c.new: c.kind for c in [*found.staged, *found.changed]}
    for path in sorted(kinds):
        say(kinds[path] if kinds[path] != "R" else "A", "\t", quote(path), "\n")
    shown = os.fsdecode(to)
    if old_branch is None and head != target and head is not None:
        tell(f"Previous HEAD position was {shorten(repo, head).decode()} {os.fsdecode(subject(repo.commit(head)))}\n")
    if full is None:
        if old_branch is not None and repo.is_set("advice.detachedHead", True) and not (o.detach or o.d):
            tell(DETACHED.format(shown))
        tell(f"HEAD is now at {shorten(repo, target).decode()} {os.fsdecode(subject(repo.commit(target)))}\n")
    elif full == old_branch:
        tell(f"Reset branch '{shown}'\n" if new is not None else f"Already on '{shown}'\n")
    elif new is not None:
        tell(f"Switched to a new branch '{shown}'\n")
    else:
        tell(f"Switched to branch '{shown}'\n")
    if full is not None and new is None:
        say(status.tracking_text(repo))


def make_orphan(repo, name):
    revisions.check_branch_name(name)
    repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/" + name)
    tell(f"Switched to a new branch '{os.fsdecode(name)}'\n")
    return 0


def checkout_paths(repo, source, words, o):
    paths = Paths(repo, words)
    if o.ours or o.theirs:
        count = take_side(repo, paths, "this" if o.ours else "other")
    else:
        unmerged = [path for path in repo.unmerged() if paths.matches(path)]
        if source is None and unmerged:
            raise Failure(f"path '{os.fsdecode(unmerged[0])}' is unmerged", 1, "error: ")
        files = repo.staged() if source is None else repo.files(revisions.peel_to(repo, revisions.resolve(repo, source), b"tree"))
        count = put_paths(repo, paths, files, source is not None, False)
    for word in paths.unused():
        raise Failure(f"pathspec '{os.fsdecode(word)}' did not match any file(s) known to git", 1, "error: ")
    repo.write_index()
    if not o.quiet:
        where = "the index" if source is None else shorten(repo, revisions.resolve(repo, source)).decode()
        tell(f"Updated {count} path{'s' * (count != 1)} from {where}\n")
    return 0


def take_side(repo, paths, side):
    count = 0
    for path in repo.unmerged():
        if paths.matches(path):
            entry = getattr(repo.index[path], side)
            if entry is None:
                raise Failure(
                    f"path '{os.fsdecode(path)}' does not have {'our' if side == 'this' else 'their'} version", 1, "error: "
                )
            write_file(repo, path, entry.mode, repo.blob(entry.sha))
            count += 1
    return count


def put_paths(repo, paths, files, is_staged, removes):
    """Writes the chosen files into the work tree. How many differed."""
    tree, count = Tree(repo), 0
    for path, (mode, name) in files.items():
        if not paths.matches(path):
            continue
        staged = repo.index[path] if path in repo.index else None
        is_plain = staged is not None and not isinstance(staged, ConflictedIndexEntry)
        if is_plain and (staged.mode, staged.sha) == (mode, name) and tree.entry(path, staged) == (mode, name):
            continue
        count += 1
        st = write_file(repo, path, mode, repo.blob(name) if mode != repository.MODULE else b"")
        if is_staged or is_plain:
            repo.stage(path, mode, name, st)
    if removes:
        for path in [path for path in repo.index if paths.matches(path) and path not in files]:
            remove_file(repo, path)
            if is_staged:
                del repo.index[path]
    return count


def restore(args):
    o = parse(
        args, "S|staged W|worktree s|source= q|quiet ours theirs p|patch m|merge overlay no-overlay ignore-unmerged progress"
    )
    repo = repository.find()
    repo.need_work_tree()
    words = [os.fsencode(word) for word in o.rest] + (o.paths or [])
    if o.patch or o.merge:
        raise Failure("there is no terminal to ask at: name the files")
    if not words:
        raise Failure("you must specify path(s) to restore")
    paths = Paths(repo, words)
    if o.ours or o.theirs:
        take_side(repo, paths, "this" if o.ours else "other")
        return 0
    to_tree = o.worktree or not o.staged
    source = os.fsencode(o.source) if o.source else b"HEAD" if o.staged else None
    if source is None:
        files = repo.staged()
    elif source == b"HEAD" and repo.head() is None:
        files = {}
    else:
        files = repo.files(revisions.peel_to(repo, revisions.resolve(repo, source), b"tree"))
    known = {**dict.fromkeys(repo.index), **files}
    if not any([paths.matches(path) for path in known]) or paths.unused():
        word = (paths.unused() or words)[0]
        raise Failure(f"pathspec '{os.fsdecode(word)}' did not match any file(s) known to git", 1, "error: ")
    if to_tree:
        put_paths(repo, paths, files, bool(o.staged), source is not None)
    else:
        stage_paths(repo, paths, files)
    repo.write_index()
    return 0


def stage_paths(repo, paths, files):
    for path in [path for path in repo.index if paths.matches(path) and path not in files]:
        del repo.index[path]
    for path, (mode, name) in files.items():
        staged = repo.index[path] if path in repo.index else None
        if paths.matches(path) and (
            staged is None or isinstance(staged, ConflictedIndexEntry) or (staged.mode, staged.sha) != (mode, name)
        ):
            repo.stage(path, mode, name)


def reset(args):
    o = parse(args, "soft mixed hard merge keep q|quiet p|patch N no-refresh refresh")
    repo = repository.find()
    words = [os.fsencode(word) for word in o.rest]
    if o.patch or o.merge or o.keep:
        raise Failure("only --soft, --mixed and --hard are supported here")
    paths = o.paths
    if paths is None and words and revisions.find_quietly(repo, words[0]) is None:
        if not os.path.lexists(words[0]) and not any(words[0] == p or p.startswith(words[0] + b"/") for p in repo.index):
            raise revisions.ambiguous(words[0])
        words, paths = [], words
    elif paths is None and len(words) > 1:
        words, paths = words[:1], words[1:]
    head = repo.head()
    target = None if head is None and not words else revisions.commit_named(repo, words[0] if words else b"HEAD")
    files = repo.files(repo.commit(target).tree) if target else {}
    if paths:
        if o.hard or o.soft:
            raise Failure(f"Cannot do {'hard' if o.hard else 'soft'} reset with paths.")
        stage_paths(repo, Paths(repo, paths), files)
        repo.write_index()
        return tell_unstaged(repo, o)
    if o.soft and repo.unmerged():
        raise Failure("Cannot do a soft reset in the middle of a merge.")
    if o.hard and target:
        hard(repo, target)
    elif not o.soft:
        stage_paths(repo, Paths(repo, []), files)
        repo.write_index()
    if target is not None:
        if head is not None:
            write_state(repo, b"ORIG_HEAD", head + b"\n")
        repo.set_ref(b"HEAD", target, f"reset: moving to {os.fsdecode(words[0]) if words else 'HEAD'}")
    for name in (b"MERGE_HEAD", b"MERGE_MSG", b"MERGE_MODE", b"CHERRY_PICK_HEAD", b"REVERT_HEAD"):
        if not o.soft:
            forget(repo, name)
    if o.hard:
        if not o.quiet and target:
            say(b"HEAD is now at ", shorten(repo, target), b" ", subject(repo.commit(target)), b"\n")
        return 0
    return 0 if o.soft else tell_unstaged(repo, o)


def tell_unstaged(repo, o):
    if o.quiet or repo.root is None:
        return 0
    staged, tree = repo.staged(), Tree(repo)
    found = changes.find(staged, {path: entry for path, entry in tree.files().items() if path in staged}, tree.read, False)
    if found:
        say(b"Unstaged changes after reset:\n")
        for c in found:
            say(c.kind, "\t", quote(relative(c.new, repo.folder)), "\n")
    return 0
