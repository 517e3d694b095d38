"""Constants of the language: units, hosts, paths."""

from __future__ import annotations

import pytest

from policy.model.kinds import KINDS
from policy.text.literals import duration_ms, host_fault, is_host, is_path, is_under, matches_host, parse_quantity


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("4_000MiB", 4000, "MiB"),
        ("-5", -5, ""),
        ("60/min", 60, "min"),
        ("9" * 20, int("9" * 20), ""),
        ("9" * 21, 2**63, ""),
        (str(-(2**63)), -(2**63), ""),
        ("-" + "9" * 20, -(2**63) - 1, ""),
    ],
)
def test_quantities(text: str, number: int, unit: str) -> None:
    assert parse_quantity(text) == (number, unit)


def test_units() -> None:
    assert [KINDS["size"].parse(f"2{unit}") for unit in ("B", "KiB", "MiB", "GiB")] == [2, 2048, 2 * 1024**2, 2 * 1024**3]
    assert [duration_ms(f"2{unit}") for unit in ("ms", "s", "m", "h", "d")] == [2, 2000, 120_000, 7_200_000, 172_800_000]


@pytest.mark.parametrize(
    "host", ["a", "a.b", "a-b.c", "0a.example", "xn--bcher-kva.example", "a" * 63 + ".b", ".".join(["a" * 49] * 5)]
)
def test_hosts(host: str) -> None:
    assert is_host(host)
    assert host_fault(host) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "-a",
        "a-",
        "A.b",
        "a b",
        "a_b",
        "a:1",
        "1.2.3.4",
        "1",
        "::1",
        "0x7f",
        "a" * 64,
        ".".join(["a" * 50] * 6),
        "é.b",
    ],
)
def test_not_hosts(host: str) -> None:
    assert not is_host(host)
    assert host_fault(host) is not None


@pytest.mark.parametrize(
    ("pattern", "code"),
    [("*.a.example", None), ("*.com", "HP035"), ("*.co.uk", "HP035"), ("*", "HP036"), ("a.*", "HP036"), ("*.*.a.b", "HP036")],
)
def test_host_patterns(pattern: str, code: str | None) -> None:
    assert host_fault(pattern) == code


def test_host_matching_is_by_whole_labels() -> None:
    assert matches_host("a.b.example", ("*.b.example",))
    assert matches_host("x.a.b.example", ("*.b.example",))
    assert not matches_host("b.example", ("*.b.example",))
    assert not matches_host("ab.example", ("*.b.example",))
    assert matches_host("b.example", ("c.example", "b.example"))


@pytest.mark.parametrize("path", ["/", "/a", "/a/b", "/.git", "/a..b", "/..a", "/a b", "/é", "/" + "a" * 4095])
def test_paths(path: str) -> None:
    assert is_path(path)


@pytest.mark.parametrize(
    "path", ["", "a", "//", "/a/", "/a//b", "/.", "/..", "/a/.", "/a/../b", "/a\x00", "/a\n", "/a\x7f", "/" + "a" * 4096]
)
def test_not_paths(path: str) -> None:
    assert not is_path(path)


def test_under_is_by_whole_segments() -> None:
    assert is_under("/a", "/")
    assert is_under("/a", "/a")
    assert is_under("/a/b", "/a")
    assert not is_under("/ab", "/a")
    assert not is_under("/", "/a")
