"""What a request says and the service cannot do is refused with a word, not passed over in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.http.house import JAVASCRIPT, House, live_in, needs_javascript
from tests.gateway.stores.making import put_file

pytestmark = needs_javascript
SEED = {"path": "/rules.txt", "content": "fixed"}


def test_a_field_of_a_file_that_is_not_known_is_refused(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        misspelt = {**SEED, "readonly": True}
        for target, body in (
            ("/v1/sessions/s1/seed", misspelt),
            ("/v1/runs", {"code": "1", **JAVASCRIPT, "files": [SEED, misspelt]}),
        ):
            said = await house.ask("POST", target, body)
            assert said.status == 400 and "readonly" in said.json["message"], said.body
        assert (await house.ask("GET", "/v1/sessions/s1/files/rules.txt")).status == 404
        assert (await house.ask("POST", "/v1/sessions/s1/seed", {**SEED, "is_readonly": True})).json["is_readonly"] is True

    live_in(tmp_path, test)


@pytest.mark.parametrize("text", ["x" * 201, "nul \0", "two\nlines", "\x7f"])
def test_a_text_for_people_is_one_line_that_is_not_long_wherever_it_is_given(text: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", "title": "x" * 200, **JAVASCRIPT})
        asked: list[tuple[str, str, Any]] = [
            ("POST", "/v1/sessions", {"id": "s2", "title": text, **JAVASCRIPT}),
            ("PATCH", "/v1/sessions/s1", {"title": text}),
            ("POST", "/v1/sessions/s1/snapshots", {"label": text}),
            ("POST", "/v1/tenants", {"id": "big", "name": text}),
            ("PATCH", "/v1/tenants/acme", {"name": text}),
            ("POST", "/v1/tokens", {"name": text}),
        ]
        for method, target, body in asked:
            said = await house.ask(method, target, body, role="admin")
            assert said.status == 400, (target, said.body)
        assert (await house.ask("GET", "/v1/sessions/s1")).json["title"] == "x" * 200
        assert (await house.ask("GET", "/v1/sessions/s2")).status == 404

    live_in(tmp_path, test)


@pytest.mark.parametrize("target", ["/v1/runs", "/v1/sessions/s1/runs"])
def test_a_time_that_no_program_could_have_is_refused_by_the_name_it_was_given(target: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1"})
        refused = await house.ask("POST", target, {"code": "1", "timeout_ms": 0})
        assert (refused.status, refused.code) == (400, "INVALID_ARGUMENT")
        assert "timeout_ms" in refused.json["detail"] and "wall_ms" not in refused.json["detail"]

    live_in(tmp_path, test)


def test_ids_and_a_count_of_forks_that_disagree_are_refused(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        said = await house.ask("POST", "/v1/sessions/s1/fork", {"count": 5, "ids": ["q1"]})
        assert (said.status, said.code) == (400, "INVALID_BODY")
        assert (await house.ask("GET", "/v1/sessions/q1")).status == 404
        for body, count in (({"count": 2, "ids": ["q1", "q2"]}, 2), ({"ids": ["q3"]}, 1), ({"count": 3}, 3), ({}, 1)):
            assert len((await house.ask("POST", "/v1/sessions/s1/fork", body)).json) == count

    live_in(tmp_path, test)


def test_a_label_that_cannot_be_given_is_not_passed_over(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        unnamed = await house.ask("POST", "/v1/sessions/s1/snapshots", {"template": True})
        assert (unnamed.status, unnamed.code) == (400, "INVALID_BODY")
        made = (await house.ask("POST", "/v1/sessions/s1/snapshots", {"label": "start"})).json
        blob = (await house.ask("GET", f"/v1/snapshots/{made['id']}/content")).body
        sealed = {"content_type": "application/cbor"}
        other = await house.ask("POST", "/v1/snapshots?label=other", blob, **sealed)
        assert (other.status, other.code) == (409, "SNAPSHOT_EXISTS") and "start" in other.json["message"]
        for target in ("/v1/snapshots", "/v1/snapshots?label=start"):
            assert (await house.ask("POST", target, blob, **sealed)).json["id"] == made["id"]

    live_in(tmp_path, test)


def test_a_hook_is_removed_by_the_id_it_was_posted_with(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        hook = {"id": "lint", "event": "before_run", "executor": {"type": "shell", "command": "true"}}
        for name in ("lint", "user:lint"):
            assert (await house.ask("POST", "/v1/hooks", hook)).json["id"] == "user:lint"
            assert (await house.ask("DELETE", f"/v1/hooks/{name}")).status == 204
            assert (await house.ask("DELETE", f"/v1/hooks/{name}")).status == 404
        assert (await house.ask("GET", "/v1/hooks")).json == []

    live_in(tmp_path, test)


def test_why_something_was_not_deleted_is_said_as_it_is(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        await house.ask("POST", "/v1/sessions/s1/seed", {"path": "/d/fixed", "content": "", "is_readonly": True})
        files = "/v1/sessions/s1/files/d"
        fixed = await house.ask("DELETE", files + "/fixed")
        assert (fixed.status, fixed.code) == (409, "NOT_DELETED")
        assert "read-only" in fixed.json["message"] and "recursive" not in fixed.body.decode()
        assert "recursive=true" in (await house.ask("DELETE", files)).json["hint"]
        assert "recursive" not in (await house.ask("DELETE", files + "?recursive=true")).body.decode()

    live_in(tmp_path, test)


def test_links_left_out_of_an_archive_are_counted_in_its_answer(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT})
        assert (await house.ask("GET", "/v1/sessions/s1/archive")).headers["hatchway-skipped"] == "0"
        await house.service.store.write("acme", [put_file("/out", "/etc/passwd", kind="symlink")])
        assert (await house.ask("GET", "/v1/sessions/s1/archive")).headers["hatchway-skipped"] == "1"

    live_in(tmp_path, test)
