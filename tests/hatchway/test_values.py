"""Values and secrets of a sandbox in this process."""

from __future__ import annotations

import pytest

from hatchway import RequestError, Sandbox
from hatchway.values import Values


def test_values_are_set_replaced_listed_and_deleted() -> None:
    values = Values()
    values.set("b", "1")
    values.set("a", "2")
    made = values.list()[1].created_at
    values.set("b", "3")
    assert [one.key for one in values.list()] == ["a", "b"] and values.list()[1].created_at == made
    assert (values.get("b"), values.get("none")) == ("3", None)
    assert (values.delete("b"), values.delete("b")) == (True, False)
    assert "2" not in repr(values)


def test_values_and_secrets_are_two_namespaces_of_which_forks_have_copies() -> None:
    with Sandbox() as box:
        box.values.set("k", "v")
        assert box.secrets.get("k") is None
        with box.fork() as child:
            child.values.set("k", "w")
        assert box.values.get("k") == "v"


@pytest.mark.parametrize("key", ["", "a\0", "k" * 256, "tool_approval/x", 5])
def test_keys_are_those_of_a_gateway(key: str) -> None:
    with pytest.raises(RequestError):
        Values().set(key, "v")
