"""Single runs: the sessions that `POST /v1/runs` makes, each for one run, and how they are told from others.

Rules: a person may call a session `once-upon-a-time`; only the whole form of an id that was made here is one of these.
"""

from __future__ import annotations

import re
from typing import Final

from gateway.ids import uuid7

ONCE: Final = "once-"
PAST_ONCE: Final = "once."
"""The first text that comes after every one that begins with `ONCE`."""
_FORM: Final = re.compile(re.escape(ONCE) + r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def single_id() -> str:
    """An id for such a session. They sort by the millisecond they were made in."""
    return ONCE + uuid7()


def is_single(session_id: str) -> bool:
    return _FORM.fullmatch(session_id) is not None
