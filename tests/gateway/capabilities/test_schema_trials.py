"""Schemas that take long or much to compile are found out by a child."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from gateway.capabilities import schema_trials
from gateway.capabilities.mcp_connections import connect_to
from gateway.capabilities.mcp_servers import ServerSource
from gateway.capabilities.schema_trials import try_schemas
from tests.gateway.capabilities.test_mcp_servers import rough


def heavy(count: int) -> dict[str, Any]:
    """A kilobyte of it costs megabytes: classes of Unicode, repeated."""
    patterns = {f"p{at}": {"type": "string", "pattern": rf"^\p{{L}}{{1,20}}{at}$"} for at in range(count)}
    return {"type": "object", "properties": patterns}


def test_tm_cap_schema_one_that_takes_long_or_much_is_refused_and_the_others_are_not() -> None:
    fine = ({"type": "object", "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}}}, {})
    first, long, wrong, last = try_schemas([fine, (heavy(300), {}), ({"type": "nothing"}, {}), fine])
    assert first == last == ""
    assert "too long" in long or "too much memory" in long
    assert "is not a JSON Schema" in wrong


def test_tm_cap_schema_a_child_that_overruns_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_trials, "SCHEMA_SECONDS", 0.5)
    began_s = time.monotonic()
    assert "too" in try_schemas([(heavy(3000), {})])[0]
    assert time.monotonic() - began_s < 20


def test_what_comes_when_the_time_of_a_server_is_over_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_trials, "SERVER_SECONDS", 0.0)
    assert "no time left" in try_schemas([({}, {})])[0]


def test_tm_cap_schema_a_servers_heavy_schema_is_left_out_and_holds_up_nothing(tmp_path: Path) -> None:
    tools = [{"name": "one", "inputSchema": {"type": "object"}}, {"name": "heavy", "inputSchema": heavy(400)}]

    async def main() -> None:
        gaps_s = [0.0]

        async def tick() -> None:
            while True:
                began_s = time.monotonic()
                await asyncio.sleep(0.01)
                gaps_s.append(time.monotonic() - began_s)

        ticking = asyncio.create_task(tick())
        spec = rough(tmp_path, tools__list={"tools": tools})
        source = ServerSource(spec, connect_to(spec))
        await source.start()
        await source.wait_until_tried()
        assert [offer.capability.name for offer in source.offers()] == ["r_one"]
        assert len(source.diagnostics) == 1 and "'heavy' is left out" in source.diagnostics[0]
        await source.close()
        ticking.cancel()
        assert max(gaps_s) < 2, "compiling it takes several seconds"

    asyncio.run(main())
