"""Commands that put other files in place: checkout, switch, restore, reset."""

import os

from _hatchway.git import changes, repository, revisions, status
from _hatchway.git.base import Failure, parse, quote, relative, say, tell
from _hatchway.git.branches import set_upstream
from _hatchway.git.commits import forget, write_state
from _hatchway.git.merging import hard
from _hatchway.git.pretty import shorten, subject
from _hatchway.git.worktree import Paths, Tree, check_clean, keep_local, put, remove_file, write_file
from dulwich.index import ConflictedIndexEntry

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
