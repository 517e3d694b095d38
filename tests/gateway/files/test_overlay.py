"""What lies where when changes are laid over stored files, and which further ones fit on top."""

from __future__ import annotations

import asyncio

from gateway.files.contract_filesystem import InMemorySessionFileSystemFactory
from gateway.files.overlay import Layers
from sandbox.workers.interface import FileChanges, FileEntry


def written(*paths: str) -> FileChanges:
    return FileChanges(written=[FileEntry(path=path, data=b"x") for path in paths])


async def layers(*stored: str, laid: list[FileChanges] | None = None) -> Layers:
    files = InMemorySessionFileSystemFactory().create()
    await files.ready("s")
    for path in stored:
        await files.write("s", path, "x")
    return Layers(files.store, files.tenant, "s", laid or [])


def test_a_file_has_no_place_below_a_file_nor_where_a_directory_is() -> None:
    async def main() -> None:
        found = await layers("/f", "/d/e/g")
        assert await found.obstacle("/f/x/y") == "not a directory: /f"
        assert await found.obstacle("/d/e") == "a directory: /d/e"
        assert await found.obstacle("/d/e", is_directory=True) is None
        assert await found.obstacle("/d/e/g") is None and await found.obstacle("/new/x") is None

    asyncio.run(main())


def test_what_is_removed_stands_in_nobodys_way_also_what_was_below_it() -> None:
    async def main() -> None:
        gone = FileChanges(removed=["/d/e/g", "/d/e", "/d", "/f"])
        found = await layers("/f", "/d/e/g", laid=[written("/d/new"), gone])
        assert await found.obstacle("/f/x") is None and await found.obstacle("/d") is None
        assert await found.obstacle("/d/e") is None

    asyncio.run(main())


def test_the_part_that_fits_is_kept_and_counts_for_what_comes_after() -> None:
    async def main() -> None:
        found = await layers("/f")
        kept, why = await found.fit(written("/f/x", "/a/b", "/a", "/c"))
        assert [one.path for one in kept.written] == ["/a/b", "/c"]
        assert why == ["not a directory: /f", "a directory: /a"]
        assert (await found.fit(written("/c/d")))[1] == ["not a directory: /c"]

    asyncio.run(main())


def test_a_directory_in_which_something_new_lies_is_not_removed() -> None:
    async def main() -> None:
        gone = FileChanges(removed=["/d/old", "/d"])
        kept, why = await (await layers("/d/old", laid=[written("/d/new")])).fit(gone)
        assert kept.removed == ["/d/old"] and len(why) == 1 and "/d" in why[0]
        kept, why = await (await layers("/d/old", "/d/other")).fit(gone)
        assert kept.removed == ["/d/old"] and len(why) == 1
        kept, why = await (await layers("/d/old")).fit(gone)
        assert kept.removed == ["/d/old", "/d"] and why == []

    asyncio.run(main())
