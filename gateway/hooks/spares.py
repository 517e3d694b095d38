"""Spares: sandboxes started ahead of time, so that a hook finds one waiting.

A spare is a session with a started interpreter that has run nothing and an empty filesystem; it becomes a fork of a session
when that session's files are put under it. INVARIANT: a spare is used once. Rules: one spare per language that hooks have
used, made after a hook is answered and not while one waits. Does not know: hooks.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Final

import msgspec

from sandbox.capabilities import Registry
from sandbox.images import Images, images
from sandbox.limits import Run
from sandbox.session import Session
from sandbox.states import SessionState
from sandbox.wire import Language, RunRequest, SessionLimits

_USED_MAX: Final = 16
_encode = msgspec.json.Encoder().encode


class HookSession(Session):
    """A session whose turns get an environment (ABI.md: `env`), which requests of ordinary runs do not carry."""

    env: Mapping[str, str] = {}

    def _request(self, request: RunRequest, code: str, name: str, run: Run) -> bytes:
        return super()._request(request, code, name, run)[:-1] + b',"env":' + _encode(self.env) + b"}"

    def warm(self) -> None:
        self._guest(self.language, None)

    def become_fork(self, session: Session, limits: SessionLimits, registry: Registry) -> None:
        """Take over the session's files as they are now, and nothing else of it."""
        self.limits = limits
        self.registry = registry
        self.vfs.limits = session.vfs.limits
        self.vfs.rollback(session.vfs.checkpoint())


class Spares:
    """Thread-safe. Used forks are kept for a moment too: taking one down is nothing anybody should wait for."""

    def __init__(self, store: Images = images) -> None:
        self._store = store
        self._waiting: dict[Language, HookSession] = {}
        self._used: deque[HookSession] = deque()
        self._wanted: set[Language] = set()
        self._lock = threading.Lock()

    def take(self, language: Language | None) -> HookSession:
        """None is for programs that bring their own interpreter: files only."""
        if language is None:
            return self._make(Language.SHELL)
        with self._lock:
            spare = self._waiting.pop(language, None)
            self._wanted.add(language)
        return spare or self._make(language)

    def put_away(self, fork: HookSession) -> None:
        with self._lock:
            self._used.append(fork)
            oldest = self._used.popleft() if len(self._used) > _USED_MAX else None
        if oldest is not None:
            oldest.close()

    def is_untidy(self) -> bool:
        return bool(self._used or self._wanted)

    def tidy(self) -> None:
        """Take used forks down, and make spares of what was used."""
        with self._lock:
            used, self._used = self._used, deque()
            missing, self._wanted = self._wanted - self._waiting.keys(), set()
        for fork in used:
            fork.close()
        for language in missing:
            made = self._make(language)
            made.warm()
            with self._lock:
                extra, self._waiting[language] = self._waiting.get(language), made
            if extra is not None:
                extra.close()

    def _make(self, language: Language) -> HookSession:
        state = SessionState(language, self._store.files(), time.monotonic_ns(), {})
        return HookSession("hook", language=language, state=state, store=self._store)

    def close(self) -> None:
        self.tidy()
        for spare in self._waiting.values():
            spare.close()
        self._waiting = {}
