"""Idempotency keys: a call that must not happen twice is answered from memory when it is made again.

A key belongs to one capability and one request; with another request, or while the first call is under way, it is refused. Only
answers are kept, not failures: a call that failed may be tried again. What is kept is bounded; the oldest are forgotten first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

KEY_CHARS_MAX = 200
ANSWERS_MAX = 4096
ANSWERS_BYTES_MAX = 16 << 20
KEPT_NS = 24 * 3600 * 1_000_000_000


class KeyRefused(Exception):
    pass


@dataclass(slots=True, eq=False)
class _Answer:
    request_digest: str
    at_ns: int
    reply: bytes | None = None


class Answers:
    def __init__(self, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._answers: dict[str, _Answer] = {}
        self._bytes = 0

    def begin(self, key: object, request_digest: str) -> bytes | None:
        """The kept answer, or None: then the call is to be made, and `end` to be told. Raises `KeyRefused`."""
        if not (isinstance(key, str) and 0 < len(key) <= KEY_CHARS_MAX):
            raise KeyRefused(f"an idempotency key is a text of 1 to {KEY_CHARS_MAX} characters")
        now_ns = self._clock_ns()
        with self._lock:
            self._forget(now_ns)
            found = self._answers.get(key)
            if found is None:
                self._answers[key] = _Answer(request_digest, now_ns)
                return None
        if found.request_digest != request_digest:
            raise KeyRefused("this idempotency key was used for another request")
        if found.reply is None:
            raise KeyRefused("the call with this idempotency key is still under way")
        return found.reply

    def end(self, key: str, reply: bytes | None) -> None:
        """The call has ended, with an answer or, if `reply` is None, with a failure."""
        with self._lock:
            if reply is None:
                self._answers.pop(key, None)
            elif key in self._answers:
                self._answers[key].reply = reply
                self._bytes += len(reply)

    def _forget(self, now_ns: int) -> None:
        """INVARIANT: calls under way are not forgotten; their number is bounded by the capability's concurrency."""
        crowded = len(self._answers) >= ANSWERS_MAX or self._bytes > ANSWERS_BYTES_MAX
        for key, answer in list(self._answers.items()) if crowded or self._is_old(now_ns) else ():
            crowded = len(self._answers) >= ANSWERS_MAX or self._bytes > ANSWERS_BYTES_MAX
            if answer.reply is not None and (crowded or answer.at_ns < now_ns - KEPT_NS):
                self._bytes -= len(answer.reply)
                del self._answers[key]
            elif not crowded:
                break

    def _is_old(self, now_ns: int) -> bool:
        oldest = next(iter(self._answers.values()), None)
        return oldest is not None and oldest.at_ns < now_ns - KEPT_NS
