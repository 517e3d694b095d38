"""Descriptions: what each record looks like, found out before there are threads that decode it.

msgspec describes a type when it is first decoded, and shows the description to all threads before it is complete. A second one
that decodes the same type at that moment follows a pointer that is not there yet, and the whole process dies. Sessions meet
exactly so: when a worker has died, those it had are opened again at once, on several threads of a process that is new.
"""

from __future__ import annotations

import msgspec

from sandbox.typescript.erase import Erased


def describe_records() -> None:
    msgspec.json.Decoder(Erased)
    kinds: list[type[msgspec.Struct]] = [msgspec.Struct]
    while kinds:
        found = kinds.pop().__subclasses__()
        kinds += found
        for kind in found:
            try:
                msgspec.json.Decoder(kind)
            except Exception:
                continue  # some library's, or some test's, that cannot be decoded
