"""Links in archives: what a session has can be carried away and put back, and what leads out is left behind and counted."""

from __future__ import annotations

import pytest

from gateway.errors import BadRequest
from gateway.files import tar
from gateway.files.files import Files
from gateway.stores.engines.memory import MemoryStore
from tests.gateway.files.test_archives import archive_of
from tests.gateway.files.test_files import T1, with_files
from tests.gateway.stores.making import put_file


async def exported(files: Files, path: str = "/") -> bytes:
    return b"".join([part async for part in files.export_tar(path)])


def links_of(archive: bytes) -> dict[str, str]:
    found = tar.unpack(archive, members_max=100, bytes_max=100_000)
    return {one.path: one.content.decode() for one in found if one.kind == "symlink"}


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("/a", "/workspace/d/f"),
        ("/d/e/l", "/workspace/d/f"),
        ("/d/l", "/workspace/d/../d/f"),
        ("/d/e/m", "../f"),
        ("/a", "./d/f"),
    ],
)
def test_a_link_leads_to_the_same_file_after_export_and_import(link: str, target: str) -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/d/f", "found")
        await store.write(T1, [put_file(link, target, kind="symlink")])
        assert await files.count_left_out() == 0
        archive = await exported(files)
        assert not links_of(archive)[link].startswith("/")
        await files.import_tar(archive, "/copy")
        await files.write("/d/f", "changed")
        read = await files.read("/copy" + link)
        assert read is not None and read.content == "found"

    with_files(scenario)


@pytest.mark.parametrize("target", ["/etc/passwd", "/workspacefoo", "../../x", "/workspace/../etc", b"\xff", ""])
def test_a_link_that_leads_out_is_left_out_and_counted(target: str | bytes) -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/d/f", "there")
        await store.write(T1, [put_file("/d/l", target, kind="symlink")])
        assert await files.count_left_out() == 1
        archive = await exported(files)
        assert links_of(archive) == {}
        assert await files.import_tar(archive, "/copy") == 2

    with_files(scenario)


def test_a_link_to_another_folder_is_left_out_of_the_archive_of_its_own() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/other/f", "there")
        links = {"/d/out": "/workspace/other/f", "/d/up": "../other/f", "/d/in": "/workspace/d/deep/x", "/d/top": "/workspace/d"}
        await store.write(T1, [put_file(path, target, kind="symlink") for path, target in links.items()])
        assert links_of(await exported(files, "/d")) == {"/in": "deep/x", "/top": "."}
        assert await files.count_left_out("/d") == 2

    with_files(scenario)


@pytest.mark.parametrize("name", ["a\x01b", "a\nb", "d\x7f/x", "\x85"])
def test_a_name_with_a_control_character_is_said_to_be_the_archives_fault(name: str) -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        with pytest.raises(BadRequest) as refused:
            await files.import_tar(archive_of(name=name))
        assert refused.value.code == "INVALID_ARCHIVE" and "control character" in str(refused.value)

    with_files(scenario)
