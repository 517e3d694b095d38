"""What scripts ask a repository: its objects, names, refs and files."""

import os
import re
import stat
import sys

from _hatchway.git import repository, revisions
from _hatchway.git.base import Failure, Usage, parse, quote, relative, say
from _hatchway.git.pretty import shorten
from _hatchway.git.worktree import Ignored, Paths, untracked
from _hatchway.git.worktree import Tree as Work
from dulwich.index import ConflictedIndexEntry
from dulwich.objects import Blob, Commit, Tag, Tree


def rev_parse(args):
    flags = {
        "--verify",
        "--quiet",
        "-q",
        "--short",
        "--abbrev-ref",
        "--symbolic-full-name",
        "--revs-only",
        "--sq",
        "--symbolic",
        "--all",
    }
    given = {word.partition("=")[0] for word in args} & flags
    length = next((int(word.partition("=")[2]) for word in args if word.startswith("--short=")), 7)
    repo = repository.find()
    answers = {
        "--show-toplevel": lambda: repo.need_work_tree() or repo.root,
        "--git-dir": lambda: (
            b".git"
            if repo.root == os.getcwdb() and os.path.isdir(".git")
            else b"."
            if repo.git_dir == os.getcwdb()
            else repo.git_dir
        ),
        "--absolute-git-dir": lambda: repo.git_dir,
        "--git-common-dir": lambda: b".git" if repo.root == os.getcwdb() else os.fsencode(os.path.abspath(repo.repo.commondir())),
        "--is-inside-work-tree": lambda: (
            b"true" if repo.root is not None and not os.getcwdb().startswith(repo.git_dir) else b"false"
        ),
        "--is-inside-git-dir": lambda: b"true" if (os.getcwdb() + b"/").startswith(repo.git_dir + b"/") else b"false",
        "--is-bare-repository": lambda: b"true" if repo.is_bare else b"false",
        "--is-shallow-repository": lambda: b"true" if repo.repo.get_shallow() else b"false",
        "--show-prefix": lambda: repo.folder + b"/" if repo.folder else b"",
        "--show-cdup": lambda: b"../" * (repo.folder.count(b"/") + 1) if repo.folder else b"",
        "--show-object-format": lambda: b"sha1",
    }
    for word in args:
        if word in answers:
            say(answers[word](), b"\n")
        elif word == "--all":
            for name in revisions.all_tips(repo):
                say(name, b"\n")
        elif word == "--" or word.partition("=")[0] in flags:
            continue
        elif word.startswith("--"):
            say(word, b"\n")
        else:
            show_revision(repo, os.fsencode(word), given, length)
    return 0


def show_revision(repo, word, given, length):
    if "--verify" in given and (name := revisions.find_quietly(repo, word)) is None:
        if given & {"--quiet", "-q"}:
            raise SystemExit(1)
        raise Failure("Needed a single revision")
    if given & {"--abbrev-ref", "--symbolic-full-name", "--symbolic"}:
        full = repo.branch() if word in (b"HEAD", b"@") else None
        if word.endswith((b"@{u}", b"@{upstream}")):
            revisions.resolve(repo, word)
            full = revisions.upstream(repo, word.partition(b"@{")[0] or repo.branch_name())
        full = full or (b"HEAD" if word in (b"HEAD", b"@") else revisions.full_name(repo, word))
        if repo.head() is None and word == b"HEAD":
            raise revisions.ambiguous(word)
        if full is None:
            revisions.resolve(repo, word)
            return
        say(repository.short(full) if "--abbrev-ref" in given else full, b"\n")
        return
    before = b""
    for one in re.split(rb"\.\.\.?", word) if b".." in word else [word]:
        if one.startswith(b"^"):
            before, one = b"^", one[1:]
        name = revisions.find(repo, one or b"HEAD")
        if name is None:
            if not os.path.lexists(one) or "--verify" in given:
                if not given & {"--short", "--verify"}:
                    say(word, b"\n")
                raise revisions.ambiguous(word)
            raise revisions.ambiguous(word)
        say(before, shorten(repo, name, length) if "--short" in given else name, b"\n")


def cat_file(args):
    o = parse(args, "p t s e batch batch-check allow-unknown-type")
    repo = repository.find()
    if o.batch or o.batch_check:
        for line in sys.stdin.buffer.read().splitlines():
            name = revisions.find_quietly(repo, line.strip())
            if name is None:
                say(line, b" missing\n")
                continue
            thing = repo.read(name)
            raw = thing.as_raw_string()
            say(name, b" ", thing.type_name, b" %d\n" % len(raw), raw + b"\n" if o.batch else b"")
        return 0
    word = os.fsencode(o.rest[-1]) if o.rest else b""
    name = revisions.find(repo, word)
    if name is None:
        if o.e:
            return 1
        raise Failure(f"Not a valid object name {word.decode('utf-8', 'replace')}")
    if len(o.rest) == 2:
        wanted = {"blob": Blob, "tree": Tree, "commit": Commit, "tag": Tag}.get(o.rest[0])
        if wanted is None:
            raise Failure(f'invalid object type "{o.rest[0]}"')
        name = name if wanted in (Blob, Tag) else revisions.peel(repo, name, wanted)
        say(repo.read(name, wanted).as_raw_string())
        return 0
    thing = repo.read(name)
    if o.t:
        say(thing.type_name, b"\n")
    elif o.s:
        say(b"%d\n" % len(thing.as_raw_string()))
    elif o.p and isinstance(thing, Tree):
        for path, mode, inner in repo.tree_items(name):
            say(b"%06o %b %b\t%b\n" % (mode, kind_of(mode), inner, quote(path)))
    elif o.p:
        say(thing.as_raw_string())
    return 0


def kind_of(mode):
    return b"tree" if stat.S_ISDIR(mode) else b"commit" if mode == repository.MODULE else b"blob"


def hash_object(args):
    o = parse(args, "w stdin t= path= no-filters")
    if o.t not in (None, "blob"):
        raise Failure("only blobs can be hashed here")
    contents = [sys.stdin.buffer.read()] if o.stdin else []
    for path in o.rest:
        try:
            with open(path, "rb") as file:
                contents.append(file.read())
        except OSError:
            raise Failure(f"could not open '{path}' for reading: No such file or directory") from None
    for data in contents:
        made = Blob.from_string(data)
        if o.w:
            repository.find().add(made)
        say(made.id, b"\n")


def ls_files(args):
    o = parse(
        args,
        (
            "s|stage o|others m|modified d|deleted c|cached u|unmerged i|ignored z "
            "exclude-standard error-unmatch full-name t x|exclude=* k"
        ),
    )
    repo = repository.find()
    repo.need_work_tree()
    paths = Paths(repo, [os.fsencode(word) for word in [*o.rest]] + (o.paths or []))
    end, folder = (b"\0", repo.folder) if o.z else (b"\n", repo.folder)
    if not paths.words and folder:
        paths = Paths(repo, [b"."])
    show = lambda path: path if o.z else quote(path if o.full_name else relative(path, folder))  # noqa: E731
    if o.others:
        ignored = [] if o.ignored else None
        found = untracked(repo, True, paths, ignored) if o.exclude_standard else all_untracked(repo, paths)
        for path in ignored if o.ignored else found:
            say(show(path), end)
        if not o.cached:
            return 0
    changed = find_changed(repo) if o.modified or o.deleted else None
    for path, entry in sorted(repo.index.items()):
        if not paths.matches(path):
            continue
        is_conflict = isinstance(entry, ConflictedIndexEntry)
        stages = (
            [(i, one) for i, one in enumerate((entry.ancestor, entry.this, entry.other), 1) if one]
            if is_conflict
            else [(0, entry)]
        )
        if o.unmerged and not is_conflict:
            continue
        if changed is not None and (path not in changed or (o.deleted and not o.modified and changed[path] is not None)):
            continue
        for stage, one in stages:
            say(b"%06o %b %d\t" % (one.mode, one.sha, stage) if o.stage or o.unmerged else b"", show(path), end)
            if not (o.stage or o.unmerged):
                break
    if o.error_unmatch and paths.unused():
        raise Failure(
            f"pathspec '{paths.unused()[0].decode()}' did not match any file(s) known to git\nDid you forget to 'git add'?",
            1,
            "error: ",
        )
    return 0


def all_untracked(repo, paths):
    tracked, found = set(repo.index), []
    for folder, folders, files in os.walk(repo.root):
        folders[:] = [one for one in folders if one != b".git"]
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), repo.root)
            if path not in tracked and paths.matches(path):
                found.append(path)
    return sorted(found)


def find_changed(repo):
    """Files of the index that are changed in the work tree, and what they are there."""
    work, staged = Work(repo), repo.staged()
    there = work.files()
    return {path: there.get(path) for path in [*staged, *repo.unmerged()] if there.get(path) != staged.get(path)}


def ls_tree(args):
    o = parse(args, "r t d l|long name-only name-status full-name full-tree z abbrev?")
    repo = repository.find()
    if not o.rest:
        raise Usage("usage: git ls-tree [<options>] <tree-ish> [<path>...]")
    tree = revisions.peel(repo, revisions.resolve(repo, os.fsencode(o.rest[0])), Tree)
    paths = Paths(repo, [os.fsencode(word) for word in o.rest[1:]] + (o.paths or []), repo.folder if repo.root else b"")
    end, todo = b"\0" if o.z else b"\n", [(b"", tree)]
    found = []
    while todo:
        before, name = todo.pop()
        if before.count(b"/") > repository.DEPTH_MAX:
            raise Failure("the tree is too deep")
        for path, mode, inner in repo.tree_items(name):
            is_tree = stat.S_ISDIR(mode)
            path = before + path
            within = is_tree and any(
                p.startswith(path + b"/") or (p == path and w.endswith(b"/"))
                for (_, p), w in zip(paths.patterns, paths.words, strict=True)
            )
            if is_tree and ((o.r and paths.may_be_within(path)) or within):
                todo.append((path + b"/", inner))
                if not o.t or not paths.matches(path):
                    continue
            if paths.matches(path) and (is_tree or not o.d):
                found.append((path, mode, inner))
    for path, mode, inner in sorted(found, key=lambda one: one[0] + b"/" * stat.S_ISDIR(one[1])):
        size = b""
        if o.long:
            size = b"%8s" % (b"-" if stat.S_ISDIR(mode) else b"%d" % len(repo.blob(inner)))
        head = (
            b""
            if o.name_only or o.name_status
            else b"%06o %b %b%b\t" % (mode, kind_of(mode), inner, b" " + size if size else b"")
        )
        say(head, quote(path), end)


def symbolic_ref(args):
    o = parse(args, "q|quiet short d|delete m=")
    repo = repository.find()
    name = os.fsencode(o.rest[0])
    if len(o.rest) == 2:
        repo.refs.set_symbolic_ref(name, os.fsencode(o.rest[1]))
        return 0
    target = repo.refs.read_loose_ref(name) or b""
    if not target.startswith(b"ref: "):
        if o.quiet:
            return 1
        raise Failure(f"ref {o.rest[0]} is not a symbolic ref")
    target = target[5:].strip()
    say(repository.short(target) if o.short else target, b"\n")
    return 0


def show_ref(args):
    o = parse(args, "heads tags verify q|quiet s|hash? d|dereference head abbrev?")
    repo, found = repository.find(), 0
    for name in sorted(repo.refs.allkeys()):
        if name == b"HEAD" and not o.head:
            continue
        chosen = [kind for kind, is_on in ((b"refs/heads/", o.heads), (b"refs/tags/", o.tags)) if is_on]
        words = [os.fsencode(word) for word in o.rest]
        if (chosen and not name.startswith(tuple(chosen))) or (
            words and not any(name == w or name.endswith(b"/" + w) for w in words)
        ):
            continue
        found += 1
        if not o.quiet:
            target = repo.refs[name]
            say(target, b"\n" if o.hash is not None else b" " + name + b"\n")
            if o.dereference and isinstance(repo.read(target), Tag):
                say(revisions.peel_to(repo, target, b""), b" ", name, b"^{}\n")
    if not found and o.verify and not o.quiet:
        raise Failure(f"'{o.rest[0]}' - not a valid ref")
    return 0 if found else 1


def update_ref(args):
    o = parse(args, "d m= no-deref create-reflog")
    repo, name = repository.find(), os.fsencode(o.rest[0])
    if o.d:
        del repo.refs[name]
    else:
        repo.set_ref(name, revisions.resolve(repo, os.fsencode(o.rest[1])), o.m or "")
    return 0


def check_ignore(args):
    o = parse(args, "q|quiet v|verbose no-index stdin z n")
    repo = repository.find()
    is_ignored, found = Ignored(repo), 0
    for word in [os.fsencode(word) for word in o.rest] + (o.paths or []):
        path = Paths(repo, [word]).patterns[0][1]
        if path not in repo.index and is_ignored(path, os.path.isdir(word)):
            found += 1
            if not o.quiet:
                say(quote(word), b"\n")
    return 0 if found else 1


def rev_list(args):
    o = parse(
        args, "all count n|max-count= reverse first-parent no-merges merges left-right objects skip= abbrev-commit", "max-count"
    )
    repo = repository.find()
    tips, hidden = revisions.parse_range(repo, o.rest, None)
    if o.all:
        tips += revisions.all_tips(repo)
    if not tips:
        raise Usage("usage: git rev-list [<options>] <commit>... [--] [<path>...]")
    found = [
        name
        for name, commit in revisions.walk(repo, tips, hidden, bool(o.first_parent))
        if not (o.no_merges and len(commit.parents) > 1) and not (o.merges and len(commit.parents) < 2)
    ]
    found = found[int(o.skip or 0) :][: int(o.max_count) if o.max_count else None]
    if o.left_right and o.count and len(tips) == 2:
        left = revisions.reachable(repo, [tips[0]])
        say(b"%d\t%d\n" % (sum(name in left for name in found), sum(name not in left for name in found)))
    elif o.count:
        say(b"%d\n" % len(found))
    else:
        for name in reversed(found) if o.reverse else found:
            say(shorten(repo, name) if o.abbrev_commit else name, b"\n")
    return 0
