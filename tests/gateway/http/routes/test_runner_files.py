"""Files of runners over HTTP: looked at, searched, watched, packed with modes and links, kept as artifacts and deleted."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.gateway.http.routes.test_runners import ONE, PLACES, House, _ready, live_in
from tests.gateway.runners.test_runner_artifacts import furnished

__all__ = ["_ready"]
TWO = "/v1/runners/threads/t2"


@pytest.mark.parametrize("provider", PLACES)
def test_a_path_is_looked_at_and_texts_are_searched(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        await house.sh("mkdir d; printf 'one\\ntwo apples\\n' > d/f; chmod 640 d/f; ln -s f d/l; printf 'a\\0apples' > d/raw")
        seen = (await house.ask("GET", ONE + "/stat?path=d/f")).json
        assert (seen["kind"], seen["size_bytes"], seen["mode"] & 0o777) == ("file", 15, 0o640)
        assert (await house.ask("GET", ONE + "/stat?path=d/l")).json["target"] == "f"
        assert (await house.ask("GET", ONE + "/stat?path=none")).code == "PATH_NOT_FOUND"
        found = (await house.ask("GET", ONE + "/search?pattern=ap.les$")).json
        assert found == {
            "matches": [{"path": "d/f", "line_number": 2, "line": "two apples"}], "complete": True, "skipped": 0,
        }  # fmt: skip
        assert (await house.ask("GET", ONE + "/search?pattern=two&path=d&regex=false")).json["matches"][0]["path"] == "f"
        assert (await house.ask("GET", ONE + "/search?pattern=(")).code == "INVALID_PATTERN"
        await house.ask("PUT", ONE + "/files?path=large", b"apples\n" * 100_000, content_type="application/octet-stream")
        found = (await house.ask("GET", ONE + "/search?pattern=nothing")).json
        assert found == {"matches": [], "complete": False, "skipped": 1}

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_tm_store_beside_what_may_not_be_read_is_not_found_packed_or_looked_at(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await furnished(house, provider)
        found = (await house.ask("GET", ONE + "/search?pattern=.")).json["matches"]
        assert sorted(one["path"] for one in found) == ["open/a", "top"]
        packed = await house.ask("GET", ONE + "/archive")
        with tarfile.open(fileobj=io.BytesIO(packed.body)) as archive:
            assert sorted(archive.getnames()) == ["open", "open/a", "top"]
        for path in ("stat?path=secret/a", "archive?path=secret", "search?pattern=s&path=secret", "watch?path=secret"):
            assert (await house.ask("GET", f"{ONE}/{path}")).code == "PERMISSION_DENIED"

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_a_folder_is_packed_and_unpacked_with_modes_and_links(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        await house.sh("mkdir -p d/empty; echo run > d/x; chmod 755 d/x; ln -s x d/l")
        packed = await house.ask("GET", ONE + "/archive?path=d")
        assert packed.headers["content-type"] == "application/x-tar"
        put = await house.ask("POST", ONE + "/archive?path=e/f", packed.body, content_type="application/x-tar")
        assert put.json == {"entries": 3}, put.body
        listed = (await house.ask("GET", ONE + "/entries?path=e/f")).json
        assert [(one["path"], one["kind"], one["target"]) for one in listed] == [
            ("empty", "directory", None), ("l", "link", "x"), ("x", "file", None)
        ]  # fmt: skip
        assert listed[2]["mode"] & 0o777 == 0o755
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            archive.addfile(tarfile.TarInfo("../x"))
        refused = await house.ask("POST", ONE + "/archive", out.getvalue(), content_type="application/x-tar")
        assert refused.code == "INVALID_ARCHIVE"

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_artifacts_are_listed_deleted_and_go_with_their_thread(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.bind(provider)
        assert (await house.ask("PUT", TWO, {"destination_id": "box"})).status == 200
        put = {"content_type": "application/octet-stream"}
        made = []
        for thread in (ONE, TWO):
            await house.ask("PUT", thread + "/files?path=a", b"same", **put)
            made.append((await house.ask("POST", thread + "/artifacts", {"path": "a"})).json)
        assert [one["artifact_id"] for one in (await house.ask("GET", ONE + "/artifacts")).json] == [made[0]["artifact_id"]]
        await house.ask("POST", ONE + "/stop")
        assert (await house.ask("GET", ONE + "/artifacts")).json == [made[0]], "they are found again"
        assert (await house.ask("DELETE", made[0]["url"])).status == 204
        assert (await house.ask("GET", made[0]["url"])).status == 404
        assert (await house.ask("DELETE", made[0]["url"])).status == 404
        assert (await house.ask("GET", made[1]["url"])).body == b"same", "one of the same contents is another's"
        assert (await house.ask("DELETE", TWO)).status == 204
        blobs = house.service.runners.pool.providers("acme")[provider].blobs
        assert [one async for one in blobs._walk()] == []

    live_in(tmp_path, test)
