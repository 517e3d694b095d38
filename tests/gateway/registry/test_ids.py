"""Ids: the contract's vectors, and what is not an id."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.registry.errors import InvalidIdentifier
from gateway.registry.identifiers import check_id, display_hint, make_id


def test_ids_are_the_contracts_vectors() -> None:
    assert make_id("local-", "local:test") == "local-local-test-a2fa388634a6e2ed"
    assert make_id("local-worker-", "coder") == "local-worker-coder-c84a9e3ad144b43d"
    assert make_id("embedded-", "acme").startswith("embedded-acme-")


def test_a_name_without_a_letter_has_the_body_id() -> None:
    digest = hashlib.sha256(b"../..").hexdigest()[:16]
    assert make_id("local-worker-", "../..") == f"local-worker-id-{digest}"
    assert make_id("local-", "").startswith("local-id-")


@given(st.sampled_from(["local-", "embedded-", "local-worker-", "remote-", "p" * 130]), st.text(max_size=400))
def test_every_name_makes_a_valid_id(prefix: str, name: str) -> None:
    made = make_id(prefix, name)
    assert check_id("worker_id", made) == made
    assert made.endswith("-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16])


@given(st.text(max_size=200), st.text(max_size=200))
def test_two_names_never_share_an_id(one: str, other: str) -> None:
    assert (make_id("local-", one) == make_id("local-", other)) == (one == other)


@pytest.mark.parametrize("value", ["", "a" * 121, "../x", "a/b", "a b", "a.b", "ü", "a\n", "\0", "%2e"])
def test_what_is_not_an_id_is_refused_and_repeated_in_part(value: str) -> None:
    with pytest.raises(InvalidIdentifier) as refused:
        check_id("worker_id", value)
    assert (refused.value.kind, refused.value.value) == ("worker_id", value[:120])
    assert refused.value.status == 400
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("value", ["a" * 120, "worker-00000001", "A:b_c-9"])
def test_what_is_an_id_is_taken(value: str) -> None:
    assert check_id("runtime_id", value) == value


def test_hints_lose_control_characters_and_slashes_and_are_short() -> None:
    assert display_hint("a/b\\c\n\x1b[31md\x85") == "abc[31md"
    assert len(display_hint("x" * 10_000)) == 80
