"""UUIDv7 (RFC 9562): ids that sort by the time they were made, which databases like."""

from __future__ import annotations

import os
import time


def uuid7(now_ms: int | None = None) -> str:
    stamp = (time.time_ns() // 1_000_000 if now_ms is None else now_ms) & ((1 << 48) - 1)
    chance = int.from_bytes(os.urandom(10), "big")
    value = (stamp << 80) | (0x7 << 76) | ((chance >> 64 & 0xFFF) << 64) | (0b10 << 62) | (chance & ((1 << 62) - 1))
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
