"""Answers that are made while they are sent: one that fails before its first piece is refused like any other."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from tests.gateway.gateway_campaign import Connection
from tests.gateway.serving import serving

TOO_LARGE = 1 << 87


def test_an_export_from_where_no_record_can_be_is_refused_with_a_reason(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway, contextlib.closing(Connection(gateway)) as connection:
        status, answer = connection.ask("GET", f"/v1/audit/export?cursor={TOO_LARGE}")
        assert (status, json.loads(answer)["code"]) == (400, "INVALID_ARGUMENT")
        assert connection.ask("GET", "/v1/audit/export?cursor=1000") == (200, b"")
        assert connection.ask("POST", "/v1/sessions", {})[0] == 201
        status, answer = connection.ask("GET", "/v1/audit/export")
        first, *_ = answer.splitlines()  # the service writes records of its own when it comes to it
        assert status == 200 and json.loads(first)["kind"] == "decision"
