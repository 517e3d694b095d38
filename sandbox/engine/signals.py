"""Shelter for guests: signals of the main thread wait while one runs.

A guest calls the host through ctypes callbacks. An exception raised *inside* one is caught there and ends the guest cleanly; one
raised at its very entry, before its first line, cannot be caught, and ctypes then returns a random number that the engine takes
for a pointer. Signal handlers raise there: Ctrl-C is enough. (A Python stack that is almost used up does too: see
`sandbox.engine.stacks`.)

THREAT[TM-ISO-CALLBACK]: every call into a guest happens inside `shelter`. A signal that arrives meanwhile is noted, the run is
asked to end, and the handler is called afterwards, where it may raise.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable
from operator import is_
from typing import Any, Final

_signal: Final = importlib.import_module("_signal")  # beneath `signal`, whose wrappers make enums and cost 50 µs a run

_SIGNALS: Final = tuple(
    int(getattr(_signal, f"SIG{name}"))
    for name in (
        "INT", "TERM", "HUP", "QUIT", "ALRM", "VTALRM", "PROF", "USR1", "USR2", "CHLD", "WINCH", "CONT", "TSTP", "IO",
    )
)  # fmt: skip
"""Those that programs handle. A signal that is handled by default, by C or not at all cannot raise."""
_main_thread: Final = threading.main_thread().ident
_getsignal: Final = _signal.getsignal
_setsignal: Final = _signal.signal


class _Known:
    """The handlers that were there last: they rarely change, and looking at each one in turn costs a warm call its tenth."""

    dispositions: list[Any] = []
    handlers: dict[int, Any] = {}


def _find_handlers() -> dict[int, Any]:
    """What is called for which signal, now."""
    # By identity: a handler's own idea of equality is not ours.
    if not _Known.dispositions or not all(map(is_, map(_getsignal, _SIGNALS), _Known.dispositions)):
        found = _Known.dispositions = list(map(_getsignal, _SIGNALS))
        _Known.handlers = {number: handler for number, handler in zip(_SIGNALS, found, strict=True) if callable(handler)}
    return _Known.handlers


class _Deferring:
    """Signals of the main thread wait until the guest is left. There is one: no stack has two guests on it."""

    __slots__ = ("_arrived", "_handlers", "_noting", "stop")

    def __init__(self) -> None:
        self.stop: Callable[[], None] = _ignore
        self._arrived: list[int] = []
        self._handlers: dict[int, Any] = {}
        self._noting = self._note

    def _note(self, number: int, frame: object) -> None:
        self._arrived.append(number)
        self.stop()

    def __enter__(self) -> None:
        self._handlers = _find_handlers()
        noting = self._noting
        try:
            for number in self._handlers:
                _setsignal(number, noting)
        except BaseException:  # one that came just before
            self._restore()
            raise

    def _restore(self) -> None:
        for number, handler in self._handlers.items():
            _setsignal(number, handler)

    def __exit__(self, *exc: object) -> None:
        self._restore()
        self.stop = _ignore
        if self._arrived:
            arrived, self._arrived = self._arrived, []
            for number in arrived:
                self._handlers[number](number, None)


def _ignore() -> None:
    pass


_open: Final = contextlib.nullcontext()
"""Other threads have no signals."""
_deferring: Final = _Deferring()


def shelter(stop: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
    """A context in which guests may run. `stop` is called when a signal arrives; it must not raise."""
    if threading.get_ident() != _main_thread:
        return _open
    _deferring.stop = stop
    return _deferring
