"""What each comparison says about a text."""

from __future__ import annotations

import pytest

from policy.text.matching import MATCHES, PATTERNS, is_like


@pytest.mark.parametrize(
    ("text", "pattern", "separator", "fits"),
    [
        ("release/1", "release/*", "", True),
        ("release/", "release/*", "", True),
        ("release", "release/*", "", False),
        ("a/b/release/1", "release/*", "", False),
        ("aba", "ab*ba", "", False),
        ("abba", "ab*ba", "", True),
        ("/data/a.csv", "/data/*.csv", "/", True),
        ("/data/b/a.csv", "/data/*.csv", "/", False),
        ("/data/.csv", "/data/*.csv", "/", True),
        ("/home/ann/x", "/home/*/x", "/", True),
        ("/home/ann/y/x", "/home/*/x", "/", False),
        ("build-1.acme.example", "build-*.acme.example", ".", True),
        ("build-1.x.acme.example", "build-*.acme.example", ".", False),
    ],
)
def test_star_is_a_run_of_characters_that_holds_no_separator(text: str, pattern: str, separator: str, fits: bool) -> None:
    assert is_like(text, pattern, separator) == fits
    assert MATCHES[f"like{separator}"](text, (pattern,)) == fits


@pytest.mark.parametrize(
    ("path", "part", "fits"),
    [
        ("/a/.env", "/.env/", True),
        ("/.env/a", "/.env/", True),
        ("/a/.envx", "/.env/", False),
        ("/a/.envx", "/.env", True),
        ("/a/x.env", "/.env", False),
        ("/a/x.env", ".env/", True),
        ("/a/x.env/b", ".env/", True),
        ("/", "/a/", False),
    ],
)
def test_any_segment_is_compared_as_a_whole_or_from_one_end(path: str, part: str, fits: bool) -> None:
    assert MATCHES["segment"](path, (part, "/never/")) == fits


def test_what_looks_inside_a_text_is_a_pattern() -> None:
    assert set(MATCHES) - PATTERNS == {"in", "host", "under"}
    assert MATCHES["under"]("/a/b", ("/x", "/a")) and not MATCHES["under"]("/ab", ("/a",))
    assert MATCHES["host"]("b.a.x", ("*.a.x",)) and not MATCHES["host"]("a.x", ("*.a.x",))
    assert MATCHES["in"]("b", ("a", "b")) and not MATCHES["in"]("c", ("a", "b"))
