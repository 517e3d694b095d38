"""What is known of a write before it is made."""

from __future__ import annotations

import pytest

from gateway.stores.changes import AppendAudit, PutValue, count_bytes, detect_encoding
from tests.gateway.stores.making import AT, put_file

_LONG = "é" * 100_000


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"", "text"),
        (b"a", "text"),
        (b"\xff", "base64"),
        (b"a\0", "base64"),
        (b"a" + _LONG.encode(), "text"),
        (_LONG.encode()[:-1], "base64"),
        (b"a" * 65535 + b"\xc3", "base64"),
    ],
)
def test_bytes_travel_as_text_if_they_are_text(content: bytes, encoding: str) -> None:
    assert detect_encoding(content) == encoding


def test_the_bytes_of_a_write_are_those_of_its_contents() -> None:
    value = PutValue(session_id="s1", key="k", value=b"12345", at=AT)
    assert count_bytes([put_file("/a", b"123"), value, AppendAudit(at=AT, kind="x")]) == 8
