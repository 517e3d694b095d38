"""The files next to the repository: what is there, what differs from the index, and putting other files in their place.

Rules: THREAT[TM-GIT-PATH]: a repository may name any path. Nothing is written through a link, to `.git` or out of the work tree.
"""

import fnmatch
import os
import stat

from _hatchway.git.base import Failure, quote
from _hatchway.git.repository import DEPTH_MAX, FILE, LINK, MODULE, PROGRAM, make_entry
from dulwich.ignore import IgnoreFilterManager
from dulwich.index import ConflictedIndexEntry
from dulwich.objects import Blob


def mode_of(st, is_mode_trusted=True):
    if stat.S_ISLNK(st.st_mode):
        return LINK
    return PROGRAM if st.st_mode & 0o100 and is_mode_trusted else FILE


def read_file(repo, path, st):
    place = repo.place(path)
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(place)
    with open(place, "rb") as file:
        return clean(repo, file.read())


def clean(repo, data):
    """As it is stored: with `core.autocrlf`, lines end as everywhere."""
    if repo.setting("core.autocrlf", "false") in ("true", "input") and b"\0" not in data[:8000]:
        return data.replace(b"\r\n", b"\n")
    return data


def look(repo, path):
    """What is at that path of the work tree, or None. A file behind a link is not there."""
    parts = path.split(b"/")
    place = repo.root
    for part in parts[:-1]:
        place = os.path.join(place, part)
        if os.path.islink(place):
            return None
    try:
        st = os.lstat(repo.place(path))
    except OSError:
        return None
    return st if stat.S_ISREG(st.st_mode) or stat.S_ISLNK(st.st_mode) or stat.S_ISDIR(st.st_mode) else None


class Tree:
    """What the work tree has of the files in the index: contents are only read where the index does not tell."""

    def __init__(self, repo):
        self.repo = repo
        self.contents = {}
        self.is_mode_trusted = repo.is_set("core.filemode", True)
        try:
            self.index_time = os.stat(repo.index.path).st_mtime_ns
        except OSError:
            self.index_time = 0

    def entry(self, path, staged):
        """(mode, name) of the file as it is, or None. `staged` is its entry in the index."""
        st = look(self.repo, path)
        if st is None:
            return None
        if staged is not None and staged.mode == MODULE:
            return (MODULE, staged.sha) if stat.S_ISDIR(st.st_mode) else None
        if stat.S_ISDIR(st.st_mode):
            return None
        mode = mode_of(st, self.is_mode_trusted)
        if not self.is_mode_trusted and staged is not None and stat.S_ISREG(staged.mode) and mode != LINK:
            mode = staged.mode
        if staged is not None and self.is_same(staged, st):
            return mode, staged.sha
        data = read_file(self.repo, path, st)
        name = Blob.from_string(data).id
        self.contents[path] = data
        return mode, name

    def is_same(self, staged, st):
        mtime = staged.mtime
        if (
            not isinstance(mtime, tuple)
            or st.st_size & 0xFFFFFFFF != staged.size
            or stat.S_IFMT(st.st_mode) != stat.S_IFMT(staged.mode)
        ):
            return False
        at = mtime[0] * 10**9 + mtime[1]
        return at == st.st_mtime_ns and staged.ino == st.st_ino & 0xFFFFFFFF and at < self.index_time

    def files(self, paths=None):
        """{path: (mode, name)} of all files in the index that are there."""
        found = {}
        for path, staged in sorted(self.repo.index.items()):
            if paths is not None and not paths.matches(path):
                continue
            entry = self.entry(path, None if isinstance(staged, ConflictedIndexEntry) else staged)
            if entry is not None:
                found[path] = entry
        return found

    def read(self, path, name):
        """The contents of a file of any side."""
        if name in self.repo.store:
            return self.repo.blob(name)
        if path in self.contents:
            return self.contents[path]
        st = look(self.repo, path)
        return b"" if st is None else read_file(self.repo, path, st)


class Paths:
    """Which paths of the repository the words of a command line mean."""

    def __init__(self, repo, words, folder=None):
        self.repo, self.words = repo, list(words)
        self.folder = repo.folder if folder is None else folder
        self.patterns = [self.normal(word) for word in words]
        self.used = set()

    def normal(self, word):
        is_from_top = word.startswith((b":/", b":(top)"))
        is_not = word.startswith((b":!", b":^", b":(exclude)"))
        for before in (b":(top)", b":/", b":(exclude)", b":!", b":^", b":(glob)", b":(literal)"):
            if word.startswith(before):
                word = word[len(before) :]
                break
        if os.path.isabs(word):
            root = os.path.realpath(self.repo.root)
            here = os.path.join(os.path.realpath(os.path.dirname(word)), os.path.basename(word)).rstrip(b"/")
            if here != root and not here.startswith(root.rstrip(b"/") + b"/"):
                raise self.outside(word)
            return is_not, here[len(root) :].strip(b"/")
        path = os.path.normpath(os.path.join(b"" if is_from_top else self.folder, word)) if word or self.folder else b"."
        if path == b".." or path.startswith(b"../"):
            raise self.outside(word)
        return is_not, b"" if path == b"." else path

    def outside(self, word):
        shown = word.decode("utf-8", "replace")
        return Failure(f"{shown}: '{shown}' is outside repository at '{os.fsdecode(self.repo.root)}'")

    def matches(self, path):
        """No words mean all."""
        wanted = [i for i, (is_not, _) in enumerate(self.patterns) if not is_not]
        found = [i for i in wanted if fits(path, self.patterns[i][1])]
        self.used.update(found)
        if wanted and not found:
            return False
        return not any(is_not and fits(path, pattern) for is_not, pattern in self.patterns)

    def may_be_within(self, folder):
        """Whether a path in that folder may match."""
        if not self.patterns:
            return True
        return any(
            fits(folder, pattern) or pattern.startswith(folder + b"/") or any(c in pattern for c in b"*?[")
            for is_not, pattern in self.patterns
            if not is_not
        )

    def unused(self):
        return [self.words[i] for i, (is_not, _) in enumerate(self.patterns) if i not in self.used and not is_not]


def fits(path, pattern):
    if not pattern or path == pattern or path.startswith(pattern + b"/"):
        return True
    return any(c in pattern for c in b"*?[") and fnmatch.fnmatchcase(path, pattern)


class Ignored:
    def __init__(self, repo):
        self.filters = IgnoreFilterManager.from_repo(repo.repo)
        self.known = {}

    def __call__(self, path, is_dir):
        key = os.fsdecode(path + b"/" if is_dir else path)
        return bool(self.filters.is_ignored(key))


def untracked(repo, all_files=False, paths=None, ignored=None):
    """Files that are not in the index; a folder without any that is stands for what is in it, unless `all_files`.

    With `ignored` a list, what is ignored is put there.
    """
    tracked = set(repo.index)
    folders = {path[:i] for path in tracked for i, byte in enumerate(path) if byte == 47}
    is_ignored = Ignored(repo)
    found, todo = [], [b""]
    while todo:
        folder = todo.pop()
        if folder.count(b"/") > DEPTH_MAX:
            raise Failure(f"the work tree has folders more than {DEPTH_MAX} deep")
        for entry in os.scandir(repo.place(folder) if folder else repo.root):
            path = folder + b"/" + entry.name if folder else entry.name
            if entry.name == b".git" or path in tracked:
                continue
            is_dir = entry.is_dir(follow_symlinks=False)
            if not is_dir and not (entry.is_file(follow_symlinks=False) or entry.is_symlink()):
                continue
            if paths is not None and not (paths.may_be_within(path) if is_dir else paths.matches(path)):
                continue
            if path not in folders and is_ignored(path, is_dir):
                if ignored is not None and (not is_dir or has_files(repo.place(path))):
                    ignored.append(path + b"/" if is_dir else path)
            elif not is_dir:
                found.append(path)
            elif os.path.lexists(os.path.join(entry.path, b".git")):
                found.append(path + b"/")
            elif path in folders or all_files or (paths is not None and not paths.matches(path)):
                todo.append(path)
            elif has_wanted(repo, path, is_ignored, ignored):
                found.append(path + b"/")
    return sorted(found)


def has_files(place):
    return any(files for _, _, files in os.walk(place))


def has_wanted(repo, folder, is_ignored, ignored):
    """Whether a folder has a file that is not ignored."""
    todo, found, inner = [folder], False, []
    while todo:
        folder = todo.pop()
        for entry in os.scandir(repo.place(folder)):
            path = folder + b"/" + entry.name
            is_dir = entry.is_dir(follow_symlinks=False)
            if is_ignored(path, is_dir):
                if not is_dir or has_files(repo.place(path)):
                    inner.append(path + b"/" if is_dir else path)
            elif is_dir and folder.count(b"/") < DEPTH_MAX:
                todo.append(path)
            else:
                found = True
                if ignored is None:
                    return True
    if ignored is not None:
        ignored += inner
    return found


# ---- writing ----


def check_path(path):
    parts = path.split(b"/")
    for part in parts:
        lowered = part.lower().rstrip(b". ")
        if (
            part in (b"", b".", b"..")
            or lowered in (b".git", b"git~1")
            or b"\0" in part
            or (b"\\" in part and b".git" in lowered)
        ):
            raise Failure(f"invalid path '{quote(path).decode()}'", prefix="error: ")
    if len(parts) > DEPTH_MAX:
        raise Failure(f"invalid path: it is more than {DEPTH_MAX} folders deep", prefix="error: ")


def remove_file(repo, path):
    """With folders that are then empty."""
    if look(repo, path) is None:
        return
    try:
        os.unlink(repo.place(path))
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        return
    folder = os.path.dirname(path)
    here = os.path.realpath(os.getcwdb())
    while folder:
        if here == os.path.realpath(repo.place(folder)):
            return
        try:
            os.rmdir(repo.place(folder))
        except OSError:
            return
        folder = os.path.dirname(folder)


def write_file(repo, path, mode, data):
    """Puts a file there, and gives what a look at it says."""
    check_path(path)
    make_room(repo, path)
    place = repo.place(path)
    if os.path.lexists(place):
        os.unlink(place)
    if mode == MODULE:
        os.makedirs(place, exist_ok=True)
    elif stat.S_ISLNK(mode):
        os.symlink(data, place)
    else:
        if repo.setting("core.autocrlf", "false") == "true" and b"\0" not in data[:8000] and b"\r\n" not in data:
            data = data.replace(b"\n", b"\r\n")
        with open(place, "wb") as file:
            file.write(data)
        if mode & 0o100:
            os.chmod(place, 0o755)
    return os.lstat(place)


def make_room(repo, path):
    """The folders of a file: links and files in their place leave."""
    place = repo.root
    parts = path.split(b"/")
    for part in parts[:-1]:
        place = os.path.join(place, part)
        if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place)):
            os.unlink(place)
        if not os.path.isdir(place):
            os.mkdir(place)
    place = os.path.join(place, parts[-1])
    if os.path.isdir(place) and not os.path.islink(place):
        for folder, folders, files in os.walk(place, topdown=False):
            if files:
                raise Failure(
                    f"cannot write '{quote(path).decode()}': there is a folder with files in its place", prefix="error: "
                )
            for inner in folders:
                os.rmdir(os.path.join(folder, inner))
        os.rmdir(place)


def put(repo, files, old=None):
    """Makes index and work tree have `files` where they differ from `old`, by default the index. Other changes stay."""
    old = repo.staged() if old is None else old
    for path, entry in files.items():
        if old.get(path) != entry:
            check_path(path)
    for path in [path for path in old if path not in files]:
        remove_file(repo, path)
        if path in repo.index:
            del repo.index[path]
    for path, (mode, name) in files.items():
        if old.get(path) != (mode, name):
            st = write_file(repo, path, mode, b"" if mode == MODULE else repo.blob(name))
            repo.stage(path, mode, name, st)


def check_clean(repo, old, new, what):
    """Raises if moving from `old` to `new` would lose a change that is in neither."""
    tree = Tree(repo)
    changed, lost = [], []
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        staged = repo.index[path] if path in repo.index else None
        if staged is None or isinstance(staged, ConflictedIndexEntry):
            if before is None and after is not None and not is_equal(tree, path, None, after) and look(repo, path) is not None:
                st = look(repo, path)
                if not stat.S_ISDIR(st.st_mode):
                    lost.append(path)
            elif before is not None and staged is None and after is not None:
                changed.append(path)
            continue
        now = (staged.mode, staged.sha)
        there = tree.entry(path, staged)
        if now == after and there in (after, None):
            continue
        if now != before or (there != before and there is not None):
            changed.append(path)
    if changed:
        raise overwritten(
            "Your local changes to the following files would be overwritten by",
            changed,
            what,
            "commit your changes or stash them",
        )
    if lost:
        raise overwritten("The following untracked working tree files would be overwritten by", lost, what, "move or remove them")


def overwritten(text, paths, what, advice):
    listed = "".join(f"\t{quote(path).decode()}\n" for path in paths)
    doing = {"checkout": "switch branches", "merge": "merge"}.get(what, what)
    return Failure(f"{text} {what}:\n{listed}Please {advice} before you {doing}.\nAborting", 1, "error: ")


def is_equal(tree, path, staged, entry):
    return tree.entry(path, staged) == entry


def keep_local(repo, old, new):
    """The files that a checkout of `new` leaves: those of the index that are the same in `old` and `new` stay as they are."""
    staged = repo.staged()
    wanted = dict(new)
    for path in {*old, *new, *staged}:
        if old.get(path) == new.get(path):
            if path in staged:
                wanted[path] = staged[path]
            else:
                wanted.pop(path, None)
    return dict(sorted(wanted.items()))


def refresh(repo):
    """Tells the index what files look like that are the same as before."""
    tree = Tree(repo)
    for path, staged in list(repo.index.items()):
        if isinstance(staged, ConflictedIndexEntry) or staged.mode == MODULE:
            continue
        st = look(repo, path)
        if st is not None and not tree.is_same(staged, st) and tree.entry(path, staged) == (staged.mode, staged.sha):
            repo.index[path] = make_entry(staged.mode, staged.sha, st)
