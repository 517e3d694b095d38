"""Path text: what is refused, and which spellings mean the same file of a store."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.filesystem.errnos import VfsError
from sandbox.filesystem.paths import (
    check_text,
    decode_path,
    name_too_long,
    normalize_store_path,
    workspace_path,
)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("", "/"),
        ("/", "/"),
        ("/workspace", "/"),
        ("/workspace/", "/"),
        ("/workspace/x", "/x"),
        ("/workspace/x/", "/x"),
        ("x", "/x"),
        ("/x", "/x"),
        ("/workspacefoo", "/workspacefoo"),
        ("workspace/x", "/workspace/x"),
        ("/workspace/workspace/x", "/workspace/x"),
        ("/a//b", "/a/b"),
        ("//workspace//x", "/x"),
        ("/./workspace/./x", "/x"),
        ("/a/../b", "/b"),
        ("../../etc/passwd", "/etc/passwd"),
        ("/workspace/../../x", "/x"),
        ("/workspace/..", "/"),
        ("a/..", "/"),
        ("/...", "/..."),
    ],
)
def test_a_store_path_has_one_key_however_it_is_spelled(written: str, key: str) -> None:
    assert normalize_store_path(written) == key


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a\0b", "EINVAL"),
        ("\ud800", "EILSEQ"),
        ("n" * 256, "ENAMETOOLONG"),
        ("é" * 128, "ENAMETOOLONG"),
        ("a/" * 2049, "ENAMETOOLONG"),
        ("a/" * 101, "ENAMETOOLONG"),
    ],
)
def test_a_store_path_is_refused_when_its_text_is_unusable(path: str, name: str) -> None:
    with pytest.raises(VfsError) as refused:
        normalize_store_path(path)
    assert refused.value.name == name


def test_the_longest_name_and_the_deepest_path_are_allowed() -> None:
    assert normalize_store_path("n" * 255) == "/" + "n" * 255
    assert normalize_store_path("/".join(["d"] * 100)).count("/") == 100
    assert not name_too_long("é" * 127) and name_too_long("é" * 128)


def test_a_store_path_leads_into_the_workspace() -> None:
    assert workspace_path(normalize_store_path("/")) == "/workspace"
    assert workspace_path(normalize_store_path("workspace/x")) == "/workspace/workspace/x"


def test_guest_bytes_must_be_text_without_nul() -> None:
    assert decode_path("ü/x".encode()) == "ü/x"
    for raw, name in ((b"\xff", "EILSEQ"), (b"\xed\xa0\x80", "EILSEQ"), (b"a\0", "EINVAL")):
        with pytest.raises(VfsError) as refused:
            decode_path(raw)
        assert refused.value.name == name


@given(st.text(alphabet="a.b/é\0workspace", max_size=60))
def test_a_normalised_path_is_absolute_clean_and_inside_the_root(path: str) -> None:
    try:
        key = normalize_store_path(path)
    except VfsError:
        assert "\0" in path
        return
    parts = key.split("/")
    assert parts[0] == "" and (key == "/" or all(part not in ("", ".", "..") for part in parts[1:]))
    assert check_text(key) == key
