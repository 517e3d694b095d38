"""A repository as the commands use it: where it is, its objects, index, settings, and who commits.

How: dulwich reads and writes the formats. Objects are read up to a size, because what a repository says of itself may be a lie.
"""

import os
import stat
import struct
import time
import zlib

from _hatchway.git import dates
from _hatchway.git.base import Failure
from dulwich.config import ConfigFile, StackedConfig
from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    NotBlobError,
    NotCommitError,
    NotGitRepository,
    NotTagError,
    NotTreeError,
    ObjectFormatException,
    PackedRefsException,
    RefFormatError,
)
from dulwich.file import FileLocked
from dulwich.index import ConflictedIndexEntry, Index, IndexEntry, UnsupportedIndexFormat
from dulwich.object_store import PackInputTooLarge
from dulwich.objects import Blob, Commit, ShaFile, Tag, Tree
from dulwich.pack import UnresolvedDeltas
from dulwich.refs import SymrefLoop
from dulwich.repo import InvalidWorktreeConfiguration, Repo, UnsupportedExtension, UnsupportedVersion

BROKEN = (
    ApplyDeltaError, AssertionError, ChecksumMismatch, FileFormatException, IndexError, InvalidWorktreeConfiguration, KeyError,
    NotBlobError, NotCommitError, NotTagError, NotTreeError, ObjectFormatException, OverflowError, PackInputTooLarge,
    PackedRefsException, RecursionError, RefFormatError, SymrefLoop, TypeError, UnresolvedDeltas, UnsupportedExtension,
    UnsupportedIndexFormat, UnsupportedVersion, ValueError, struct.error, zlib.error, EOFError, AttributeError, ImportError,
)  # fmt: skip
"""What dulwich raises at data that is not as it should be."""
OBJECT_BYTES_MAX = 64 << 20
DEPTH_MAX = 500
NO_REPOSITORY = "not a git repository (or any of the parent directories): .git"
TREE, LINK, FILE, PROGRAM, MODULE = 0o40000, 0o120000, 0o100644, 0o100755, 0o160000
UNKNOWN_PERSON = (
    "Author identity unknown\n\n*** Please tell me who you are.\n\nRun\n\n"
    '  git config --global user.email "you@example.com"\n  git config --global user.name "Your Name"\n\n'
    "to set your account's default identity.\nOmit --global to set the identity only in this repository.\n\n"
)


class Repository:
    def __init__(self, root, git_dir=None, work_tree=None):
        self.repo = Repo(root) if git_dir is None else Repo(root=work_tree, controldir=git_dir, worktree=work_tree)
        self.git_dir = os.fsencode(os.path.abspath(self.repo.controldir()))
        self.is_bare = self.repo.bare and not work_tree
        self.root = None if self.is_bare else os.fsencode(os.path.abspath(self.repo.path))
        self.store, self.refs = self.repo.object_store, self.repo.refs
        self.store.loose_object_size_limit = OBJECT_BYTES_MAX
        self.config = read_settings(self.repo.get_config())
        self._index = None
        self._trees = {}

    @property
    def folder(self):
        """Where the program is, as a path of the work tree."""
        if self.root is None:
            return b""
        here = os.path.realpath(os.getcwdb())
        root = os.path.realpath(self.root)
        return here[len(root) :].strip(b"/") if (here + b"/").startswith(root.rstrip(b"/") + b"/") else b""

    def need_work_tree(self):
        if self.root is None:
            raise Failure("this operation must be run in a work tree")

    def place(self, path):
        return os.path.join(self.root, path)

    # ---- objects ----

    def read(self, name, kind=None):
        """An object. Its class, if it has to be of one."""
        name = bytes(name)
        try:
            found = self.store[name]
        except KeyError:
            raise Failure(f"unable to read {name.decode('ascii', 'replace')}") from None
        if kind is not None and not isinstance(found, kind):
            told = {Commit: "commit", Tree: "tree", Blob: "blob", Tag: "tag"}[kind]
            raise Failure(f"object {name.decode()} is a {found.type_name.decode()}, not a {told}")
        return found

    def commit(self, name):
        return self.read(name, Commit)

    def blob(self, name):
        return self.read(name, Blob).data

    def add(self, thing: ShaFile):
        self.store.add_object(thing)
        return thing.id

    def add_blob(self, data):
        return self.add(Blob.from_string(data))

    def parents(self, name):
        return self.repo.get_parents(name)

    def tree_items(self, name):
        return [(item.path, item.mode, item.sha) for item in self.read(name, Tree).iteritems()]

    def files(self, tree):
        """All files of a tree: {path: (mode, name)}."""
        if tree is None:
            return {}
        if tree not in self._trees:
            found, todo = {}, [(b"", tree, 0)]
            while todo:
                before, name, depth = todo.pop()
                if depth > DEPTH_MAX:
                    raise Failure(f"the tree {tree.decode()} has folders more than {DEPTH_MAX} deep")
                for path, mode, inner in self.tree_items(name):
                    if stat.S_ISDIR(mode):
                        todo.append((before + path + b"/", inner, depth + 1))
                    else:
                        found[before + path] = (mode, inner)
            self._trees[tree] = dict(sorted(found.items()))
        return self._trees[tree]

    def write_tree(self, files):
        """The tree of {path: (mode, name)}."""
        folders = {b"": Tree()}
        for path in files:
            parts = path.split(b"/")
            for i in range(1, len(parts)):
                folders.setdefault(b"/".join(parts[:i]), Tree())
        for path, (mode, name) in files.items():
            folder, _, last = path.rpartition(b"/")
            folders[folder].add(last, mode, name)
        for path in sorted(folders, key=lambda one: -one.count(b"/") - bool(one)):
            name = self.add(folders[path])
            if path:
                folder, _, last = path.rpartition(b"/")
                folders[folder].add(last, TREE, name)
        return folders[b""].id

    # ---- index ----

    @property
    def index(self):
        if self._index is None:
            path = os.environ.get("GIT_INDEX_FILE") or os.path.join(os.fsdecode(self.git_dir), "index")
            try:
                self._index = Index(path)
            except BROKEN as error:
                raise Failure(f"index file corrupt: {error}") from None
            self._index._extensions = []
        return self._index

    def write_index(self):
        self.index.write()

    def staged(self):
        """Files of the index without conflicts: {path: (mode, name)}."""
        return {
            path: (entry.mode, entry.sha)
            for path, entry in sorted(self.index.items())
            if not isinstance(entry, ConflictedIndexEntry)
        }

    def unmerged(self):
        return sorted(path for path, entry in self.index.items() if isinstance(entry, ConflictedIndexEntry))

    def stage(self, path, mode, name, st=None):
        """Puts a file into the index, with what a look at the one in the work tree said. Whatever is in its way there leaves."""
        for other in [path[:i] for i, byte in enumerate(path) if byte == 47]:
            if other in self.index:
                del self.index[other]
        self.index[path] = make_entry(mode, name, st)

    # ---- names ----

    def head(self):
        """The commit, or None before the first."""
        try:
            return self.refs[b"HEAD"]
        except KeyError:
            return None

    def head_tree(self):
        head = self.head()
        return None if head is None else self.commit(head).tree

    def branch(self):
        """The full name of the branch that is checked out, or None."""
        head = self.refs.read_loose_ref(b"HEAD") or b""
        return head[5:].strip() if head.startswith(b"ref: ") else None

    def branch_name(self):
        name = self.branch()
        return None if name is None else short(name)

    def set_ref(self, name, new, message, old=None):
        """`HEAD` moves the branch that it names."""
        at = self.branch() if name == b"HEAD" else name
        before = None
        try:
            before = self.refs[name]
        except KeyError:
            pass
        try:
            if name == b"HEAD" and at is None:
                path = os.path.join(self.git_dir, b"HEAD")
                with open(path, "wb") as file:
                    file.write(new + b"\n")
            else:
                self.refs.set_if_equals(at, None, new)
        except (NotADirectoryError, IsADirectoryError):
            raise Failure(f"cannot lock ref '{at.decode()}': there is a branch with a part of that name") from None
        zero = b"0" * 40
        if at is not None and keeps_log(at):
            self.log(at, before or zero, new, message)
        if name == b"HEAD" or at == self.branch():
            self.log(b"HEAD", before or zero, new, message)

    def set_head(self, target, message, old, new):
        """Check out: `target` is a branch's full name, or a commit."""
        with open(os.path.join(self.git_dir, b"HEAD"), "wb") as file:
            file.write((b"ref: " if target.startswith(b"refs/") else b"") + target + b"\n")
        if new is not None:
            self.log(b"HEAD", old or b"0" * 40, new, message)

    def log(self, name, old, new, message):
        if self.is_bare:
            return
        path = os.path.join(self.git_dir, b"logs", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        who, at, zone = self.person("COMMITTER", is_needed=False)
        line = b"%b %b %b %d %b\t%b\n" % (old, new, who, at, dates.zone_text(zone).encode(), os.fsencode(message).split(b"\n")[0])
        with open(path, "ab") as file:
            file.write(line)

    def read_log(self, name):
        """What a ref was, newest first: (old, new, person, message)."""
        try:
            with open(os.path.join(self.git_dir, b"logs", name), "rb") as file:
                lines = file.read().splitlines()
        except OSError:
            return []
        found = []
        for line in reversed(lines):
            head, _, message = line.partition(b"\t")
            words = head.split(b" ", 2)
            if len(words) == 3:
                found.append((words[0], words[1], words[2], message))
        return found

    def person(self, role, is_needed=True):
        """Name with address, seconds and zone of AUTHOR or COMMITTER."""
        name = os.environ.get(f"GIT_{role}_NAME") or self.setting("user.name")
        address = os.environ.get(f"GIT_{role}_EMAIL") or self.setting("user.email") or os.environ.get("EMAIL")
        if is_needed and (not name or not address):
            raise Failure("unable to auto-detect email address (got 'user@hatchway.(none)')", prefix=UNKNOWN_PERSON + "fatal: ")
        given = os.environ.get(f"GIT_{role}_DATE")
        at, zone = dates.read_or_fail(given) if given else (int(time.time()), 0)
        clean = [part.translate(None, b"<>\n") for part in (os.fsencode(name or "user"), os.fsencode(address or ""))]
        return b"%b <%b>" % tuple(clean), at, zone

    def setting(self, name, default=None):
        section, _, key = name.rpartition(".")
        kind, _, inner = section.partition(".")
        where = (kind.encode(), os.fsencode(inner)) if inner else (kind.encode(),)
        try:
            return os.fsdecode(self.config.get(where, key.encode()))
        except KeyError:
            return default

    def is_set(self, name, default=False):
        found = self.setting(name)
        return default if found is None else found.lower() in ("true", "yes", "on", "1", "")

    def hint(self, name, text):
        return text if self.is_set(f"advice.{name}", True) else ""


def keeps_log(name):
    return name == b"HEAD" or name.startswith((b"refs/heads/", b"refs/remotes/", b"refs/notes/"))


def short(name):
    for before in (b"refs/heads/", b"refs/tags/", b"refs/remotes/", b"refs/"):
        if name.startswith(before):
            return name[len(before) :]
    return name


def make_entry(mode, name, st=None):
    if st is None:
        return IndexEntry(0, 0, 0, 0, mode, 0, 0, 0, name)
    ctime, mtime = divmod(st.st_ctime_ns, 10**9), divmod(st.st_mtime_ns, 10**9)
    inode = st.st_ino & 0xFFFFFFFF
    return IndexEntry(ctime, mtime, st.st_dev & 0xFFFFFFFF, inode, mode, st.st_uid, st.st_gid, st.st_size & 0xFFFFFFFF, name)


OVERRIDES = []
"""Settings of the command line (`-c name=value`)."""


def settings_path():
    return os.environ.get("GIT_CONFIG_GLOBAL") or os.path.join(os.environ.get("HOME", "/workspace"), ".gitconfig")


def read_settings(own=None):
    files = [own] if own is not None else []
    for path in (settings_path(), "/etc/gitconfig"):
        try:
            files.append(ConfigFile.from_path(path))
        except OSError:
            pass
        except ValueError as error:
            raise Failure(f"bad config file {path}: {error}") from None
    if OVERRIDES:
        given = ConfigFile()
        for word in OVERRIDES:
            name, equals, value = word.partition("=")
            section, _, key = name.rpartition(".")
            kind, _, inner = section.partition(".")
            where = (kind.encode(), inner.encode()) if inner else (kind.encode(),)
            given.set(where, key.encode(), os.fsencode(value) if equals else b"true")
        files.insert(0, given)
    return StackedConfig(files)


def find():
    """The repository that the program is in."""
    git_dir = os.environ.get("GIT_DIR")
    try:
        if git_dir:
            if not os.path.isdir(os.path.join(git_dir, "objects")):
                raise Failure(f"not a git repository: '{git_dir}'")
            tree = os.environ.get("GIT_WORK_TREE") or (None if git_dir.endswith(".git") and git_dir != ".git" else ".")
            return Repository(None, git_dir, tree)
        here = os.getcwd()
        while True:
            if os.path.exists(os.path.join(here, ".git")) or is_git_dir(here):
                if os.path.basename(here) == ".git":
                    return Repository(None, here, None)
                return Repository(here)
            if here == "/":
                raise Failure(NO_REPOSITORY)
            here = os.path.dirname(here)
    except NotGitRepository:
        raise Failure(NO_REPOSITORY) from None
    except UnsupportedVersion as error:
        raise Failure(f"Expected git repo version <= 1, found {error.version}") from None
    except UnsupportedExtension as error:
        raise Failure(f"unknown repository extension found:\n\t{error}") from None


def is_git_dir(path):
    return os.path.isfile(os.path.join(path, "HEAD")) and all(os.path.isdir(os.path.join(path, d)) for d in ("objects", "refs"))


__all__ = ["FileLocked"]
