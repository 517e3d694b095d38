"""Files, values and tools' files of a session, seen from the API and from its programs."""

from __future__ import annotations

import asyncio
import base64
import io
import tarfile
from typing import Any

import pytest

from gateway.capabilities.session_files import SessionFiles
from gateway.clock import now_ms
from gateway.errors import BadRequest, Conflict, Forbidden, NotFound, PreconditionFailed
from gateway.files.files import Files
from gateway.files.governed_files import FindFiles, GovernedFiles
from gateway.files.values import Values
from gateway.records import InitialFile
from gateway.runs.runs import RunBody
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import ABSENT
from sandbox.wire import Language
from tests.gateway.house import ANN, BOB, EVE, House, housed

RULES = """
allow fs.read when path under "/workspace"
allow fs.write when path under "/workspace" and bytes <= 1KiB
deny fs.* when path under "/workspace/private"
"""
NESTED = """
deny fs.write when path under "/workspace/d/locked"
"""
TESTS = """
fs.read { path "/workspace/a" } => allow fs.read { path "/workspace/private/a" } => deny
fs.write { path "/workspace/a", bytes 1B } => allow fs.write { path "/workspace/a", bytes 2KiB } => deny
"""


async def shell(house: House, session: str, code: str) -> str:
    done = await house.runs.run(ANN, session, RunBody(code=code, language=Language.SHELL))
    assert done.result is not None
    return done.result.stdout


async def opened(house: House) -> tuple[GovernedFiles, str]:
    session = await house.sessions.create(ANN, CreateSession())
    return GovernedFiles(find_files(house), house.sessions), session.id


def find_files(house: House) -> FindFiles:
    return lambda session: Files(house.store, now_ms, session.tenant, session.id)


def test_a_file_written_over_the_api_is_there_for_the_next_run_and_back() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await shell(house, session, "mkdir d; echo from-guest > d/g")
            await files.write(ANN, session, "d/a.txt", b"from-api")
            assert await shell(house, session, "cat d/a.txt d/g") == "from-apifrom-guest\n"
            assert (await files.read_bytes(ANN, session, "/workspace/d/g"))[1] == b"from-guest\n"
            assert [one.path for one in await files.list(ANN, session, "d")] == ["/d/a.txt", "/d/g"]
            assert await files.delete(ANN, session, "d", recursive=True)
            assert await shell(house, session, "ls") == ""

    asyncio.run(main())


def test_a_read_only_file_stays_for_programs_and_clients_alike() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await shell(house, session, "true")
            await files.seed(ANN, session, InitialFile(path="/rules.txt", content="fixed", is_readonly=True))
            assert await shell(house, session, "echo x > rules.txt 2>/dev/null || cat rules.txt") == "fixed"
            with pytest.raises(Forbidden):
                await files.write(ANN, session, "rules.txt", b"x")

    asyncio.run(main())


def test_tm_iso_readonly_nothing_above_a_read_only_file_is_removed_by_clients_or_programs() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await files.seed(ANN, session, InitialFile(path="/policy/deep/allow", content="fixed", is_readonly=True))
            await files.write(ANN, session, "policy/other", b"x")
            for place in ("policy", "/workspace/policy/deep", "policy/deep/allow"):
                assert not await files.delete(ANN, session, place, recursive=True)
            await shell(house, session, "mv policy p2; rm -rf policy; true")
            assert await shell(house, session, "cat policy/deep/allow; ls") == "fixedpolicy\n"
            assert (await files.read_bytes(ANN, session, "policy/deep/allow"))[1] == b"fixed"

    asyncio.run(main())


def test_permissions_are_the_same_for_programs_and_clients_and_bind_both() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await shell(
                house, session, "echo 1 > a; chmod 750 a; mkdir d; chmod 700 d; echo 1 > b; chmod 200 b; echo 1 > c; chmod 444 c"
            )
            assert [(await files.stat(ANN, session, path)).mode for path in "adbc"] == [0o750, 0o700, 0o200, 0o444]
            with pytest.raises(Forbidden, match="permissions"):
                await files.read(ANN, session, "b")
            with pytest.raises(Forbidden, match="permissions"):
                await files.write(ANN, session, "c", b"x")
            await files.write(ANN, session, "a", b"2")
            assert (await files.chmod(ANN, session, "/workspace/d", 0o755)).mode == 0o755
            await files.chmod(ANN, session, "c", 0o600)
            await files.write(ANN, session, "c", b"3")
            assert await shell(house, session, "stat -c %a a d b c; cat a c") == "750\n755\n200\n600\n23"
            await house.sessions.eviction.evict_all()
            assert await shell(house, session, "stat -c %a a d b c") == "750\n755\n200\n600\n"
            other = await house.sessions.create(ANN, CreateSession())
            parts, left_out = await files.export(ANN, session)
            await files.take_in(ANN, other.id, b"".join([part async for part in parts]))
            assert await shell(house, other.id, "stat -c '%n %a' *") == "a 750\nc 600\nd 755\n" and left_out == 1

    asyncio.run(main())


def test_the_policy_decides_about_every_access() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await shell(house, session, "mkdir private; echo s > private/key")
            for refused in (
                files.read(ANN, session, "private/key"),
                files.read(ANN, session, "/workspace/x/../private/key"),
                files.write(ANN, session, "private/key", b"x"),
                files.write(ANN, session, "big", b"x" * 2000),
                files.delete(ANN, session, "private", recursive=True),
            ):
                with pytest.raises(Forbidden):
                    await refused
            await house.audit.flush()
            denied = [one for one in await house.store.audit("acme", limit=200) if one.data.get("verdict") == "deny"]
            assert len(denied) == 5

    asyncio.run(main())


def archive(*names: str, size: int = 1) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = size
            tar.addfile(info, io.BytesIO(b"x" * size))
    return packed.getvalue()


def test_tm_store_beside_protected_files_are_not_reached_by_listing_search_archive_link_or_directory() -> None:
    async def main() -> None:
        async with housed(RULES + NESTED, TESTS) as house:
            files, session = await opened(house)
            made = "mkdir -p private d/locked; echo word | tee private/key > open; ln -s private/key link; echo 1 > d/locked/x"
            await shell(house, session, made)
            assert [one.path for one in await files.list(ANN, session)] == ["/d", "/link", "/open"]
            assert [one.path for one in (await files.search(ANN, session, "word", regex=False)).matches] == ["/open"]
            found = await files.search(ANN, session, "w.rd")
            assert [one.path for one in found.matches] == ["/open"] and found.complete and found.skipped == 0
            packed = b"".join([piece async for piece in (await files.export(ANN, session))[0]])
            with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
                names = tar.getnames()
            assert "open" in names and not [name for name in names if name.startswith("private")]
            for through in (files.read, files.read_bytes, files.stat):
                with pytest.raises(NotFound):
                    await through(ANN, session, "link")
            with pytest.raises(Forbidden):
                await files.take_in(ANN, session, archive("fine", "private/planted"))
            with pytest.raises(Forbidden):
                await files.delete(ANN, session, "d", recursive=True)
            there = {one.path for one in await house.store.tree("acme", session)}
            assert "/fine" not in there and "/private/planted" not in there and "/d/locked/x" in there

    asyncio.run(main())


def test_a_directory_is_listed_in_pages_that_go_on_whatever_may_not_be_seen() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await shell(house, session, "mkdir d private; touch a b z ä d/x")
            pages: list[list[str]] = []
            after: str | None = None
            while not pages or after is not None:
                page = await files.list(ANN, session, after=after, limit=2)
                pages.append([one.name for one in page])
                after = page.next
            assert pages == [["a", "b"], ["d"], ["z", "ä"]]
            assert (await files.list(ANN, session, "nowhere", limit=2)).items == []
            assert (await files.list(ANN, session, "a", limit=2)).items == []

    asyncio.run(main())


def test_search_takes_a_regular_expression_and_grep_a_text() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await files.write(ANN, session, "a", b"a.c\nabc\n")
            assert [one.line for one in (await files.search(ANN, session, "a.c", regex=False)).matches] == ["a.c"]
            assert [one.line for one in (await files.search(ANN, session, "^a.c$")).matches] == ["a.c", "abc"]

    asyncio.run(main())


def test_what_was_unpacked_below_a_directory_can_be_read_there_or_is_refused() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            deep = "/".join(["d"] * 60)
            with pytest.raises(BadRequest):
                await files.take_in(ANN, session, archive(f"{deep}/f"), deep)
            assert await house.store.tree("acme", session) == []
            await files.take_in(ANN, session, archive("workspace/f"), "/workspace")
            assert (await files.read_bytes(ANN, session, "/workspace/workspace/f"))[1] == b"x"

    asyncio.run(main())


def test_an_empty_tree_goes_out_and_in_and_what_is_no_directory_goes_nowhere() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            packed = b"".join([chunk async for chunk in (await files.export(ANN, session))[0]])
            assert await files.take_in(ANN, session, packed) == 0
            await files.write(ANN, session, "f", b"1")
            with pytest.raises(NotFound):
                await files.export(ANN, session, "misspelt")
            with pytest.raises(Conflict):
                await files.export(ANN, session, "f")

    asyncio.run(main())


def test_the_policy_is_told_how_many_bytes_a_seed_has_however_they_travel() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            encoded = base64.b64encode(b"x" * 1024).decode()
            await files.seed(ANN, session, InitialFile(path="full", content=encoded, encoding="base64"))
            with pytest.raises(Forbidden):
                await files.seed(ANN, session, InitialFile(path="wide", content="é" * 1024))

    asyncio.run(main())


def test_a_delete_that_expects_another_content_deletes_nothing() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await files.write(ANN, session, "a", b"1")
            digest = (await files.read_bytes(ANN, session, "a"))[0].digest
            await files.write(ANN, session, "a", b"2")
            with pytest.raises(PreconditionFailed):
                await files.delete(ANN, session, "a", expect=digest)
            assert (await files.read_bytes(ANN, session, "a"))[1] == b"2"

    asyncio.run(main())


def test_writers_who_expect_something_else_are_told() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await files.write(ANN, session, "a", b"1", ABSENT)
            with pytest.raises(PreconditionFailed):
                await files.write(ANN, session, "a", b"2", ABSENT)
            digest = (await files.read_bytes(ANN, session, "a"))[0].digest
            await files.write(ANN, session, "a", b"2", digest)
            with pytest.raises(PreconditionFailed):
                await files.write(ANN, session, "a", b"3", digest)

    asyncio.run(main())


def test_a_tree_goes_out_and_in_as_tar() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await shell(house, session, "mkdir d; echo 1 > d/a; echo 2 > b")
            packed = b"".join([chunk async for chunk in (await files.export(ANN, session))[0]])
            with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
                assert {name.strip("/") for name in tar.getnames()} >= {"d/a", "b"}
            other = (await house.sessions.create(ANN, CreateSession())).id
            await shell(house, other, "echo old > old")
            with pytest.raises(Forbidden):
                await files.take_in(ANN, other, archive("fine", "large", size=2000))  # the policy allows files of one KiB
            assert await shell(house, other, "ls") == "old\n"
            assert await files.take_in(ANN, other, packed, "below") == 3
            assert await shell(house, other, "cat old below/d/a below/b") == "old\n1\n2\n"

    asyncio.run(main())


def test_what_another_tenant_asks_for_is_not_there() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await files.write(ANN, session, "a", b"1")
            for refused in (files.read(EVE, session, "a"), files.write(EVE, session, "a", b"2"), files.list(EVE, session)):
                with pytest.raises(NotFound):
                    await refused

    asyncio.run(main())


def test_values_are_kept_listed_without_contents_and_forgotten() -> None:
    async def main() -> None:
        async with housed() as house:
            session = (await house.sessions.create(ANN, CreateSession())).id
            values = Values(house.store, house.sessions, now_ms)
            await values.put(ANN, session, "b", b"2")
            await values.put(ANN, session, "a", b"1")
            assert [one.key for one in (await values.page(ANN, session)).items] == ["a", "b"]
            assert await values.get(ANN, session, "a") == b"1"
            assert await values.delete(ANN, session, "a") and not await values.delete(ANN, session, "a")
            with pytest.raises(NotFound):
                await values.get(EVE, session, "b")
            for key in ("", "x" * 256, "a\0b", "tool_approval/x"):
                with pytest.raises(BadRequest):
                    await values.put(ANN, session, key, b"")

    asyncio.run(main())


def test_files_that_a_tool_wrote_are_stored_with_the_run_and_not_without_it() -> None:
    async def main() -> None:
        holder: dict[str, Any] = {}

        async def save(path: str, text: str) -> int:
            raise AssertionError("replaced below")

        text = {"type": "string"}
        functions = {"save": ({"path": text, "text": text}, save)}
        rules = RULES + "allow save"
        async with housed(rules, TESTS + ' save { path "x", text "y" } => allow', functions=functions) as house:
            tool_files = SessionFiles(find_files(house))
            held = house.catalogue.find("acme", "save")

            async def write(caller: Any, args: list[Any], kwargs: dict[str, Any]) -> str:
                await tool_files.write(caller, kwargs["path"], kwargs["text"].encode())
                holder["seen"] = await tool_files.read(caller, kwargs["path"], 1000)
                return ",".join(await tool_files.names(caller, "/workspace"))

            object.__setattr__(held, "function", write)
            session = (await house.sessions.create(ANN, CreateSession())).id
            done = await house.runs.run(ANN, session, RunBody(code="tools.save(path='/workspace/n.txt', text='hi')"))
            assert done.result is not None and done.result.result == "n.txt" and holder["seen"] == b"hi"
            assert await shell(house, session, "cat n.txt; chmod 755 n.txt") == "hi"
            await house.runs.run(ANN, session, RunBody(code="tools.save(path='n.txt', text='relative')"))
            assert await shell(house, session, "cat n.txt; stat -c ' %a' n.txt; chmod 444 n.txt") == "relative 755\n"
            refused = await house.runs.run(ANN, session, RunBody(code="tools.save(path='n.txt', text='no')"))
            assert refused.result is not None and refused.result.status.value == "permission_denied"
            code = "tools.save(path='/workspace/private/k', text='no')"
            refused = await house.runs.run(ANN, session, RunBody(code=code))
            assert refused.result is not None and refused.result.status.value == "permission_denied"

    asyncio.run(main())


def test_the_audit_says_who_did_what_to_which_file() -> None:
    async def main() -> None:
        async with housed(RULES, TESTS) as house:
            files, session = await opened(house)
            await files.write(BOB, session, "payroll.csv", b"1")
            await files.read_bytes(BOB, session, "payroll.csv")
            await files.delete(BOB, session, "payroll.csv")
            await house.audit.flush()
            found = [one for one in await house.store.audit("acme", limit=200) if one.data.get("path")]
            assert [(one.actor, one.data["event"], one.data["operation"], one.data["path"]) for one in found] == [
                ("bob", "fs.write", "write", "/workspace/payroll.csv"),
                ("bob", "fs.read", "read", "/workspace/payroll.csv"),
                ("bob", "fs.write", "delete", "/workspace/payroll.csv"),
            ]

    asyncio.run(main())
