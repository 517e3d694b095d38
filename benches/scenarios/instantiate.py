"""Physical limits: what a session cannot be faster than on this machine with this engine.

A bare instance is a store and an instance of our module through our own calls, with nothing of ours mapped or set up;
the map is the copy-on-write view of the frozen image; a copy of 1 MB says what memory itself costs.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable

from benches.harness import Bench, Contender, Scenario
from benches.sessions import LANGUAGES, TITLES, ready


def bare_instance(language: str) -> Callable[[], None]:
    """Makes and frees one instance of a language's module. The image must be ready."""
    from sandbox.engine.wasmtime import Call, Instance
    from sandbox.guests.images import IMPORTS, images

    prepared = images.get(language).prepared
    call = Call([_never] * len(IMPORTS), lambda: None)

    def make() -> None:
        Instance(prepared, call).close()

    return make


def _never(*arguments: int) -> int:
    raise RuntimeError("an instance that is not called called the host")


def _map_image(language: str) -> Callable[[], None]:
    from sandbox.guests.images import images

    image = images.get(language)

    def make() -> None:
        mmap.mmap(image.descriptor, image.size_bytes, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE).close()

    return make


def _copy_1_mb() -> Callable[[], None]:
    size = 1 << 20
    source, target = ctypes.create_string_buffer(b"x" * size, size), ctypes.create_string_buffer(size)

    def copy() -> None:
        ctypes.memmove(target, source, size)

    return copy


def measure(bench: Bench) -> None:
    contenders = [Contender("memcpy of 1 MB", _copy_1_mb(), role="limit")]
    for language in LANGUAGES:
        why = ready(language)
        if why:
            bench.missing(f"{TITLES[language]}, bare instance", why)
            continue
        contenders.append(Contender(f"{TITLES[language]}, bare instance", bare_instance(language), role="limit"))
        contenders.append(Contender(f"{TITLES[language]}, map of the image", _map_image(language), role="limit"))
    bench.interleave(*contenders, repetitions=bench.count(300, 60))


SCENARIOS = [Scenario("instantiate", "physical limits: a bare instance, a mapping, a copy", measure, parts=1)]
