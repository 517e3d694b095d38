"""Archives of a session's files: whole trees out and in, and nothing of a hostile one."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
from collections.abc import Callable
from typing import Any

import pytest

from gateway.children import Overrun
from gateway.errors import BadRequest, GatewayError, TooLarge
from gateway.files import tar as tar_module
from gateway.files.files import Files, normalize
from gateway.files.tar import unpack
from gateway.records import InitialFile
from gateway.stores.engines.memory import MemoryStore
from gateway.stores.stored import StoreLimits
from tests.gateway.files.test_files import S1, T1, with_files
from tests.gateway.stores.making import put_file


def test_a_tree_survives_export_and_import() -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write("/d/a.txt", "hello")
        await files.write_bytes("/d/" + "long-name-" * 20, bytes(range(256)))
        await files.mkdir("/d/empty")
        await files.chmod("/d/empty", 0o700)
        await files.chmod("/d/a.txt", 0o444)
        await files.seed(InitialFile(path="/d/ünïcode", content="r", is_readonly=True))
        await store.write(T1, [put_file("/d/link", "a.txt", kind="symlink")])
        archive = b"".join([part async for part in files.export_tar("/d")])
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            assert "a.txt" in tar.getnames() and "ünïcode" in tar.getnames()
            assert [tar.getmember(name).mode for name in ("a.txt", "empty", "ünïcode")] == [0o444, 0o700, 0o444]
        assert await files.import_tar(archive, "/copy") == 5
        old = {
            one.path[2:]: (one.kind, one.digest, one.is_readonly, one.encoding, one.mode)
            for one in await store.tree(T1, S1)
            if one.path.startswith("/d/")
        }
        new = {
            one.path[5:]: (one.kind, one.digest, one.is_readonly, one.encoding, one.mode)
            for one in await store.tree(T1, S1)
            if one.path.startswith("/copy/")
        }
        assert old == new

    with_files(scenario)


def test_tm_store_tar_is_read_in_a_child_and_one_that_overruns_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def no(*_: Any, **__: Any) -> None:
        raise AssertionError("it is read in this process")

    async def overrun(*_: Any) -> None:
        raise Overrun

    async def scenario(files: Files, store: MemoryStore) -> None:
        await files.write_bytes("/d/large", bytes(range(256)) * 1000)
        archive = b"".join([part async for part in files.export_tar("/d")])
        monkeypatch.setattr(tar_module, "unpack", no)
        with monkeypatch.context() as slow:
            slow.setattr(tar_module, "run_in_child", overrun)
            with pytest.raises(BadRequest, match="too long"):
                await files.import_tar(archive, "/copy")
        assert await files.import_tar(archive, "/copy") == 1
        found = await files.read_bytes("/copy/large")
        assert found is not None and found[1] == bytes(range(256)) * 1000

    with_files(scenario)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_of_every_usual_form_are_read(form: int) -> None:
    raw = io.BytesIO()
    name = "/".join(["deep" * 10] * 5) + "/file"
    with tarfile.open(fileobj=raw, mode="w", format=form) as tar:
        info = tarfile.TarInfo(name)
        info.size = 3
        tar.addfile(info, io.BytesIO(b"abc"))
    (member,) = unpack(raw.getvalue(), members_max=10, bytes_max=1000)
    assert (member.path, member.content) == ("/" + name, b"abc")


def archive_of(**facts: Any) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        good = tarfile.TarInfo("good")
        tar.addfile(good)
        info = tarfile.TarInfo(facts.pop("name", "x"))
        for key, value in facts.items():
            setattr(info, key, value)
        tar.addfile(info, io.BytesIO(b"\0" * info.size) if info.isreg() else None)
    return raw.getvalue()


@pytest.mark.parametrize(
    "facts",
    [
        {"name": "../x"}, {"name": "a/../../x"}, {"name": "/etc/passwd"}, {"name": "a/\udcff"},
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, {"type": tarfile.SYMTYPE, "linkname": "../x"},
        {"type": tarfile.SYMTYPE, "name": "a/b", "linkname": "c/../../../x"}, {"type": tarfile.SYMTYPE, "linkname": ""},
        {"type": tarfile.LNKTYPE, "linkname": "good"}, {"type": tarfile.CHRTYPE}, {"type": tarfile.BLKTYPE},
        {"type": tarfile.FIFOTYPE},
        {"type": tarfile.CONTTYPE}, {"type": tarfile.GNUTYPE_SPARSE}, {"pax_headers": {"GNU.sparse.realsize": "99999999"}},
        {"name": "."}, {"pax_headers": {"path": "../../x"}}, {"size": 2000},
    ],
)  # fmt: skip
def test_tm_store_tar_nothing_of_a_hostile_archive_is_stored(facts: dict[str, Any]) -> None:
    async def scenario(files: Files, store: MemoryStore) -> None:
        with pytest.raises(GatewayError):
            await files.import_tar(archive_of(**facts))
        assert await store.tree(T1, S1) == []

    with_files(scenario, StoreLimits(session_bytes=1000))


def test_an_archive_that_is_cut_damaged_or_compressed_is_refused() -> None:
    archive = archive_of(name="x", size=600)
    whole = list(unpack(archive, members_max=10, bytes_max=1000))
    assert len(whole) == 2
    for cut in range(512, 512 * 4, 100):
        with pytest.raises(BadRequest):
            list(unpack(archive[:cut], members_max=10, bytes_max=1000))
    for place in range(0, 512, 7):
        if archive[place] != 0xFF:
            damaged = archive[:place] + b"\xff" + archive[place + 1 :]
            with pytest.raises(BadRequest):
                list(unpack(damaged, members_max=10, bytes_max=1000))
    for junk in (b"", b"\x1f\x8b" + b"x" * 1022, b"x" * 1024):
        with pytest.raises(BadRequest):
            list(unpack(junk, members_max=10, bytes_max=1000))
    with pytest.raises(TooLarge):
        list(unpack(archive, members_max=1, bytes_max=1000))


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_whoever_sends_a_compressed_archive_is_told_what_is_wrong(compress: Callable[[bytes], bytes]) -> None:
    archive = compress(random.Random(1).randbytes(4096))
    with pytest.raises(BadRequest, match="compressed"):
        list(unpack(archive, members_max=10, bytes_max=10_000))


def test_a_mutated_archive_is_read_or_refused_and_nothing_else() -> None:
    chance = random.Random(5)
    seeds = [archive_of(name="d/x", size=600), archive_of(name="é" * 90), archive_of(type=tarfile.SYMTYPE, linkname="good")]
    refused = 0
    for _ in range(3000):
        archive = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(1, 6)):
            archive[chance.randrange(min(len(archive), 3072))] = chance.choice(b"\0\x01 /.0179AxLKg\xff\x80")
        header = chance.randrange(0, 2048, 512)
        archive[header + 148 : header + 156] = b"%06o\0 " % (
            sum(archive[header : header + 148]) + 256 + sum(archive[header + 156 : header + 512])
        )
        try:
            for member in unpack(bytes(archive), members_max=5, bytes_max=2000):
                assert normalize(member.path.lstrip("/")) == member.path and len(member.content) <= 2000
        except (BadRequest, TooLarge):
            refused += 1
    assert 300 < refused < 3000
