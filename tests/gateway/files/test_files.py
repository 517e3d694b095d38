"""CONTRACTS §1 on files, the original's bugs by name, and what an attacker may try."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gateway.children import Overrun
from gateway.clock import now_ms
from gateway.errors import BadRequest, Conflict, Forbidden, NotFound, PreconditionFailed, TooLarge
from gateway.files import tar
from gateway.files.contract_filesystem import InMemorySessionFileSystemFactory
from gateway.files.files import Files, normalize
from gateway.records import NIL_UUID, InitialFile
from gateway.stores import text_search
from gateway.stores.changes import ABSENT, PutTenant, digest_of
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.stored import StoreLimits
from tests.gateway.stores.making import put_file, put_session, tenant

T1, S1 = "t1", "s1"


def with_files(scenario: Callable[[Files, MemoryStore], Awaitable[None]], limits: StoreLimits | None = None) -> None:
    async def main() -> None:
        store = MemoryStore(limits)
        await store.write(T1, [PutTenant(tenant(T1)), put_session(S1)])
        await scenario(Files(store, now_ms, T1, S1), store)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("", "/"), ("/", "/"), ("/workspace", "/"), ("/workspace/", "/"), ("/workspace/x", "/x"), ("x", "/x"), ("x/", "/x"),
        ("/workspacefoo", "/workspacefoo"), ("workspace/x", "/workspace/x"), ("/a//b", "/a/b"), ("/a/./b", "/a/b"),
        ("/a/../b", "/b"), ("/../../etc", "/etc"), ("/workspace/workspace/x", "/workspace/x"), ("..", "/"),
    ],
)  # fmt: skip
def test_paths_have_one_spelling(path: str, key: str) -> None:
    assert normalize(path) == key


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 256, "a/" * 101 + "b", "/" + "y" * 5000])
def test_a_path_that_cannot_be_stored_is_refused(path: str) -> None:
    with pytest.raises(BadRequest, match="not a valid path"):
        normalize(path)


def test_the_root_is_there_without_being_stored() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        for path in ("", "/", "/workspace"):
            found, stat = await files.read(path), await files.stat(path)
            assert found is not None and (found.id, found.name, found.path, found.is_directory) == (NIL_UUID, "/", "/", True)
            assert stat is not None and stat.name == "/"
        assert await store.tree(T1, S1) == [] and (await files.mkdir("/")).id == NIL_UUID

    with_files(scenario)


def test_a_written_file_reads_back_with_its_facts() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        written = await files.write("/workspace/d/a.txt", "grüße")
        found = await files.read("d/a.txt")
        assert found == written
        assert (found.path, found.name, found.content, found.encoding, found.size_bytes) == (
            "/d/a.txt",
            "a.txt",
            "grüße",
            "text",
            7,
        )
        assert [one.path for one in await files.list()] == ["/d"]
        assert type((await files.list())[0]).__name__ == "FileInfo"

    with_files(scenario)


def test_an_update_keeps_id_and_creation_and_clears_the_directory_flag() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        made = await files.mkdir("/x")
        written = await files.write("/x", "now a file")
        assert (written.id, written.created_at, written.is_directory) == (made.id, made.created_at, False)

    with_files(scenario)


def test_base64_content_counts_its_encoded_length_and_is_kept_as_bytes() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        text = base64.b64encode(bytes(range(256))).decode()
        written = await files.write("/b", text, "base64")
        assert (written.size_bytes, written.encoding, written.content) == (len(text), "base64", text)
        found = await files.read_bytes("/b")
        assert found is not None and found[1] == bytes(range(256))

    with_files(scenario)


@pytest.mark.parametrize(
    ("content", "encoding"), [("a", "base64"), ("é", "base64"), ("\ud800", "text"), ("a", "hex"), ("YQ==\n", "base64")]
)
def test_content_that_is_not_in_its_encoding_is_refused(content: str, encoding: str) -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        with pytest.raises(BadRequest):
            await files.write("/x", content, encoding)

    with_files(scenario)


def test_a_read_only_file_refuses_writes_and_a_seed_overwrites_it() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.seed(InitialFile(path="/r", content="1", is_readonly=True))
        with pytest.raises(Forbidden, match="file is read-only: /r"):
            await files.write("/workspace/r", "2")
        assert await files.delete("/r") is False
        seeded = await files.seed(InitialFile(path="/r", content="3"))
        assert not seeded.is_readonly and (await files.write("/r", "4")).content == "4"

    with_files(scenario)


def test_delete_says_false_for_the_root_the_missing_and_the_full() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.seed(InitialFile(path="/d/ro", content="", is_readonly=True))
        for path in ("/", "/workspace", "/missing", "/d", "/d/ro"):
            assert await files.delete(path) is False
        assert await files.delete("/d", recursive=True) is True
        assert await store.tree(T1, S1) == []
        await files.mkdir("/empty")
        assert await files.delete("/empty") is True

    with_files(scenario)


def test_list_has_direct_children_by_path_and_nothing_for_what_is_no_directory() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        for path in ("/b", "/a/x/y", "/a-"):
            await files.write(path, "")
        assert [one.path for one in await files.list("/")] == ["/a", "/a-", "/b"]
        assert [one.path for one in await files.list("a")] == ["/a/x"]
        assert await files.list("/b") == [] and await files.list("/none") == []

    with_files(scenario)


def test_mkdir_is_idempotent_and_on_a_file_returns_the_file() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        first = await files.mkdir("/a/b")
        assert (await files.mkdir("a/b/")) == first and first.is_directory
        written = await files.write("/f", "x")
        info = await files.mkdir("/f")
        assert info.id == written.id and not info.is_directory

    with_files(scenario)


def test_bug_of_the_original_writing_the_root_stores_no_hidden_entry() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        for path in ("/", "", "/workspace/", "a/.."):
            with pytest.raises(BadRequest, match="root"):
                await files.write(path, "x")
        assert await store.tree(T1, S1) == []

    with_files(scenario)


def test_bug_of_the_original_writing_over_a_directory_orphans_no_children() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/d/x", "1")
        with pytest.raises(Conflict, match="has entries"):
            await files.write("/d", "2")
        assert [one.path for one in await store.tree(T1, S1)] == ["/d", "/d/x"]

    with_files(scenario)


def test_bug_of_the_original_a_file_does_not_become_a_parent() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/f", "1")
        with pytest.raises(Conflict, match="not a directory: /f"):
            await files.write("/f/x", "2")
        with pytest.raises(Conflict):
            await files.mkdir("/f/d")

    with_files(scenario)


def test_bug_of_the_original_two_slashes_make_no_second_file() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/a//b", "1")
        await files.write("/a/b", "2")
        assert [(one.path, one.is_directory) for one in await store.tree(T1, S1)] == [("/a", True), ("/a/b", False)]

    with_files(scenario)


def test_bug_of_the_original_a_workspace_inside_the_workspace_can_be_read() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/workspace/workspace/x", "inner")
        found = await files.read("/workspace/workspace/x")
        assert found is not None and found.content == "inner"
        (listed,) = await files.list("/workspace/workspace")
        assert listed.path == "/workspace/x" and await files.read("/x") is None

    with_files(scenario)


def test_a_write_can_demand_what_was_there() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/a", "1", expect=ABSENT)
        with pytest.raises(PreconditionFailed):
            await files.write("/a", "2", expect=ABSENT)
        await files.write("/a", "2", expect=digest_of(b"1"))
        with pytest.raises(PreconditionFailed):
            await files.write("/a", "3", expect=digest_of(b"1"))

    with_files(scenario)


def test_links_are_followed_inside_and_never_out() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/d/real", "here")
        links = {
            "/d/rel": "real",
            "/abs": "/workspace/d/real",
            "/up": "d/../d/real",
            "/out": "/etc/passwd",
            "/loop": "loop",
            "/climb": "../../d/real",
        }
        await store.write(T1, [put_file(path, target, kind="symlink") for path, target in links.items()])
        for path in ("/d/rel", "/abs", "/up", "/climb"):
            found = await files.read(path)
            assert found is not None and found.content == "here"
        assert await files.read("/out") is None and await files.read("/loop") is None

    with_files(scenario)


def test_a_session_that_is_not_there_reads_as_empty_and_is_not_written() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        files = Files(store, now_ms, T1, "s9")
        assert await files.read("/a") is None and await files.list() == []
        assert await files.grep("x") == [] and await files.delete("/a") is False
        with pytest.raises(NotFound, match="session not found"):
            await files.write("/a", "x")

    with_files(scenario)


def test_the_factory_makes_a_new_empty_filesystem_each_time() -> None:
    async def main() -> None:
        factory = InMemorySessionFileSystemFactory()
        first, second = factory.create(), factory.create()
        await first.write("any", "/a", "1")
        await first.seed("any", InitialFile(path="b", content="2"))
        assert [one.path for one in await first.list("any")] == ["/a", "/b"]
        assert await second.list("any") == [] and await first.list("another") == []
        assert (await first.grep("any", "2"))[0].path == "/b" and await first.delete("any", "/a")

    asyncio.run(main())


def test_grep_finds_substrings_in_text_files_only() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/b.txt", "one\r\nTwo .*\nthree")
        await files.write("/a.txt", "no\n\nTwo")
        await files.write("/c.bin", base64.b64encode(b"Two").decode(), "base64")
        found = await files.grep("Two")
        assert [(one.path, one.line_number, one.line) for one in found] == [("/a.txt", 3, "Two"), ("/b.txt", 2, "Two .*")]
        assert [one.path for one in await files.grep(".*")] == ["/b.txt"]
        assert await files.grep("two") == [] and [one.path for one in await files.grep("Two", "b.t")] == ["/b.txt"]
        assert [one.line for one in await files.grep("one")] == ["one"]
        assert len(await files.grep("")) == 6

    with_files(scenario)


def test_regex_grep_knows_lines_and_unicode_and_refuses_what_re2_does() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/a", "alpha\nBeta é\n\ngamma")
        assert [one.line_number for one in await files.grep("^[a-z]+$", regex=True)] == [1, 4]
        assert [one.line for one in await files.grep(r"\pL \pL$", regex=True)] == ["Beta é"]
        assert [one.line_number for one in await files.grep("a[^z]*g", regex=True)] == []
        for pattern in ("(", "(?=a)", r"(a)\1"):
            with pytest.raises(BadRequest, match="not a valid pattern"):
                await files.grep(pattern, regex=True)

    with_files(scenario)


def test_tm_store_grep_is_bounded_in_pattern_files_bytes_and_matches() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        for regex in (False, True):
            with pytest.raises(BadRequest, match="at most 1000 bytes"):
                await files.grep("é" * 501, regex=regex)
        with pytest.raises(BadRequest, match="too complex"):
            await files.grep("(a.{50}|b.{60}){9}", regex=True)
        for n in range(12):
            await files.write(f"/f{n:02}", ("x" * 99 + "\n") * 5242)
        found = await files.search("x")
        assert len(found.matches) == text_search.MATCHES_MAX and not found.complete and found.skipped == 11
        found = await files.search("y")
        assert found.matches == [] and found.complete and found.skipped == 0
        await files.write("/end", "x" * 70_000 + "\nneedle")
        assert [one.line_number for one in await files.grep("needl.$", "/end", regex=True)] == [2]
        catastrophic = await files.search("(x+x+)+y", regex=True)
        assert catastrophic.matches == []

    with_files(scenario)


@pytest.mark.parametrize("regex", [False, True])
def test_grep_reads_files_of_any_size_to_their_end_a_group_at_a_time(regex: bool) -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        held: list[int] = []
        blobs = store.blobs

        async def load(tenant: str, digests: list[str]) -> dict[str, bytes]:
            found = await blobs(tenant, digests)
            held.append(sum(map(len, found.values())))
            return found

        store.blobs = load  # type: ignore[method-assign, assignment]
        for name, size in (("/a", 1 << 10), ("/huge", 20 << 20), ("/z", 6 << 20), ("/zz", 6 << 20)):
            await files.write(name, "0123456789abcde\n" * (size >> 4) + "the needle")
        found = await files.search("needle", regex=regex)
        assert [match.path for match in found.matches] == ["/a", "/huge", "/z", "/zz"] and found.complete
        assert found.matches[1].line_number == (20 << 16) + 1
        assert len(held) >= 3 and max(held) < 21 << 20
        assert [match.path for match in await files.grep("needle", "/workspace/z")] == ["/z", "/zz"]

    with_files(scenario)


def test_a_search_that_takes_too_long_says_what_it_has_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        for n in range(3):
            await files.write(f"/f{n}", "x\n" * 1000)
        monkeypatch.setattr(text_search, "TIME_MAX_S", -1.0)
        found = await files.search("x")
        assert found.matches == [] and not found.complete and found.skipped == 3

    with_files(scenario)


def test_tm_store_grep_takes_place_in_a_child_and_one_that_overruns_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no(*_: Any, **__: Any) -> None:
        raise AssertionError("it is searched in this process")

    async def overrun(*_: Any) -> None:
        raise Overrun

    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/a", "needle\n" * 1000)
        monkeypatch.setattr(text_search, "_compile", no)
        assert len(await files.grep("n.*e$", regex=True)) == 1000
        with monkeypatch.context() as slow:
            slow.setattr(text_search, "run_in_child", overrun)
            with pytest.raises(BadRequest, match="too long") as refused:
                await files.grep("n", regex=True)
        assert refused.value.code == "PATTERN_TOO_COMPLEX"
        assert len(await files.grep("needle")) == 1000

    with_files(scenario)


def test_a_file_over_the_limit_is_refused_before_it_is_decoded() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        with pytest.raises(TooLarge):
            await files.write("/a", "x" * 5000)
        with pytest.raises(TooLarge):
            await files.write_bytes("/a", b"x" * 1025)
        await files.write_bytes("/a", b"\0" * 1024)

    with_files(scenario, StoreLimits(file_bytes=1024))


def test_tm_lim_starve_others_have_their_turn_while_many_files_are_decided_about() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await store.write(T1, [put_file(f"/d/{number}", b"text", session_id=S1) for number in range(60)])
        rounds, seen = 0, list[int]()

        async def count_rounds() -> None:
            nonlocal rounds
            while True:
                rounds += 1
                await asyncio.sleep(0)

        def decide_slowly(_: str) -> bool:
            seen.append(rounds)
            until_s = time.thread_time() + 0.001
            while time.thread_time() < until_s:
                pass
            return False

        others = asyncio.ensure_future(count_rounds())
        for work in (
            lambda: files.search("text", permitted=decide_slowly),
            lambda: files.count_left_out(permitted=decide_slowly),
        ):
            seen.clear()
            await work()
            assert len(seen) >= 60 and len(set(seen)) > 10
        others.cancel()

    with_files(scenario)


def test_tm_lim_starve_an_archive_holds_the_content_itself_and_no_copy() -> None:
    content = bytes(1000)
    assert any(part is content for part in tar.pack(tar.Member("/f", "file", content, 0o644)))
