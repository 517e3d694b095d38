"""Hooks over HTTP: what is shown of them, and the programs that are kept for them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from sandbox.guests.images import images
from tests.gateway.http.house import JAVASCRIPT, House, live_in

pytestmark = pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")
TEXT = (
    "policy p v 1\nallow session.create\nallow run\nlimit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 10 }\n"
    'hook lint on before run run shell "hooks/lint.sh" timeout 30s on_error block\n'
    'hook scan on after run run wasm "scan.wasm" timeout 30s on_error warn\n'
    'test "t" { as { tenant acme } run { language javascript, bytes 1KiB } => allow\n'
    "session.create { language javascript } => allow }\n"
)


def test_a_hook_is_shown_with_the_type_of_its_executor_also_if_that_is_the_default(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        for executor in ({"type": "bash", "command": "true"}, {"command": "true"}):
            made = await house.ask("POST", "/v1/hooks", {"id": "h", "event": "turn_end", "executor": executor}, role="author")
            assert made.json["executor"] == {"type": "bash", "command": "true"}
            (listed,) = (await house.ask("GET", "/v1/hooks", role="author")).json
            assert listed["executor"] == {"type": "bash", "command": "true"}

    live_in(tmp_path, test)


def test_the_description_of_the_api_says_what_a_hook_is(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        described = (await house.ask("GET", "/openapi.json")).json
        body = described["paths"]["/v1/hooks"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        shown = described["components"]["schemas"]["UserHookSpec"]["properties"]
        assert set(body["properties"]) == set(shown) - {"uses", "sha256"}
        assert body["required"] == ["event", "executor"]
        for name in ("event", "matcher", "executor"):
            assert body["properties"][name]["$ref"].rsplit("/", 1)[1] in described["components"]["schemas"]

    live_in(tmp_path, test)


def test_programs_of_hooks_are_kept_listed_read_and_forgotten(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        async def ask(method: str, target: str, body: Any = b"", **more: Any) -> Any:
            return await house.ask(method, target, body, role="author", **more)

        names = [f"lint/{number:02}.sh" for number in range(11)]
        for name in names:
            kept = await ask("PUT", f"/v1/hooks/programs/{name}", b"echo " + name.encode(), content_type="text/plain")
            assert kept.status == 200
        first = (await ask("GET", "/v1/hooks/programs?limit=9")).json
        rest = (await ask("GET", f"/v1/hooks/programs?limit=9&cursor={first['next']}")).json
        assert [one["name"] for one in first["items"] + rest["items"]] == names and rest["next"] is None
        assert {one["size_bytes"] for one in first["items"]} == {len("echo lint/00.sh")}
        assert (await ask("GET", "/v1/hooks/programs/lint/03.sh")).body == b"echo lint/03.sh"
        uses = {"id": "h", "event": "turn_end", "executor": {"type": "shell", "program": "lint/03.sh"}}
        await ask("POST", "/v1/hooks", uses)
        assert (await ask("DELETE", "/v1/hooks/programs/lint/03.sh")).code == "HOOK_PROGRAM_IN_USE"
        await ask("DELETE", "/v1/hooks/user:h")
        assert (await ask("DELETE", "/v1/hooks/programs/lint/03.sh")).status == 204
        for method in ("GET", "DELETE"):
            gone = await ask(method, "/v1/hooks/programs/lint/03.sh")
            assert (gone.status, gone.code) == (404, "HOOK_PROGRAM_NOT_FOUND")
        assert len((await ask("GET", "/v1/hooks/programs")).json["items"]) == 10
        log = (await house.ask("GET", "/v1/audit?limit=200")).json["items"]
        assert [one["subject"] for one in log if one["kind"] == "hook.program.delete"] == ["lint/03.sh"]

    live_in(tmp_path, test)


def test_a_policy_whose_hooks_have_no_program_is_refused_with_a_finding_for_each(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        async def ask(target: str, **more: str) -> Any:
            body = {"main": "p.hatch", "sources": {"p.hatch": TEXT, **more}}
            return await house.ask("POST", target, body, role="author")

        checked = (await ask("/v1/policies/check")).json
        found = [one["message"] for one in checked["findings"] if one["code"] == "HOOK_PROGRAM_MISSING"]
        assert not checked["ok"] and ["hooks/lint.sh" in found[0], "scan.wasm" in found[1]] == [True, True]
        refused = await ask("/v1/policies", **{"hooks/lint.sh": "true"})
        assert refused.status == 422
        assert [one["code"] for one in refused.json["diagnostics"] if one["severity"] == "error"] == ["HOOK_PROGRAM_MISSING"]
        wasm = base64.b64encode(b"\0asm\1\0\0\0").decode()
        assert (await ask("/v1/policies", **{"hooks/lint.sh": "true", "scan.wasm": wasm})).status == 201

    live_in(tmp_path, test)


def test_a_hook_that_fails_and_warns_is_told_with_the_runs_result(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        broken = {"type": "javascript", "command": "throw new Error('no luck')"}
        for event in ("before_run", "after_run"):
            spec = {"id": event, "event": event, "executor": broken, "on_error": "warn"}
            assert (await house.ask("POST", "/v1/hooks", spec, role="author")).status == 201
        quiet = {"id": "quiet", "event": "before_run", "executor": broken, "on_error": "allow"}
        assert (await house.ask("POST", "/v1/hooks", quiet, role="author")).status == 201
        done = (await house.ask("POST", "/v1/runs", {"code": "1 + 1", **JAVASCRIPT})).json
        assert done["result"]["result"] == 2
        told = [(one["severity"], one["code"], one["message"].split(" failed: ")[0]) for one in done["result"]["diagnostics"]]
        assert told == [
            ("warning", "HOOK_FAILED", "the hook user:before_run"),
            ("warning", "HOOK_FAILED", "the hook user:after_run"),
        ]
        assert all("no luck" in one["message"] for one in done["result"]["diagnostics"])

    live_in(tmp_path, test)
