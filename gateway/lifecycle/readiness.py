"""Readiness of languages: their images are compiled in a child process, and the service says how far that is.

Rules: compiling takes one to two minutes and a gigabyte once per machine, so it happens in a process of its own, one guest after
the other, the quick ones first. The service listens meanwhile; a caller that asks for a language that is not ready is told so
(`require`), with how far it is and when to come back.

Run as `python -m gateway.lifecycle.readiness GUEST` this is that process: it prints a number from 0 to 1 a line.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from gateway.errors import Unavailable
from sandbox import languages
from sandbox.languages import GUEST_OF
from sandbox.wire import Language

GUESTS: Final = {
    guest: tuple(language.value for language, its_guest in GUEST_OF.items() if its_guest == guest)
    for guest in reversed(languages.GUESTS)
}
"""The guests in the order they are prepared, and the languages each gives."""
LONGEST_S: Final = 60.0
"""The most that a caller is told to wait before asking again."""
Progress = Callable[[str, float], None]
OnReady = Callable[[], Awaitable[None]]
_log = logging.getLogger("hatchway.readiness")


class LanguageState(msgspec.Struct, frozen=True, kw_only=True):
    """`progress` goes from 0 to 1; `problem` says why there is none, in words fit for every caller."""

    ready: bool
    progress: float = 0.0
    problem: str | None = None


class Preparation:
    """Where nothing is to be prepared."""

    def languages(self) -> Mapping[str, LanguageState]:
        return {}

    def require(self, language: Language) -> None:
        """Raises `Unavailable` if the language cannot be used yet."""


class Images(Preparation):
    """Of the compiled guests."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._states = {guest: LanguageState(ready=False) for guest in GUESTS}
        self._guest_of = {language: guest for guest, languages in GUESTS.items() for language in languages}
        self._began_s = dict[str, float]()

    def languages(self) -> Mapping[str, LanguageState]:
        return {language: self._states[guest] for language, guest in self._guest_of.items()}

    def require(self, language: Language) -> None:
        guest = self._guest_of[language.value]
        state = self._states[guest]
        if state.ready:
            return
        ready = [name for name, one in self.languages().items() if one.ready]
        hint = "see /readyz" + (f"; ready now: {', '.join(ready)}" if ready else "")
        if state.problem is not None:
            raise Unavailable("NOT_READY", f"{language.value} cannot be used here: {state.problem}", hint, retry_after_ms=60_000)
        how_far = f"is being compiled: {state.progress:.0%}" if guest in self._began_s else "will be compiled soon"
        wait_ms = int(self._estimate_left_s(guest, state.progress) * 1000)
        raise Unavailable("NOT_READY", f"{language.value} {how_far}", hint, retry_after_ms=wait_ms)

    def _estimate_left_s(self, guest: str, progress: float) -> float:
        began_s = self._began_s.get(guest)
        if began_s is None or progress <= 0:
            return LONGEST_S / 2
        return min(LONGEST_S, 1 + (self._clock_s() - began_s) * (1 - progress) / progress)

    async def look(self) -> None:
        """What is there already is ready at once."""
        for guest in GUESTS:
            if await asyncio.to_thread(_is_ready, guest):
                self._states[guest] = LanguageState(ready=True, progress=1.0)

    async def prepare(self, progress: Progress = lambda guest, done: None, on_ready: OnReady | None = None) -> None:
        """Compiles what is missing. `progress` hears of each step; `on_ready` is called before a language is said to be ready. At
        last the kernel gathers the images that were there: since the machine's start it may have read them in small pieces."""
        await self.look()
        found = [guest for guest, state in self._states.items() if state.ready]
        for guest in [guest for guest in self._states if guest not in found]:
            try:
                await self._compile(guest, progress)
                if on_ready is not None:
                    await on_ready()
                self._states[guest] = LanguageState(ready=True, progress=1.0)
            except Exception:
                _log.exception("the guest %s could not be prepared", guest)
                self._states[guest] = LanguageState(ready=False, problem="it could not be compiled; the log says why")
        for guest in found:
            await asyncio.to_thread(_gather, guest)

    async def _compile(self, guest: str, progress: Progress) -> None:
        self._began_s[guest] = self._clock_s()
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gateway.lifecycle.readiness",
            guest,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert child.stdout is not None and child.stderr is not None
        errors = asyncio.create_task(child.stderr.read())
        try:
            async for line in child.stdout:
                done = float(line)
                self._states[guest] = LanguageState(ready=False, progress=done)
                progress(guest, done)
            status = await child.wait()
        except asyncio.CancelledError:
            child.kill()
            await child.wait()
            raise
        finally:
            said = await errors
        if status != 0:
            raise RuntimeError(f"compiling {guest} ended with status {status}: {said.decode('utf-8', 'replace')[-2000:]}")
        progress(guest, 1.0)


def _is_ready(guest: str) -> bool:
    from sandbox.guests.images import images

    return images.is_ready(guest)


def _gather(guest: str) -> None:
    from sandbox.guests.images import images

    images.gather(guest)


def main() -> None:
    from sandbox.guests.images import images

    images.get(sys.argv[1], progress=lambda what, done: print(f"{min(done, 0.999):.3f}", flush=True))


if __name__ == "__main__":
    main()
