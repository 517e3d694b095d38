"""Bindings: which directories a session may read and write, held by descriptors and enforced by the kernel.

Rules: a path of a caller only chooses the root it starts from; from there the kernel resolves it (`beneath`), links included.
Writes and working directories are in the workspace, or in a mount that is writable; reads may also be in the read roots. Roots
are opened once: replacing a directory by another afterwards changes nothing.

Knows local directories. Does not know processes.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gateway.errors import GatewayError
from gateway.runners import beneath, errors
from gateway.runners.secret_refs import check_config
from gateway.runners.wire import MAX_FILE_BYTES, Binding

MAX_READ_ROOTS = 32
WORKSPACE = "/workspace"
T = TypeVar("T")


def check_binding(binding: Binding) -> None:
    """A binding is persisted, so it carries no secret; its roots are absolute."""
    check_config(binding.destination.config)
    if len(binding.read_roots) > MAX_READ_ROOTS:
        raise errors.invalid(f"a binding has at most {MAX_READ_ROOTS} read roots")
    for what, root in [("workspace", binding.workspace), *(("read root", root) for root in binding.read_roots)]:
        if not root.startswith("/") or "\0" in root or ".." in root.split("/"):
            raise errors.invalid(f"runner {what} must be an absolute path")
    if make_relative(WORKSPACE, binding.workspace) is None:
        raise errors.outside(binding.workspace, WORKSPACE)


def refusal(refused: beneath.Refused, path: str, name: str, limit_bytes: int = MAX_FILE_BYTES) -> GatewayError:
    """The contract's error for a refusal of `beneath`."""
    if refused.kind == "outside":
        return errors.outside(path, name)
    if refused.kind == "missing":
        return errors.absent(path)
    if refused.kind == "kind":
        return errors.not_a_file(path)
    if refused.kind == "full":
        return errors.not_a_file(path, "is a directory that has entries")
    if refused.kind == "links":
        return errors.not_a_file(path, "has other names (hard links), which may lie outside")
    if refused.kind == "large":
        return errors.too_large(f"path {path[:200]}", limit_bytes)
    return errors.unavailable(f"path {path[:200]!r} could not be used")


class Root:
    """A directory that is held open for as long as it is used: a number that were reused could mean another place."""

    __slots__ = ("descriptor", "host_path", "leaf", "prefix", "writable")

    def __init__(self, prefix: str, descriptor: int, writable: bool, leaf: str = "") -> None:
        self.descriptor = descriptor
        self.prefix = prefix.rstrip("/") or "/"
        """How callers name it: absolute for roots, below the workspace for mounts."""
        self.host_path = os.readlink(f"/proc/self/fd/{descriptor}")
        self.writable = writable
        self.leaf = leaf
        """The file in it that the prefix itself means, if that is a file."""

    @classmethod
    def open(cls, path: str, bases: Sequence[Path], *, writable: bool) -> Root:
        """A directory in one of the operator's, whatever links are on the way: the kernel sees to it in the step that opens."""
        for base in bases:
            below = make_relative(str(base), path)
            if below is None:
                below = make_relative(os.path.realpath(base), path)
            if below is not None:
                return cls(path, open_below(base, below), writable)
        raise errors.outside(path, "of this gateway")

    def __del__(self) -> None:
        os.close(self.descriptor)


def open_below(base: Path, below: str, *, make: bool = False) -> int:
    """A descriptor of a directory in the operator's, made if it is not there."""
    try:
        top = beneath.open_root(str(base))
    except OSError:
        raise errors.unavailable("the operator's directory for runners is not there") from None
    try:
        return beneath.make_directory(top, below) if make else beneath.resolve(top, below, os.O_PATH | os.O_DIRECTORY)
    except beneath.Refused as refused:
        raise refusal(refused, below, "of this gateway") from None
    finally:
        os.close(top)


class Roots:
    """A workspace, its mounts and its read roots. `name` is what errors call the workspace."""

    def __init__(self, workspace: Root, name: str, read_roots: Sequence[Root] = ()) -> None:
        self.name, self.workspace, self.read_roots = name, workspace, list(read_roots)
        self.mounts: list[Root] = []

    def mount(self, path: str, host_path: str, writable: bool, leaf: str = "") -> None:
        self.mounts.append(Root(path, beneath.open_root(host_path), writable, leaf))

    def _choose(self, path: str, writing: bool) -> tuple[Root, str]:
        if not path:
            raise errors.path_required()
        if "\0" in path:
            raise errors.invalid("path must not contain NUL")
        below = _make_relative(path, self.workspace)
        if below is None:
            roots = [] if writing else self.read_roots
            for root in roots:
                found = _make_relative(path, root)
                if found is not None:
                    return root, found
            raise errors.outside(path, self.name)
        named = posixpath.normpath(below)
        for mount in self.mounts:
            if named == mount.prefix or named.startswith(mount.prefix + "/"):
                if writing and not mount.writable:
                    raise errors.read_only(path)
                return mount, named[len(mount.prefix) :].lstrip("/") or mount.leaf
        return self.workspace, below

    def _do(self, path: str, writing: bool, action: Callable[[Root, str], T]) -> T:
        root, below = self._choose(path, writing)
        try:
            return action(root, below)
        except beneath.Refused as refused:
            raise refusal(refused, path, self.name) from None

    def perform(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        """A file operation (`beneath.answer`)."""
        if verb == "move":
            goal, options["target"] = self._choose(options["target"], True)
            if goal is not self._choose(path, True)[0]:
                raise errors.invalid("what is in a mount cannot be moved out of it, and nothing into it", "write it there")
        if verb in ("move", "delete"):
            named = posixpath.normpath(_make_relative(path, self.workspace) or ".")
            if any(mount.prefix.startswith(named + "/") for mount in self.mounts):
                raise errors.read_only(path)
        request = {"verb": verb, "limit": MAX_FILE_BYTES, **options}
        writing = verb not in ("read", "list", "stat")
        return self._do(path, writing, lambda root, below: beneath.answer(root.descriptor, {**request, "path": below}, contents))

    def read(self, path: str) -> bytes:
        return self.perform("read", path)

    def write(self, path: str, contents: bytes) -> None:
        self.perform("write", path, contents)

    def find_directory(self, path: str) -> str:
        """A working directory as a path below the workspace: in it or a mount, never in a read root."""
        below = _make_relative(path, self.workspace) if path else "."
        if below is None:
            raise errors.outside(path, self.name)
        if not self._do(path, False, lambda root, inside: beneath.is_directory(root.descriptor, inside)):
            raise errors.invalid("cwd is not a directory")
        return below


def _make_relative(path: str, root: Root) -> str | None:
    """`path` as seen from `root`, if it starts there. Says nothing about where it leads."""
    return make_relative(root.prefix, path) if path.startswith("/") else path if root.writable else None


def make_relative(top: str, path: str) -> str | None:
    """An absolute path as seen from the directory `top`, if it starts with it."""
    if path.rstrip("/") == top.rstrip("/"):
        return "."
    if path.startswith(top.rstrip("/") + "/"):
        return path[len(top.rstrip("/")) + 1 :].lstrip("/") or "."
    return None
