"""Commands that change the index: add, rm, mv, and restore and reset with what they share."""

import os
import stat

from _hatchway.git import repository
from _hatchway.git.base import Failure, Options, parse, quote, say, tell
from _hatchway.git.worktree import Ignored, Paths, Tree, look, mode_of, read_file, remove_file, untracked
from dulwich.index import ConflictedIndexEntry

NO_MATCH = "pathspec '{}' did not match any files"


def add(args):
    o = parse(
        args,
        (
            "A|all|no-ignore-removal u|update f|force n|dry-run v|verbose p|patch "
            "N|intent-to-add i|interactive e|edit renormalize chmod= ignore-errors "
            "pathspec-from-file="
        ),
    )
    if o.patch or o.interactive or o.edit:
        raise Failure("there is no terminal to ask at: name the files to add")
    repo = repository.find()
    repo.need_work_tree()
    words = [os.fsencode(word) for word in o.rest] + (o.paths or [])
    if not words and not (o.get("no-ignore-removal") or o.update):
        tell("Nothing specified, nothing added.\nhint: Maybe you wanted to say 'git add .'?\n")
        tell('hint: Turn this message off by running\nhint: "git config advice.addEmptyPathspec false"\n')
        return 0
    paths = Paths(repo, words or [b":/"])
    changed = stage_changes(repo, paths, o.dry_run, o.verbose)
    found = [] if o.update else untracked(repo, True, paths)
    if not o.update:
        refuse_ignored(repo, paths, found, o.force)
        if o.force:
            found = [path for path in every_file(repo, paths) if path not in repo.index]
    for path in found:
        if path.endswith(b"/"):
            tell(f"warning: adding embedded git repository: {os.fsdecode(path[:-1])}\n")
            stage_module(repo, path[:-1])
            continue
        stage_file(repo, path, o)
    for word in paths.unused():
        if not changed and not matches_folder(repo, paths, word):
            raise Failure(NO_MATCH.format(os.fsdecode(word)))
    if o.get("chmod"):
        set_program(repo, paths, o.get("chmod"))
    if not o.dry_run:
        repo.write_index()
    return 0


def matches_folder(repo, paths, word):
    one = Paths(repo, [word])
    return os.path.isdir(word) or any(one.matches(path) for path in repo.index)


def every_file(repo, paths):
    found = []
    for folder, folders, files in os.walk(repo.root):
        folders[:] = [one for one in folders if one != b".git"]
        found += [os.path.relpath(os.path.join(folder, name), repo.root) for name in files]
    return sorted(path for path in found if paths.matches(path))


def refuse_ignored(repo, paths, found, is_forced):
    is_ignored = Ignored(repo)
    named = []
    for (_, path), word in zip(paths.patterns, paths.words, strict=True):
        place = repo.place(path)
        if (
            path
            and path not in repo.index
            and os.path.lexists(place)
            and not is_forced
            and is_ignored(path, os.path.isdir(place))
        ):
            named.append(word)
    if named:
        listed = "".join(os.fsdecode(quote(word)) + "\n" for word in named)
        for path in found:
            stage_file(repo, path, Options())
        repo.write_index()
        raise Failure(
            "The following paths are ignored by one of your .gitignore files:\n"
            + listed
            + (
                "hint: Use -f if you really want to add them.\nhint: Turn this message off by "
                'running\nhint: "git config advice.addIgnoredFile false"'
            ),
            1,
            "",
        )


def stage_changes(repo, paths, is_dry=False, is_told=False):
    """Brings the index up to what the work tree has of its files. Whether there was anything of that name."""
    tree, found = Tree(repo), False
    for path, staged in list(repo.index.items()):
        if not paths.matches(path):
            continue
        found = True
        is_conflict = isinstance(staged, ConflictedIndexEntry)
        st = look(repo, path)
        entry = tree.entry(path, None if is_conflict else staged)
        if not is_conflict and entry == (staged.mode, staged.sha) and tree.is_same(staged, st):
            continue
        if entry is None:
            if st is None or stat.S_ISDIR(st.st_mode):
                say(b"remove '", quote(path), b"'\n") if is_told or is_dry else None
                if not is_dry:
                    del repo.index[path]
            continue
        if is_conflict or entry != (staged.mode, staged.sha):
            say(b"add '", quote(path), b"'\n") if is_told or is_dry else None
        if not is_dry:
            if path in tree.contents:
                repo.add_blob(tree.contents[path])
            repo.stage(path, *entry, st)
    return found


def stage_file(repo, path, options):
    st = look(repo, path)
    if options.get("verbose") or options.get("dry-run"):
        say(b"add '", quote(path), b"'\n")
    if options.get("dry-run"):
        return
    try:
        data = b"" if options.get("intent-to-add") else read_file(repo, path, st)
    except OSError:
        raise Failure(f'open("{os.fsdecode(path)}"): Permission denied', prefix="error: ") from None
    repo.stage(path, mode_of(st, repo.is_set("core.filemode", True)), repo.add_blob(data), st)


def stage_module(repo, path):
    inner = repository.Repository(os.fsdecode(repo.place(path)))
    head = inner.head()
    if head is None:
        raise Failure(f"'{os.fsdecode(path)}/' does not have a commit checked out", prefix="error: ")
    repo.stage(path, repository.MODULE, head)


def set_program(repo, paths, sign):
    for path, staged in list(repo.index.items()):
        if paths.matches(path) and stat.S_ISREG(staged.mode):
            repo.stage(path, repository.PROGRAM if sign == "+x" else repository.FILE, staged.sha)


def rm(args):
    o = parse(args, "cached r f|force n|dry-run q|quiet ignore-unmatch")
    repo = repository.find()
    repo.need_work_tree()
    words = [os.fsencode(word) for word in o.rest] + (o.paths or [])
    if not words:
        raise Failure("No pathspec was given. Which files should I remove?")
    paths, tree, head = Paths(repo, words), Tree(repo), repo.files(repo.head_tree())
    chosen = [path for path in sorted(repo.index) if paths.matches(path)]
    for word in paths.unused():
        if not o.ignore_unmatch:
            raise Failure(NO_MATCH.format(os.fsdecode(word)))
    exact = {path for _, path in paths.patterns}
    if not o.r:
        for path in chosen:
            if path not in exact and not any(c in word for word in words for c in b"*?["):
                folder = next(p for p in exact if path.startswith(p + b"/") or not p)
                raise Failure(f"not removing '{os.fsdecode(folder) or '.'}' recursively without -r")
    if not o.force:
        check_removal(repo, chosen, tree, head, o.cached)
    for path in chosen:
        if not o.quiet:
            say(b"rm '", quote(path), b"'\n")
        if not o.dry_run:
            del repo.index[path]
            if not o.cached:
                remove_file(repo, path)
    if not o.dry_run:
        repo.write_index()
    return 0


def check_removal(repo, chosen, tree, head, is_cached):
    staged_differs, changed, both = [], [], []
    for path in chosen:
        staged = repo.index[path]
        if isinstance(staged, ConflictedIndexEntry):
            continue
        there = tree.entry(path, staged)
        now = (staged.mode, staged.sha)
        is_local, is_staged = there is not None and there != now, head.get(path) != now
        if is_local and is_staged:
            both.append(path)
        elif is_local and not is_cached:
            changed.append(path)
        elif is_staged and not is_cached:
            staged_differs.append(path)
    for found, text, hint in (
        (both, "has staged content different from both the\nfile and the HEAD:", "(use -f to force removal)"),
        (staged_differs, "has changes staged in the index:", "(use --cached to keep the file, or -f to force removal)"),
        (changed, "has local modifications:", "(use --cached to keep the file, or -f to force removal)"),
    ):
        if found:
            told = f"the following file{'s' * (len(found) > 1)} {text.replace('has', 'have') if len(found) > 1 else text}\n"
            raise Failure(told + "".join(f"    {os.fsdecode(path)}\n" for path in found) + hint, 1, "error: ")


def mv(args):
    o = parse(args, "f|force k n|dry-run v|verbose")
    repo = repository.find()
    repo.need_work_tree()
    words = [os.fsencode(word) for word in o.rest] + (o.paths or [])
    if len(words) < 2:
        raise Failure("git mv [<options>] <source>... <destination>", 129, "usage: ")
    places = [path for _, path in Paths(repo, words).patterns]
    *sources, target = places
    into = os.path.isdir(repo.place(target))
    if len(sources) > 1 and not into:
        raise Failure(f"destination '{os.fsdecode(words[-1])}' is not a directory")
    for source in sources:
        place = os.path.join(target, os.path.basename(source)).lstrip(b"/") if into else target
        moved = {path: place + path[len(source) :] for path in repo.index if path == source or path.startswith(source + b"/")}
        told = f"source={os.fsdecode(source)}, destination={os.fsdecode(place)}"
        if not os.path.lexists(repo.place(source)):
            raise Failure(f"bad source, {told}")
        if not moved:
            raise Failure(
                f"not under version control, {told}"
                if not os.path.isdir(repo.place(source))
                else f"source directory is empty, {told}"
            )
        if os.path.lexists(repo.place(place)) and not o.force:
            raise Failure(f"destination exists, {told}")
        if not os.path.isdir(os.path.dirname(repo.place(place))):
            raise Failure(f"renaming '{os.fsdecode(source)}' failed: No such file or directory")
        if o.dry_run:
            continue
        os.replace(repo.place(source), repo.place(place))
        for old, new in moved.items():
            staged = repo.index[old]
            del repo.index[old]
            repo.index[new] = staged
    repo.write_index()
    return 0


def clean(args):
    o = parse(args, "n|dry-run f|force d x X q|quiet e|exclude=* i|interactive")
    repo = repository.find()
    repo.need_work_tree()
    if not o.force and not o.dry_run:
        raise Failure("clean.requireForce defaults to true and neither -i, -n, nor -f given; refusing to clean")
    words = [os.fsencode(word) for word in o.rest] + (o.paths or [])
    ignored = [] if o.x or o.X else None
    found = untracked(repo, False, Paths(repo, words) if words else None, ignored)
    found = sorted(ignored) if o.X else sorted([*found, *(ignored or [])])
    for path in found:
        if path.endswith(b"/") and not o.d:
            continue
        if not o.quiet or o.dry_run:
            say(b"Would remove " if o.dry_run else b"Removing ", quote(path), b"\n")
        if o.dry_run:
            continue
        place = repo.place(path.rstrip(b"/"))
        if path.endswith(b"/"):
            for folder, folders, files in os.walk(place, topdown=False):
                for name in files:
                    os.unlink(os.path.join(folder, name))
                for name in folders:
                    inner = os.path.join(folder, name)
                    os.unlink(inner) if os.path.islink(inner) else os.rmdir(inner)
            os.rmdir(place)
        else:
            os.unlink(place)
    return 0
