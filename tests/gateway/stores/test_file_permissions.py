"""What permissions let the session's user reach, in a store: on all three engines."""

from __future__ import annotations

import pytest

from gateway.errors import Forbidden
from gateway.stores.changes import ChangeMode, DeleteFile
from gateway.stores.file_permissions import READ, SEARCH, WRITE, ancestors_of, find_parent, find_unreadable, require, require_way
from gateway.stores.store import Store
from tests.gateway.stores.conftest import Engine
from tests.gateway.stores.making import code_of, put_file, put_session


def test_the_way_to_a_path_needs_the_search_bit_of_every_directory_above() -> None:
    modes = {"/a": 0o755, "/a/b": 0o600}
    require_way("/a/b", modes.get)
    require_way("/x/y", modes.get)
    with pytest.raises(Forbidden) as refused:
        require_way("/a/b/c", modes.get)
    assert refused.value.code == "FILE_NOT_PERMITTED" and refused.value.error.message.endswith(": /a/b")


@pytest.mark.parametrize(("mode", "wanted", "is_refused"), [
    (None, READ | WRITE, False), (0o600, READ, False), (0o200, READ, True), (0o077, READ, True), (0o500, WRITE, True),
    (0o500, READ | SEARCH, False), (0o400, READ | SEARCH, True),
])  # fmt: skip
def test_the_owners_bits_count(mode: int | None, wanted: int, is_refused: bool) -> None:
    if is_refused:
        with pytest.raises(Forbidden):
            require("/f", mode, wanted)
    else:
        require("/f", mode, wanted)


def test_parents_and_ancestors() -> None:
    assert (find_parent("/a"), find_parent("/a/b")) == ("/", "/a")
    assert ancestors_of("/a/b/c") == ["/a", "/a/b"] and ancestors_of("/a") == []


def test_what_a_walk_of_the_tree_does_not_reach_is_found(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        files = ["/shut/deep/f", "/shut-not/f", "/unlisted/f", "/open/f", "/open/g"]
        await store.write("t1", [put_session(), *(put_file(path, "x") for path in files)])
        modes = {"/shut": 0o600, "/unlisted": 0o300, "/open/g": 0o000, "/shut-not": 0o500}
        await store.write("t1", [ChangeMode("s1", path, mode) for path, mode in modes.items()])
        assert find_unreadable(await store.tree("t1", "s1")) == {"/shut/deep", "/shut/deep/f", "/unlisted/f", "/open/g"}

    engine.run(scenario)


def test_a_closed_directory_keeps_what_is_in_it_from_a_caller_and_not_from_the_service(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/d/e/f", "x"), put_file("/d/g", "x")])
        await store.write("t1", [ChangeMode("s1", "/d/e", 0o000)])
        for change in (
            put_file("/d/e/f", "y", protect=True),
            put_file("/d/e/new", "y", protect=True),
            put_file("/d/e/x/new", "y", protect=True),
            ChangeMode("s1", "/d/e/f", 0o600),
            DeleteFile("s1", "/d/e/f", protect=True),
            DeleteFile("s1", "/d", recursive=True, protect=True),
        ):
            assert await code_of(store, change) == "FILE_NOT_PERMITTED", change
        with pytest.raises(Forbidden):
            await store.content("t1", "s1", "/d/e/f")
        with pytest.raises(Forbidden):
            await store.content("t1", "s1", "/d/e/none")
        assert [one.path for one in await store.children("t1", "s1", "/d/e")] == ["/d/e/f"]
        await store.write("t1", [put_file("/d/e/f", "y"), DeleteFile("s1", "/d", recursive=True)])
        assert await store.tree("t1", "s1") == []

    engine.run(scenario)


def test_an_archive_may_bring_a_closed_directory_with_what_is_in_it(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        folder = put_file("/d", kind="directory", mode=0o500, keep=True, protect=True)
        await store.write("t1", [put_session(), folder, put_file("/d/f", "x", protect=True)])
        assert await code_of(store, put_file("/d/g", "x", protect=True)) == "FILE_NOT_PERMITTED"

    engine.run(scenario)


def test_below_a_file_there_is_nothing_and_that_is_no_matter_of_permissions(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/f", "x")])
        assert await store.content("t1", "s1", "/f/x") is None
        assert await code_of(store, put_file("/f/x", "y", protect=True)) == "NOT_A_DIRECTORY"

    engine.run(scenario)
