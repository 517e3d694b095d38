"""Patterns as they are written: their canonical form, and back."""

from __future__ import annotations

import unicodedata

import pytest

from policy.model.kinds import KINDS, Fault
from policy.model.patterns import MAX_PATTERN_CHARS, joins, make_pattern, write_patterns


@pytest.mark.parametrize(
    ("kind", "word", "text", "op"),
    [
        ("name", "like", "release/*", "like"),
        ("name", "like", "a*b", "like"),
        ("name", "starts", "npm run", "like"),
        ("name", "ends", "?", "like"),
        ("path", "ends", ".pem", "like"),
        ("path", "like", "/data/*.csv", "like/"),
        ("path", "segment ==", ".env", "segment"),
        ("path", "segment starts", ".", "segment"),
        ("path", "segment ends", ".bak", "segment"),
        ("host", "like", "build-*.acme.example", "like."),
    ],
)
def test_what_is_written_back_is_read_as_the_same(kind: str, word: str, text: str, op: str) -> None:
    made = make_pattern(KINDS[kind], word, text)
    assert isinstance(made, str)
    written = write_patterns("x", op, (made,))
    shown = word if not word.startswith("segment") else f"any {word}"
    shown = "starts" if (kind, word, text) == ("name", "like", "release/*") else shown
    assert written == f'x {shown} "{text.strip("*") if shown == "starts" else text}"'


def test_several_patterns_are_written_as_a_set() -> None:
    assert write_patterns("x", "like", ("*a", "b*")) == 'x like { "*a", "b*" }'
    assert write_patterns("x", "like", ("*a", "*b")) == 'x ends { "a", "b" }'
    assert write_patterns("x", "like", ("a*", "b*")) == 'x starts { "a", "b" }'
    assert write_patterns("x", "segment", ("/a/", "/b/")) == 'x any segment in { "a", "b" }'
    assert write_patterns("x", "segment", ("/a", "/b")) == 'x any segment starts { "a", "b" }'
    assert write_patterns("x", "segment", ("a/", "b/")) == 'x any segment ends { "a", "b" }'


def test_pattern_has_a_length() -> None:
    assert make_pattern(KINDS["name"], "ends", "x" * MAX_PATTERN_CHARS) == "*" + "x" * MAX_PATTERN_CHARS
    assert isinstance(make_pattern(KINDS["name"], "ends", "x" * (MAX_PATTERN_CHARS + 1)), Fault)
    assert isinstance(make_pattern(KINDS["name"], "ends", ""), Fault)


def test_character_joins_exactly_if_some_text_before_it_changes_when_both_are_composed() -> None:
    before = "aeiouAEKq\u1100\u09c7\u0b47\u1025\uac00"
    for code in (*range(0x20, 0x0800), *range(0x0900, 0x1200), 0x3099, 0x4E00, *range(0xAC00, 0xAC10), 0x1F600):
        char = chr(code)
        if any(unicodedata.normalize("NFC", a + char) != a + unicodedata.normalize("NFC", char) for a in before):
            assert joins(char), hex(code)
    assert not any(joins(char) for char in "az09_./-é漢가\U0001f600")
