"""Plain JSON: whether a value means the same to a program as to its sender.

The encoder writes NaN and Infinity as null, bytes as base64, and keys that are numbers as texts, without a word. What programs
are given is therefore looked through: None, booleans, whole numbers, finite floats, texts, lists, and mappings whose keys are
texts. What the encoder turns into these (a dataclass, a struct, a date) counts as what it becomes. A value is looked at after it
was encoded: then it is no larger than it may be, and has no cycle.
"""

from __future__ import annotations

import math
from types import NoneType
from typing import Any, Final

import msgspec

_LEAVES: Final = frozenset({str, int, bool, NoneType})
_BYTES: Final = (bytes, bytearray, memoryview)
_LONG: Final = 32
_is_finite: Final = math.isfinite


def objection(value: Any) -> str | None:
    """Why the value is not plain JSON; None if it is."""
    if type(value) in _LEAVES:
        return None
    pending = [value]
    for item in pending:
        kind = type(item)
        if kind is dict:
            for key, part in item.items():
                if type(key) is not str and not isinstance(key, str):
                    return f"a key must be text, not {type(key).__name__}"
                if type(part) not in _LEAVES:
                    pending.append(part)
        elif kind is list or kind is tuple:
            if len(item) < _LONG or not _is_flat(item):
                pending += [part for part in item if type(part) not in _LEAVES]
        elif kind is float:
            if not _is_finite(item):
                return f"{item} is not a number that JSON has"
        elif issubclass(kind, _BYTES):
            return f"it has {kind.__name__}, which are not text"
        else:
            became = msgspec.to_builtins(item, builtin_types=_BYTES)
            if type(became) is not kind:
                pending.append(became)
    return None


def explain_unencodable(error: Exception) -> str:
    """What the encoder found wrong, in words for the value's sender."""
    if isinstance(error, UnicodeEncodeError):
        return "it has text that is not valid Unicode"
    if isinstance(error, RecursionError):
        return "it has a cycle, or is nested too deeply"
    if isinstance(error, ValueError | OverflowError):
        return "it has a number with too many digits"
    return "a key must be text" if "keys are supported" in str(error) else str(error)


def _is_flat(items: list[Any] | tuple[Any, ...]) -> bool:
    """Nothing but texts and finite numbers?"""
    kinds = set(map(type, items))
    return kinds <= _LEAVES or (kinds == {float} and all(map(_is_finite, items)))
