"""What is known of a write before it is made."""

from __future__ import annotations

import pytest

from gateway.stores.changes import AppendAudit, PutValue, detect_encoding, list_contents
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


def test_the_contents_of_a_write_are_those_of_its_files_and_values() -> None:
    value = PutValue(session_id="s1", key="k", value=b"12345", at=AT)
    assert list_contents([put_file("/a", b"123"), value, AppendAudit(at=AT, kind="x")]) == [b"123", b"12345"]
