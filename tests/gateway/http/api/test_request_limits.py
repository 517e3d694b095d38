"""Guards of values, and what a search says it left out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.stores import text_search
from tests.gateway.http.asking import Reply
from tests.gateway.http.house import JAVASCRIPT, House, live_in, needs_javascript

pytestmark = needs_javascript

VALUE = "/v1/sessions/s1/values/colour"


async def put(house: House, value: bytes, **headers: str) -> Reply:
    return await house.ask("PUT", VALUE, value, content_type="application/octet-stream", **headers)


def test_a_value_is_written_only_as_its_guards_allow(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        assert (await put(house, b"red", if_match='"x"')).status == 412
        assert (await house.ask("GET", VALUE)).status == 404, "a refused write leaves nothing"
        made = await put(house, b"red", if_none_match="*")
        assert made.status == 204
        assert (await put(house, b"blue", if_none_match="*")).status == 412
        assert (await put(house, b"blue", if_match='"x"')).status == 412
        assert (await house.ask("GET", VALUE)).body == b"red"
        changed = await put(house, b"green", if_match=made.headers["etag"])
        assert (changed.status, (await house.ask("GET", VALUE)).body) == (204, b"green")
        assert (await put(house, b"black", if_match="no quotes")).status == 400

    live_in(tmp_path, test)


def test_a_value_is_forgotten_only_if_it_is_the_one_that_was_meant(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        old = (await put(house, b"red")).headers["etag"]
        new = (await put(house, b"green")).headers["etag"]
        assert (await house.ask("DELETE", VALUE, if_match=old)).status == 412
        assert (await house.ask("GET", VALUE)).body == b"green"
        assert (await house.ask("DELETE", VALUE, if_match=new)).status == 204
        assert (await house.ask("GET", VALUE)).status == 404
        assert (await house.ask("GET", "/v1/sessions/s1/values")).json["items"] == []

    live_in(tmp_path, test)


def test_of_writers_that_saw_the_same_value_one_wins(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        seen = (await put(house, b"0")).headers["etag"]
        statuses = [one.status for one in await asyncio.gather(*(put(house, b"%d" % n, if_match=seen) for n in range(1, 9)))]
        assert sorted(statuses) == [204] + [412] * 7

    live_in(tmp_path, test)


def test_whoever_has_a_value_is_not_sent_it_again(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        etag = (await put(house, b"red")).headers["etag"]
        again = await house.ask("GET", VALUE, if_none_match=etag)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
        await put(house, b"green")
        assert (await house.ask("GET", VALUE, if_none_match=etag)).body == b"green"

    live_in(tmp_path, test)


def test_a_guard_does_not_hide_that_the_session_is_not_there(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        assert (await put(house, b"red", if_none_match="*")).code == "SESSION_NOT_FOUND"

    live_in(tmp_path, test)


def test_grep_reads_large_files_and_says_what_it_did_not_look_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(house: House) -> None:
        async def grep() -> tuple[list[Any], str, str]:
            found = await house.ask("GET", "/v1/sessions/s1/grep?pattern=needle")
            return found.json, found.headers["hatchway-complete"], found.headers["hatchway-skipped"]

        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        assert await grep() == ([], "true", "0")
        large = b" " * (512 << 10) + b"\nneedle"
        await house.ask("PUT", "/v1/sessions/s1/files/large.txt", large, content_type="text/plain")
        assert await grep() == ([{"path": "/large.txt", "line_number": 2, "line": "needle"}], "true", "0")
        monkeypatch.setattr(text_search, "TIME_MAX_S", -1.0)
        assert await grep() == ([], "false", "1")
        for query in ("pattern=needle", "pattern=needle&regex=false"):
            searched = (await house.ask("GET", f"/v1/sessions/s1/search?{query}")).json
            assert (searched["complete"], searched["skipped"]) == (False, 1)

    live_in(tmp_path, test)


def test_a_link_is_replaced_or_deleted_with_the_etag_of_what_is_read_through_it(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        files = "/v1/sessions/s1/files/"
        octets = {"content_type": "application/octet-stream"}
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        code = "const fs = require('fs'); fs.writeFileSync('t', 'there'); fs.symlinkSync('t', 'l'); fs.symlinkSync('t', 'm')"
        assert (await house.ask("POST", "/v1/sessions/s1/runs", {"code": code})).json["result"]["error"] is None
        etag = (await house.ask("GET", files + "l")).headers["etag"]
        assert (await house.ask("PUT", files + "l", b"x", **octets, if_match='"x"')).status == 412
        assert (await house.ask("PUT", files + "l", b"mine", **octets, if_match=etag)).status == 200
        assert (await house.ask("PUT", files + "l", b"late", **octets, if_match=etag)).status == 412
        assert [(await house.ask("GET", files + name)).body for name in "tl"] == [b"there", b"mine"]
        assert (await house.ask("DELETE", files + "m", if_match=etag)).status == 204
        assert (await house.ask("GET", files + "m")).status == 404

    live_in(tmp_path, test)
