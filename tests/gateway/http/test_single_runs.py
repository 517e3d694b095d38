"""Single runs: a session of their own, with the limits and the mode they ask for."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from tests.gateway.http.house import JAVASCRIPT, House, live_in, needs_javascript

pytestmark = needs_javascript
LIMITS: dict[str, Any] = {"memory_mb": 64, "cpu_ms": 20_000, "wall_ms": 20_000, "max_stdout_bytes": 100}
OWN = {**LIMITS, "max_external_calls": 32, "max_stack_depth": 256}
FOREVER = "for (;;) {}"


async def session_of_run(house: House, asked: dict[str, Any]) -> dict[str, Any]:
    begun = await house.ask("POST", "/v1/runs?mode=async", {"code": "1", **JAVASCRIPT, **asked})
    assert begun.status == 202, begun.json
    found: dict[str, Any] = (await house.ask("GET", f"/v1/sessions/{begun.json['session_id']}")).json
    return found


def test_a_single_run_has_the_limits_it_asks_for(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        assert (await session_of_run(house, {"timeout_ms": 20_000}))["limits"]["wall_ms"] == 20_000
        assert (await session_of_run(house, {"timeout_ms": 100}))["limits"]["wall_ms"] == 5000
        assert (await session_of_run(house, {"limits": OWN}))["limits"] == OWN
        assert (await session_of_run(house, {"limits": OWN, "timeout_ms": 30_000}))["limits"] == OWN

    live_in(tmp_path, test)


def test_whoever_meets_a_limit_is_told_who_can_raise_it(tmp_path: Path) -> None:
    async def hint(house: House, target: str, **asked: Any) -> str:
        done = (await house.ask("POST", target, {"code": FOREVER, **asked})).json
        assert done["result"]["error"]["code"] in ("TIMEOUT_WALL", "TIMEOUT_CPU"), done
        assert done["result"]["diagnostics"][0]["hint"] == done["result"]["error"]["hint"]
        return str(done["result"]["error"]["hint"])

    async def test(house: House) -> None:
        short = {**OWN, "wall_ms": 50}
        await house.ask("POST", "/v1/sessions", {"id": "s1", **JAVASCRIPT, "limits": short})
        of_session = "a run cannot raise it: open the session with larger limits.wall_ms, at most 3600000"
        of_run = "the run asked for less than it may have: raise its limits.wall_ms or timeout_ms, to at most 50"
        assert await hint(house, "/v1/sessions/s1/runs") == of_session
        assert await hint(house, "/v1/sessions/s1/runs", timeout_ms=20_000) == of_session
        assert await hint(house, "/v1/sessions/s1/runs", timeout_ms=20) == of_run
        assert await hint(house, "/v1/runs", **JAVASCRIPT, limits=short) == "ask for a larger limits.wall_ms, at most 3600000"

    live_in(tmp_path, test)


def test_the_policy_decides_about_the_files_of_a_single_run(tmp_path: Path) -> None:
    text = (
        "policy p v 1\nallow session.create\nallow run\nlimit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 10 }\n"
        'allow fs.write when path under "/workspace/in"\ntest "t" { as { tenant acme } '
        'fs.write { path "/workspace/in/a", bytes 1B } => allow fs.write { path "/workspace/b", bytes 1B } => deny }\n'
    )

    async def ran(house: House, path: str) -> Any:
        files = [{"path": path, "content": "x"}]
        return await house.ask("POST", "/v1/runs", {"code": "require('fs').readdirSync('.')", "files": files, **JAVASCRIPT})

    async def test(house: House) -> None:
        deployed = await house.ask("POST", "/v1/policies", {"main": "p.hatch", "sources": {"p.hatch": text}}, role="author")
        assert deployed.status == 201, deployed.json
        assert (await ran(house, "in/a")).json["result"]["result"] == ["in"]
        refused = await ran(house, "b")
        assert (refused.status, refused.json["code"]) == (403, "PERMISSION_DENIED")
        assert (await house.ask("GET", "/v1/sessions?singles=true")).json["items"] == [], "nothing stays of it"

    live_in(tmp_path, test)


def test_a_single_run_can_be_begun_and_watched(tmp_path: Path) -> None:
    async def test(house: House) -> None:
        begun = await house.ask("POST", "/v1/runs?mode=async", {"code": "6 * 7", **JAVASCRIPT})
        assert begun.status == 202
        async with asyncio.timeout(60):
            while (polled := await house.ask("GET", begun.headers["location"])).json["state"] != "finished":
                await asyncio.sleep(0.005)
        assert polled.json["result"]["result"] == 42
        streamed = await house.ask("POST", "/v1/runs?mode=stream", {"code": "console.log('live'); 3", **JAVASCRIPT})
        kinds = re.findall(rb"^event: (\w+)$", streamed.body, re.MULTILINE)
        assert kinds[:2] == [b"started", b"stdout"] and kinds[-1] == b"result"

    live_in(tmp_path, test)
