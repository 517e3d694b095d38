"""Spares: sandboxes started ahead of time, so that an aside finds one waiting.

A spare is a session with a started interpreter that has run nothing, and an empty filesystem; it becomes a fork of a session when
that session's files are put under it. INVARIANT: a spare is used once. Rules: one spare for each language that asides have used,
made after an aside is answered. Does not know: what is run.
"""

from __future__ import annotations

import contextlib
import threading
import time

from sandbox.capabilities.registry import Registry
from sandbox.engine.wasmtime import NativeError
from sandbox.errors import SandboxError
from sandbox.filesystem.inode_table import Checkpoint, VfsLimits
from sandbox.guests.images import Images
from sandbox.guests.state import SessionState
from sandbox.sessions.session import Session
from sandbox.wire import Language, SessionLimits


class Fork(Session):
    """A session that can be started before it is known whose files it will have."""

    def warm(self) -> None:
        self._guest(self.language, None)

    def become(self, files: Checkpoint, quotas: VfsLimits, limits: SessionLimits, registry: Registry) -> None:
        """Take over a session's files, and nothing else of it."""
        self.limits = limits
        self.registry = registry
        self.vfs.limits = quotas
        self.vfs.rollback(files)


class Spares:
    """Thread-safe. Used forks are kept for a moment: taking one down is nothing a run should wait for."""

    def __init__(self, store: Images) -> None:
        self._images = store
        self._waiting: dict[Language, Fork] = {}
        self._used: list[Fork] = []
        self._wanted: set[Language] = set()
        self._closed = False
        self._lock = threading.Lock()

    def take(self, language: Language | None) -> Fork:
        """None is for programs that bring their own interpreter: files only."""
        if language is None:
            return self._make(Language.SHELL)
        with self._lock:
            spare = self._waiting.pop(language, None)
            self._wanted.add(language)
        return spare or self._make(language)

    def put_away(self, fork: Fork) -> None:
        with self._lock:
            self._used.append(fork)

    def tidy(self) -> None:
        """Take used forks down, and make spares of what was used. A spare that cannot be made is no loss: the next aside tries
        again, and says why it failed."""
        with self._lock:
            used, self._used = self._used, []
            missing, self._wanted = self._wanted - self._waiting.keys(), set()
        for fork in used:
            fork.close()
        for language in missing if not self._closed else ():
            with contextlib.suppress(SandboxError, NativeError, OSError):
                self._keep(self._make(language))

    def _keep(self, made: Fork) -> None:
        made.warm()
        with self._lock:
            extra = made if self._closed else self._waiting.get(made.language)
            if extra is not made:
                self._waiting[made.language] = made
        if extra is not None:
            extra.close()

    def _make(self, language: Language) -> Fork:
        state = SessionState(language, self._images.files(), time.monotonic_ns(), {})
        return Fork("aside", language=language, state=state, store=self._images)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            spares, self._waiting = list(self._waiting.values()), {}
        for spare in spares:
            spare.close()
        self.tidy()
