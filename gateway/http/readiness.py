"""Readiness of languages: their images are compiled beside the service, and it says how far that is.

Rules: compiling takes one to two minutes and a gigabyte once per machine, so it happens in a process of its own, one guest after
the other, the quick ones first. The service listens meanwhile; a run in a language that is not ready is told so.

Run as `python -m gateway.http.readiness GUEST` this is that process: it prints a number from 0 to 1 a line.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from gateway.http.health import LanguageState

GUESTS: Final = {"shell": ("shell",), "javascript": ("javascript", "type_script"), "python": ("python",)}
"""The guests in the order they are prepared, and the languages each gives."""
Progress = Callable[[str, float], None]
OnReady = Callable[[], Awaitable[None]]
_log = logging.getLogger("hatchway.readiness")


class Images:
    """A `ReadinessPort` over the compiled guests."""

    def __init__(self) -> None:
        self._states = {guest: LanguageState(ready=False) for guest in GUESTS}

    def languages(self) -> Mapping[str, LanguageState]:
        return {language: self._states[guest] for guest, languages in GUESTS.items() for language in languages}

    async def prepare(self, progress: Progress = lambda guest, done: None, on_ready: OnReady | None = None) -> None:
        """Compiles what is missing. `progress` hears of each step; `on_ready` is called before a language is said to be ready."""
        for guest in GUESTS:
            if await asyncio.to_thread(_is_ready, guest):
                self._states[guest] = LanguageState(ready=True, progress=1.0)
                continue
            try:
                await self._compile(guest, progress)
                if on_ready is not None:
                    await on_ready()
                self._states[guest] = LanguageState(ready=True, progress=1.0)
            except Exception:
                _log.exception("the guest %s could not be prepared", guest)
                self._states[guest] = LanguageState(ready=False, problem="it could not be compiled; the log says why")

    async def _compile(self, guest: str, progress: Progress) -> None:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gateway.http.readiness",
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
    from sandbox.images import images

    return images.is_ready(guest)


def main() -> None:
    from sandbox.images import images

    images.get(sys.argv[1], progress=lambda what, done: print(f"{min(done, 0.999):.3f}", flush=True))


if __name__ == "__main__":
    main()
