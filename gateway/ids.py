"""Ids: UUIDv7 (RFC 9562), which sort by the time they were made, and the ids of sessions that `POST /v1/runs` makes for one run.

Rules: a caller may name a session `once-upon-a-time`; only the whole form of an id made here is one of a single run.
"""

from __future__ import annotations

import os
import re
import time
from typing import Final

ONCE: Final = "once-"
PAST_ONCE: Final = "once."
"""The first text that comes after every one that begins with `ONCE`."""
_FORM: Final = re.compile(re.escape(ONCE) + r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def uuid7(now_ms: int | None = None) -> str:
    stamp = (time.time_ns() // 1_000_000 if now_ms is None else now_ms) & ((1 << 48) - 1)
    chance = int.from_bytes(os.urandom(10), "big")
    value = (stamp << 80) | (0x7 << 76) | ((chance >> 64 & 0xFFF) << 64) | (0b10 << 62) | (chance & ((1 << 62) - 1))
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def single_id() -> str:
    """An id for such a session. They sort by the millisecond they were made in."""
    return ONCE + uuid7()


def is_single(session_id: str) -> bool:
    return _FORM.fullmatch(session_id) is not None
