"""Jobs: a hook's program on its way into a sandbox, and what comes back. The port to whatever runs sandboxes.

Rules: `Forks.run` runs one program in a fork of a session and throws the fork away; it never raises for anything the program
does. One call, so that a fork in another process costs one message. Types only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from sandbox.wire import Language, SessionLimits


class Changes(msgspec.Struct, frozen=True):
    """What became of the files under /workspace; paths are absolute. Removals come first when applied, then directories,
    files, links."""

    files: dict[str, bytes] = {}
    directories: tuple[str, ...] = ()
    links: dict[str, str] = {}
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.directories or self.links or self.removed)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """`module` is set for wasm, `language` and `code` for everything else.

    `letter` is the payload's file, which is no change of the hook's; `changes` are files that earlier hooks of the same
    firing left.
    """

    language: Language | None = None
    code: str = ""
    module: bytes = b""
    filename: str
    stdin: bytes
    env: Mapping[str, str]
    letter: tuple[str, bytes]
    changes: tuple[Changes, ...] = ()
    limits: SessionLimits
    uses: tuple[str, ...] = ()


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """`failure` says why there is no ordinary end: the program was refused, broke off, or met a limit."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    is_late: bool = False
    is_cut: bool = False
    failure: str | None = None
    changes: Changes = Changes()


class Forks(Protocol):
    async def run(self, session_id: str, job: Job) -> Done: ...
