"""What every provider does with files and folders, whatever its kind: one suite, run against all of them (`trial`)."""

from __future__ import annotations

import io
import os
import socket
import stat
import tarfile
from pathlib import Path

import msgspec
import pytest

from gateway.errors import BadRequest, Forbidden, GatewayError, NotFound, TooLarge, Unsupported
from gateway.runners.wire import (
    MAX_FILE_BYTES,
    ArtifactRequest,
    Binding,
    Manifest,
    Mount,
    MountIntent,
)
from tests.gateway.runners.places import NAMES, Place, Servers, Try, a_place, go, read, write


def test_files_written_are_seen_by_commands_and_the_other_way_round(trial: Try) -> None:
    async def check(place: Place) -> None:
        await write(place.session, "deep/er/data.bin", bytes(range(256)))
        assert (await place.sh("wc -c < deep/er/data.bin")).stdout.strip() == "256"
        await place.sh("printf made > made.txt")
        assert await read(place.session, "made.txt") == b"made"
        assert await read(place.session, "deep/er/data.bin") == bytes(range(256))
        await write(place.session, "made.txt", b"")
        assert await read(place.session, "made.txt") == b""

    trial(check)


def test_the_working_directory_is_in_the_workspace(trial: Try) -> None:
    async def check(place: Place) -> None:
        await write(place.session, "sub/name.txt", b"here")
        assert (await place.sh("cat name.txt", cwd="sub")).stdout == "here"
        with pytest.raises(Forbidden, match=r"^path \.\./\.\. is outside workspace "):
            await place.sh("pwd", cwd="../..")
        with pytest.raises(Forbidden, match="is outside workspace"):
            await place.sh("pwd", cwd="/etc")

    trial(check)


def test_paths_that_lead_out_are_refused_with_the_contracts_words(trial: Try) -> None:
    async def check(place: Place) -> None:
        await write(place.session, "a/b", b"")
        for path in ("../x", "a/../../x", "/etc/passwd", "/"):
            for refused in (read(place.session, path), write(place.session, path, b"x")):
                with pytest.raises(Forbidden) as raised:
                    await refused
                assert str(raised.value).startswith(f"path {path} is outside workspace ")
                assert place.host_path is None or str(place.host_path) not in str(raised.value)

    trial(check)


def test_an_empty_path_and_a_missing_file_are_told_apart(trial: Try) -> None:
    async def check(place: Place) -> None:
        for refused in (read(place.session, ""), write(place.session, "", b"")):
            with pytest.raises(BadRequest, match=r"^path is required$"):
                await refused
        with pytest.raises(NotFound, match=r"^path nothing/here does not exist$"):
            await read(place.session, "nothing/here")

    trial(check)


def test_a_link_that_leads_out_is_not_followed(trial: Try) -> None:
    async def check(place: Place) -> None:
        await place.sh("ln -s /etc/passwd file; ln -s /tmp folder; ln -s ../../../../etc up; mkdir in; ln -s in inside")
        for path in ("file", "folder/x", "up/passwd"):
            for refused in (read(place.session, path), write(place.session, path, b"x")):
                with pytest.raises(GatewayError) as raised:
                    await refused
                assert raised.value.code in ("PATH_OUTSIDE_WORKSPACE", "PATH_NOT_FOUND", "PATH_READ_ONLY"), path
        await write(place.session, "inside/x", b"within")
        assert await read(place.session, "in/x") == b"within"

    trial(check)


def test_what_is_no_plain_file_is_neither_read_nor_written(trial: Try) -> None:
    async def check(place: Place) -> None:
        await place.sh("mkdir folder; echo x > one; ln one two")
        if place.host_path is not None:  # what our own shell calls a pipe is one to nobody else
            os.mkfifo(place.host_path / "pipe")
            os.mknod(place.host_path / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 5)) if os.geteuid() == 0 else None
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(f"/proc/self/fd/{os.open(place.host_path, os.O_PATH)}/socket")  # the path itself is too long
        for path in ("folder", "pipe", "two", "device", "socket"):
            with pytest.raises(GatewayError) as raised:
                await read(place.session, path)
            assert raised.value.code in ("PATH_NOT_A_FILE", "PATH_NOT_FOUND"), path
            if path != "two" and raised.value.code == "PATH_NOT_A_FILE":
                with pytest.raises(BadRequest):
                    await write(place.session, path, b"x")

    trial(check)


def test_a_file_that_could_never_be_read_again_is_not_written(trial: Try) -> None:
    async def check(place: Place) -> None:
        with pytest.raises(TooLarge):
            await write(place.session, "big", bytes(MAX_FILE_BYTES + 1))
        with pytest.raises(NotFound):
            await read(place.session, "big")

    trial(check)


def test_a_folder_is_exported_without_what_is_not_permitted(trial: Try) -> None:
    async def check(place: Place) -> None:
        for name in ("out/a", "out/b/c", "out/hidden/d"):
            await write(place.session, name, name.encode())
        asked = ArtifactRequest(path="out", recursive=True)
        made = await place.session.export_artifact(asked, lambda name: not name.startswith("hidden"))
        contents = await place.provider.blobs.get(made.artifact_id)  # type: ignore[attr-defined]
        with tarfile.open(fileobj=io.BytesIO(contents)) as opened:
            assert sorted(opened.getnames()) == ["a", "b", "b/c"]

    trial(check)


def test_artifacts_are_exported_by_their_contents(trial: Try) -> None:
    async def check(place: Place) -> None:
        await write(place.session, "out/report.txt", b"report")
        one = await place.session.export_artifact(ArtifactRequest(path="out/report.txt"))
        assert one.path == "out/report.txt" and one.metadata == {"kind": "file", "size_bytes": 6}
        assert await place.provider.blobs.get(one.artifact_id) == b"report"  # type: ignore[attr-defined]
        with pytest.raises(Forbidden):
            await place.session.export_artifact(ArtifactRequest(path="../x"))

    trial(check)


@pytest.mark.parametrize("name", NAMES)
def test_a_binding_narrows_the_workspace_and_its_path_is_real_in_commands(name: str, tmp_path: Path, servers: Servers) -> None:
    async def main() -> None:
        async with a_place(name, tmp_path, servers) as place:
            session = await place.open(Binding(destination=place.destination, workspace="/workspace/own"))
            await write(session, "z", b"z")
            assert await read(session, "/workspace/own/z") == b"z"
            if name != "docker-fake":  # which runs commands on this machine as they are
                assert (await place.sh("pwd; cat /workspace/own/z")).stdout == "/workspace/own\nz"
            for path in ("../shared/y", "/workspace/other", "/workspace/shared/y"):
                with pytest.raises(Forbidden):
                    await read(session, path)
                with pytest.raises(Forbidden):
                    await write(session, path, b"no")
            with pytest.raises(Forbidden):
                await place.sh("pwd", cwd="/workspace")
            with pytest.raises(BadRequest, match=r"^runner workspace must be an absolute path$"):
                await place.open(Binding(destination=place.destination, workspace="relative"))
            with pytest.raises(Forbidden, match=r"^path /srv is outside workspace /workspace$"):
                await place.open(Binding(destination=place.destination, workspace="/srv"))

    go(main())


@pytest.mark.parametrize("name", NAMES)
def test_two_sessions_of_a_destination_see_nothing_of_each_other(name: str, tmp_path: Path, servers: Servers) -> None:
    async def main() -> None:
        async with a_place(name, tmp_path, servers) as place:
            first = await place.open()
            await write(first, "mine", b"first")
            second = await place.open()
            assert (await place.sh("ls -A /workspace; cat /workspace/mine")).stdout == ""
            await place.sh("echo second > mine")
            for path in (f"../{first.id}/mine", f"/workspace/../{first.id}/mine"):
                with pytest.raises(GatewayError):
                    await read(second, path)
            if place.base is not None and name != "docker-fake":  # which runs commands on this machine as they are
                assert (await place.sh(f"cat {place.base}/{first.id}/mine {place.base}/{first.id}/*/mine")).stdout == ""
            assert await read(first, "mine") == b"first"

    go(main())


@pytest.mark.parametrize("name", NAMES)
def test_every_provider_calls_its_root_slash_workspace(name: str, tmp_path: Path, servers: Servers) -> None:
    async def main() -> None:
        async with a_place(name, tmp_path, servers) as place:
            session = await place.open(Binding(destination=place.destination, workspace="/workspace"))
            await write(session, "/workspace/in/f", b"here")
            assert await read(session, "in/f") == b"here"
            assert (await place.sh("cat f", cwd="/workspace/in")).stdout == "here"
            if name != "docker-fake":
                assert (await place.sh("cd /; cat /workspace/in/f")).stdout == "here"
            with pytest.raises(Forbidden):
                await read(session, "/workspace/../etc/passwd")

    go(main())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["gcs", "azure_blob", "box_storage", "floppy"])
def test_a_mount_kind_that_cannot_be_served_is_refused_by_its_name(
    name: str, kind: str, tmp_path: Path, servers: Servers
) -> None:
    async def main() -> None:
        async with a_place(name, tmp_path, servers) as place:
            mount = Mount(name="m", path="data", intent=MountIntent(kind=kind))
            bad = msgspec.structs.replace(place.destination, default_manifest=Manifest(mounts=[mount]))
            with pytest.raises(Unsupported, match=rf"^mount kind {kind} is not supported by provider {bad.provider_id}$"):
                await place.provider.create(bad)

    go(main())
