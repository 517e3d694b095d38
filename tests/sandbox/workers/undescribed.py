"""Which of our records msgspec has not described yet: those whose annotations it still has to read."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import msgspec

from sandbox.typescript.erase import Erased

OURS: Final = ("sandbox", "policy", "gateway", "hatchway", "__main__")


def undescribed() -> list[str]:
    """Their names. Afterwards no record that was undescribed can be decoded: its annotations mean nothing any more."""
    found, kinds = [Erased.__qualname__] if _is_undescribed(Erased) else [], list[type[Any]]([msgspec.Struct])
    while kinds:
        below = kinds.pop().__subclasses__()
        kinds += below
        found += [one.__qualname__ for one in below if one.__module__.partition(".")[0] in OURS and _is_undescribed(one)]
    return found


def _is_undescribed(kind: type[Any]) -> bool:
    fields = kind.__struct_fields__ if issubclass(kind, msgspec.Struct) else [one.name for one in dataclasses.fields(kind)]
    kind.__annotations__ = dict.fromkeys(fields, "a_name_that_means_nothing")
    try:
        msgspec.json.Decoder(kind)
    except NameError:
        return True
    return False
