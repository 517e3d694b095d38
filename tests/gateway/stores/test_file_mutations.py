"""A session's files in a store: a tree that stays one, contents kept once. On all three engines."""

from __future__ import annotations

import msgspec

from gateway.stores.changes import ABSENT, DeleteFile, PutFile, digest_of
from gateway.stores.store import Store
from tests.gateway.stores.conftest import Engine
from tests.gateway.stores.making import (
    AT,
    code_of,
    put_file,
    put_session,
)


def test_a_file_that_must_be_absent_is_written_once(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/n", "0", expect=ABSENT)])
        assert await code_of(store, put_file("/n", "1", expect=ABSENT)) == "FILE_EXISTS"

    engine.run(scenario)


def test_equal_contents_are_kept_once_and_go_with_their_last_file(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        digest = digest_of(b"same")
        await store.write("t1", [put_session(), put_session("s2"), put_file("/a", "same"), put_file("/b", "same", "s2")])
        await store.write("t1", [DeleteFile("s1", "/a")])
        assert digest in await store.blobs("t1", [digest])
        await store.write("t1", [put_file("/b", "different", "s2")])
        assert await store.blobs("t1", [digest, digest_of(b"different")]) == {digest_of(b"different"): b"different"}

    engine.run(scenario)


def test_a_large_content_that_is_stored_already_is_stored_for_another_file_too(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        large = b"x" * (1 << 20)
        await store.write("t1", [put_session(), put_file("/a", large)])
        await store.write("t1", [put_file("/b", large), put_file("/c", large + b"y")])
        await store.write("t1", [DeleteFile("s1", "/a")])
        for path, content in (("/b", large), ("/c", large + b"y")):
            found = await store.content("t1", "s1", path)
            assert found is not None and found[1] == content

    engine.run(scenario)


def test_a_content_that_moves_between_sessions_in_one_write_stays(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_session("s2"), put_file("/a", "x")])
        await store.write("t1", [DeleteFile("s1", "/a"), put_file("/b", "x", "s2")])
        found = await store.content("t1", "s2", "/b")
        assert found is not None and found[1] == b"x"

    engine.run(scenario)


def test_an_update_keeps_id_and_creation_and_parents_appear(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/a/b/c", "1", id="first", at=AT)])
        await store.write("t1", [put_file("/a/b/c", "22", id="second", at=AT + 5)])
        found = await store.file("t1", "s1", "/a/b/c")
        assert found is not None
        assert (found.id, found.created_at, found.updated_at, found.size_bytes) == ("first", AT, AT + 5, 2)
        assert [(one.path, one.is_directory) for one in await store.tree("t1", "s1")] == [
            ("/a", True), ("/a/b", True), ("/a/b/c", False),
        ]  # fmt: skip
        assert [one.path for one in await store.children("t1", "s1", "/a")] == ["/a/b"]

    engine.run(scenario)


def test_a_tree_stays_a_tree_whatever_is_written(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), put_file("/f", "1"), put_file("/d/x", "2")])
        assert await code_of(store, put_file("/f/below")) == "NOT_A_DIRECTORY"
        assert await code_of(store, put_file("/d", "file")) == "IS_A_DIRECTORY"
        assert await code_of(store, DeleteFile("s1", "/d", recursive=False)) == "DIRECTORY_NOT_EMPTY"
        for path in ("/", "", "a", "/a/", "/a//b"):
            assert await code_of(store, put_file(path)) == "INVALID_PATH"
        await store.write("t1", [DeleteFile("s1", "/d"), put_file("/d", "now a file")])
        assert [one.path for one in await store.tree("t1", "s1")] == ["/d", "/f"]

    engine.run(scenario)


def test_a_recursive_delete_takes_what_lies_below_and_nothing_beside(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        paths = ["/a/x", "/a/y/z", "/a.txt", "/a0", "/a-b/c", "/b"]
        await store.write("t1", [put_session(), *(put_file(path, path) for path in paths)])
        await store.write("t1", [put_file("/a/new", "in the same write"), DeleteFile("s1", "/a")])
        assert [one.path for one in await store.tree("t1", "s1")] == ["/a-b", "/a-b/c", "/a.txt", "/a0", "/b"]
        assert await store.usage("t1", "s1") == msgspec.structs.replace(
            await store.usage("t1", "s1"), files=5, bytes=sum(map(len, ("/a-b/c", "/a.txt", "/a0", "/b")))
        )

    engine.run(scenario)


def test_a_thousand_files_are_one_write(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write("t1", [put_session(), *(put_file(f"/d{n % 10}/f{n}", f"content {n}") for n in range(1000))])
        tree = await store.tree("t1", "s1")
        assert len(tree) == 1010
        blobs = await store.blobs("t1", [one.digest for one in tree if not one.is_directory])
        assert len(blobs) == 1000 and all(digest_of(content) == digest for digest, content in blobs.items())

    engine.run(scenario)


def test_links_and_binary_contents_are_kept_as_they_are(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        binary = bytes(range(256))
        await store.write(
            "t1", [put_session(), put_file("/l", "../x", kind="symlink"), put_file("/b", binary, encoding="base64")]
        )
        link, file = await store.content("t1", "s1", "/l"), await store.content("t1", "s1", "/b")
        assert link is not None and (link[0].kind, link[1]) == ("symlink", b"../x")
        assert file is not None and file[1] == binary
        assert (file[0].size_bytes, file[0].content_bytes) == (344, 256)

    engine.run(scenario)


def test_a_directory_is_made_once_and_a_read_only_file_is_protected_if_asked(engine: Engine) -> None:
    async def scenario(store: Store) -> None:
        await store.write(
            "t1", [put_session(), put_file("/r", "1", readonly=True), put_file("/d", kind="directory", id="one", keep=True)]
        )
        await store.write(
            "t1", [put_file("/d", kind="directory", id="two", keep=True), put_file("/r", kind="directory", keep=True)]
        )
        kept, read_only = await store.file("t1", "s1", "/d"), await store.file("t1", "s1", "/r")
        assert kept is not None and kept.id == "one" and read_only is not None and not read_only.is_directory
        assert await code_of(store, put_file("/r", "2", protect=True)) == "FILE_READ_ONLY"
        assert await code_of(store, DeleteFile("s1", "/r", protect=True)) == "FILE_READ_ONLY"
        await store.write("t1", [put_file("/r", "2", readonly=None)])
        found = await store.file("t1", "s1", "/r")
        assert found is not None and found.is_readonly and isinstance(put_file("/x"), PutFile)

    engine.run(scenario)
