"""Texts that people give to things: a title, a name, a label. One line, and not long: they are shown in lists.

Rules: the same for every field of this kind. What does not fit is refused, never cut.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from gateway.errors import BadRequest

LINE_MAX: Final = 200


def check_line(field: str, text: str) -> None:
    if len(text) > LINE_MAX:
        raise BadRequest("INVALID_ARGUMENT", f"{field} has {len(text)} characters", f"at most {LINE_MAX}")
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") for character in text):
        raise BadRequest("INVALID_ARGUMENT", f"{field} holds a control character or a line end", "it is one line of text")
