"""Stamps: an instant as text, `2026-01-01T00:00:00.000Z`, for logs, hooks and programs.

The text of a second is kept: most instants that are written fall into the one before."""

from __future__ import annotations

import time
from functools import lru_cache


def stamp(at_ms: int) -> str:
    return f"{_second(at_ms // 1000)}.{at_ms % 1000:03d}Z"


@lru_cache(4)
def _second(at_s: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_s))
