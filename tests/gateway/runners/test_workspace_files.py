"""Files of every provider's sessions, where they are more than one path: watched, searched, packed and unpacked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.errors import GatewayError
from gateway.runners.artifacts import unpack_tree
from tests.gateway.runners.places import Place, Try, write


def test_changes_of_files_are_told_as_they_happen(trial: Try) -> None:
    async def check(place: Place) -> None:
        session = place.session
        await place.sh("mkdir d; echo 1 > d/changed; echo 1 > d/deleted; echo 1 > outside")
        changes = session.watch("d", lambda name: name != "hidden")
        first = asyncio.ensure_future(anext(changes))
        while not first.done():  # it is told what happens after it has begun to look
            await write(session, "d/first", b"x")
            await asyncio.wait([first], timeout=0.05)
        assert first.result().path == "first"
        await place.sh("echo 22 > d/changed; rm d/deleted; echo 1 > d/made; echo 1 > d/hidden; echo 2 > outside")
        told = set()
        while len(told) < 3:
            change = await anext(changes)
            if change.path != "first":
                told.add((change.kind, change.path))
        assert told == {("changed", "changed"), ("deleted", "deleted"), ("created", "made")}

    trial(check)


def test_a_folder_goes_through_an_archive_with_modes_and_links(trial: Try) -> None:
    async def check(place: Place) -> None:
        await place.sh("mkdir -p d/empty; echo run > d/x; chmod 755 d/x")
        has_links = place.provider.id != "hatchway"  # its listings tell files and folders only
        if has_links:
            await place.sh("ln -s x d/l")
        members = list(unpack_tree(await place.session.archive("d", lambda name: True)))
        await place.session.unpack("e/f", members)
        listed = {entry.path: entry for entry in await place.session.list_entries("e/f", recursive=True)}
        assert sorted(listed) == (["empty", "l", "x"] if has_links else ["empty", "x"])
        assert listed["x"].mode & 0o777 == 0o755 and (not has_links or listed["l"].target == "x")
        found = {path async for path, _ in place.session.read_texts("e", lambda name: True)}
        assert found == {"f/x"}
        assert (await place.session.stat("e/f/x")).size_bytes == 4

    trial(check)


def test_tm_run_output_files_with_holes_are_counted_before_an_archive_reads_them(trial: Try) -> None:
    async def check(place: Place) -> None:
        if place.provider.id != "unix-local":
            return
        await place.sh("mkdir d; for i in $(seq 80); do truncate -s 1M d/$i; done")
        session: Any = place.session
        read, perform = [], session._perform

        async def perform_counted(verb: str, path: str, *more: Any, **options: Any) -> bytes:
            read.extend([path] if verb == "read" else [])
            found: bytes = await perform(verb, path, *more, **options)
            return found

        session._perform = perform_counted
        with pytest.raises(GatewayError) as refused:
            await session.archive("d")
        assert refused.value.status == 413 and len(read) == 64

    trial(check)
