"""The documentation is made from the operations, so none of them can be missing."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from gateway.configuration import Configuration
from gateway.http.api.operation import Call, Operation
from gateway.http.api.routing import Routes
from gateway.http.assembly import list_operations, render_table
from gateway.http.pages import health, openapi
from gateway.lifecycle.readiness import Preparation
from tests.gateway.http.asking import ask
from tests.gateway.http.rig import Note, Rig

PAGE = Path(openapi.__file__).parent / "page"


def document_of(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = asyncio.run(ask(rig.asgi, "GET", "/openapi.json")).json
    return found


def whole_table() -> list[Operation]:
    """All operations of the service. Their handlers are not called, so there need not be one."""
    nobody: Any = None
    rig = Rig(Configuration())
    table = list_operations(nobody, nobody, rig.admission)
    table += health.operations(rig.configuration, rig.telemetry, rig.admission, Preparation())
    return table + openapi.operations(table, "1")


def test_every_route_of_the_service_is_in_the_document() -> None:
    table = whole_table()
    document = openapi.describe(table, "1")
    for operation in table:
        path = operation.path.replace("...}", "}")
        found = document["paths"][path][operation.method.lower()]
        assert found["operationId"] == operation.name
        assert found["summary"]
    ids = [entry["operationId"] for methods in document["paths"].values() for entry in methods.values()]
    assert len(ids) == len(set(ids)) == len(table)


def test_every_route_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[4] / "docs" / "http.md").read_text("utf-8")
    assert render_table() in manual, "put the output of  python -m gateway.http.assembly  into docs/http.md"


def test_the_document_is_valid_and_every_reference_leads_somewhere() -> None:
    document = openapi.describe(whole_table(), "1")
    text = json.dumps(document)
    for reference in set(re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', text)):
        assert reference in document["components"]["schemas"]
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)
    for path, methods in document["paths"].items():
        named = set(re.findall(r"\{(\w+)\}", path))
        for entry in methods.values():
            assert {one["name"] for one in entry["parameters"] if one["in"] == "path"} == named
            assert any(status.startswith(("1", "2")) for status in entry["responses"])


def test_answers_and_problems_fit_their_schemas() -> None:
    rig = Rig(Configuration(access_log=False))
    document = document_of(rig)
    schemas = {"components": document["components"]}

    def check(body: Any, reference: dict[str, Any]) -> None:
        jsonschema_rs.validator_for({**reference, **schemas}).validate(body)

    async def main() -> None:
        token = rig.token()
        note = await ask(rig.asgi, "POST", "/v1/echo", {"text": "a"}, token=token)
        good = document["paths"]["/v1/echo"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        check(note.json, good)
        for reply in (
            await ask(rig.asgi, "POST", "/v1/echo", {"text": "a"}),
            await ask(rig.asgi, "POST", "/v1/echo", {"text": 1}, token=token),
            await ask(rig.asgi, "GET", "/nowhere"),
        ):
            check(reply.json, {"$ref": "#/components/schemas/Problem"})

    asyncio.run(main())


def test_a_stream_is_documented_as_one() -> None:
    responses = document_of(Rig(Configuration(access_log=False)))["paths"]["/v1/streams/{name}"]["get"]["responses"]
    assert list(responses["200"]["content"]) == ["text/event-stream"]
    assert "204" not in responses


def test_the_page_fetches_nothing_from_elsewhere_and_has_nothing_inline() -> None:
    rig = Rig(Configuration(access_log=False))
    page = asyncio.run(ask(rig.asgi, "GET", "/docs"))
    html = page.body.decode()
    policy = page.headers["content-security-policy"]
    assert "unsafe-inline" not in policy and "script-src 'self'" in policy
    assert not re.search(r"https?://|<style|<script>|\son\w+=|style=", html)
    for name in re.findall(r'(?:src|href)="docs/([^"]+)"', html):
        got = asyncio.run(ask(rig.asgi, "GET", f"/docs/{name}"))
        assert got.status == 200
    assert asyncio.run(ask(rig.asgi, "GET", "/docs/other.js")).status == 404
    assert "innerHTML" not in (PAGE / "docs.js").read_text("utf-8")


async def nothing(call: Call) -> None:
    return None


def test_a_table_with_mistakes_is_refused() -> None:
    with pytest.raises(ValueError, match="two operations"):
        Routes([Operation("GET", "/v1/a", "", nothing), Operation("GET", "/v1/a", "", nothing)])
    with pytest.raises(ValueError, match="is called"):
        Routes([Operation("GET", "/v1/{a}", "", nothing), Operation("GET", "/v1/{b}/c", "", nothing)])
    for path in ("v1", "/v1/{A}", "/v1/{a...}/b", "/v1//b", "/v1/a b"):
        with pytest.raises(ValueError, match="no path"):
            Operation("GET", path, "", nothing)
    with pytest.raises(ValueError, match="no body"):
        Operation("GET", "/v1/a", "", nothing, body=Note)
