"""HTTP endpoints as capabilities, against a real server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateway.capabilities.endpoints import EndpointSource, EndpointSpec, WebClient
from gateway.capabilities.secret_headers import mask
from gateway.egress import Egress
from sandbox.capabilities.registry import CapabilityLimits
from sandbox.errors import RequestError
from tests.gateway.capabilities.service import MemorySecrets, Service, allow_all, deny_all
from tests.gateway.web import Request, Web, answer, serve

SECRETS = MemorySecrets({"KEY": "s3cret-value"}, ["127.0.0.1"])


def spec(web: Web, path: str, properties: dict[str, Any] | None = None, **fields: Any) -> EndpointSpec:
    schema = {"type": "object", "properties": properties or {}}
    return EndpointSpec(**{"name": "f", "url": web.url + path, "input_schema": schema, **fields})


async def service(web: Web, one: EndpointSpec, decide_for: Any = allow_all) -> Service:
    return await Service().add(EndpointSource([one], WebClient(Egress(allow_private=[web.service]), decide_for, SECRETS)))


def said(value: Any) -> bytes:
    return answer(json.dumps(value).encode(), Content_Type="application/json")


@pytest.mark.parametrize(
    ("method", "path", "arguments", "asked", "body"),
    [
        ("GET", "/items/{id}", {"id": 7}, "/items/7", b""),
        ("GET", "/items/{id}", {"id": "a/../b?c#d"}, "/items/a%2F..%2Fb%3Fc%23d", b""),
        ("GET", "/items", {"id": "a b", "n": [1, 2], "yes": True, "no": None}, "/items?id=a+b&n=1&n=2&yes=true", b""),
        ("GET", "/items?x={id}", {"id": "&y=1"}, "/items?x=%26y%3D1", b""),
        ("DELETE", "/items/{id}", {"id": "é"}, "/items/%C3%A9", b""),
        ("POST", "/items/{id}", {"id": 1, "n": [1], "t": {"a": None}}, "/items/1", b'{"n":[1],"t":{"a":null}}'),
        ("PUT", "/items", {}, "/items", b"{}"),
    ],
)
def test_arguments_become_path_query_or_body(method: str, path: str, arguments: dict[str, Any], asked: str, body: bytes) -> None:
    async def main() -> None:
        async with serve(lambda request: said({"ok": True})) as web:
            names: dict[str, Any] = {name: {} for name in ("id", "n", "yes", "no", "t")}
            one = await service(web, spec(web, path, names, method=method))
            assert await one.call("f", **arguments) == {"ok": True}
            (request,) = web.requests
            assert (request.method, request.path, request.body) == (method, asked, body)

    asyncio.run(main())


@pytest.mark.parametrize("value", ["", ".", "..", {"a": 1}, None])
def test_argument_that_would_change_the_path_is_refused(value: Any) -> None:
    async def main() -> None:
        async with serve(lambda request: said(1)) as web:
            one = await service(web, spec(web, "/items/{id}", {"id": {}}))
            assert await one.code("f", value) == "INVALID_ARGUMENT" and not web.requests

    asyncio.run(main())


def test_tm_cap_secret_is_sent_to_its_host_only_and_never_comes_back() -> None:
    headers = {"Authorization": "Bearer ${secret:KEY}", "X-Plain": "${secret: no reference}"}

    async def main() -> None:
        def echo(request: Request) -> bytes:
            return said({"you sent": request.headers["authorization"]})

        async with serve(echo) as web:
            one = await service(web, spec(web, "/", headers=headers))
            assert await one.call("f") == {"you sent": "Bearer [secret]"}
            assert web.requests[0].headers["authorization"] == "Bearer s3cret-value"
            assert web.requests[0].headers["x-plain"] == "${secret: no reference}"
            assert "s3cret" not in repr(one.catalogue.tools())
            other = spec(web, "/", headers={"X": "${secret:OTHER}"})
            assert await (await service(web, other)).code("f") == "PERMISSION_DENIED"

        async with serve(lambda request: answer(b"s3cret-value is wrong", "403 Forbidden")) as web:
            error = await (await service(web, spec(web, "/", headers=headers))).error("f")
            assert error.code == "TOOL_ERROR" and error.message == "the server answered 403: [secret] is wrong"

    asyncio.run(main())


def test_secret_is_found_in_an_answer_also_as_json_writes_it() -> None:
    assert mask('{"a": "x\\"y\\u00e9z", "b": "x"yéz"}', ['x"yéz']) == '{"a": "[secret]", "b": "[secret]"}'
    for kind in (str, str.encode):
        for more in ("", "'", '"', "\\n"):
            secret = "x'y\"z\\n" + more
            assert "y" not in mask(repr(kind(f" {secret}: {more}")), [secret])
    assert mask("abc", ["abc"]) == "abc"  # too short to be told from other text


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (answer(b"no", "404 Not Found"), "TOOL_ERROR"),
        (answer(status="302 Found", Location="http://127.0.0.1:1/"), "TOOL_ERROR"),
        (answer(b"{", Content_Type="application/json"), "TOOL_ERROR"),
        (answer(b"x" * 5000), "TOOL_ERROR"),
        (b"", "TOOL_ERROR"),
        (said("not a number"), "TOOL_ERROR"),
        (said(5), "OK"),
    ],
)
def test_answer_that_is_an_error_too_large_or_of_the_wrong_shape_fails(reply: bytes, code: str) -> None:
    async def main() -> None:
        async with serve(lambda request: reply) as web:
            limits = CapabilityLimits(max_response_bytes=1000)
            one = await service(web, spec(web, "/", limits=limits, output_schema={"type": "integer"}))
            assert await one.code("f") == code

    asyncio.run(main())


def test_text_comes_as_text() -> None:
    async def main() -> None:
        async with serve(lambda request: answer("grüße".encode(), Content_Type="text/plain; charset=utf-8")) as web:
            assert await (await service(web, spec(web, "/"))).call("f") == "grüße"

    asyncio.run(main())


def test_server_that_does_not_answer_in_time_is_a_timeout() -> None:
    async def never(request: Request) -> bytes:
        await asyncio.Event().wait()
        return b""

    async def main() -> None:
        async with serve(never) as web:
            one = await service(web, spec(web, "/", limits=CapabilityLimits(timeout_ms=50)))
            assert await one.code("f") in ("TIMEOUT_TOOL", "TOOL_ERROR")

    asyncio.run(main())


def test_policy_decides_and_private_addresses_are_refused() -> None:
    async def main() -> None:
        async with serve(lambda request: said(1)) as web:
            one = await service(web, spec(web, "/"), deny_all)
            error = await one.error("f")
            assert error.code == "PERMISSION_DENIED" and "acme" in error.message
            private = await Service().add(
                EndpointSource([spec(web, "/")], WebClient(Egress(ports=[web.port]), allow_all, SECRETS))
            )
            assert await private.code("f") == "PERMISSION_DENIED" and not web.requests

    asyncio.run(main())


def test_call_that_must_not_happen_twice_carries_a_key() -> None:
    async def main() -> None:
        async with serve(lambda request: said(len(web.requests))) as web:
            one = await service(web, spec(web, "/", method="POST", idempotent=False))
            assert [await one.call("f", idempotency_key="mine") for _ in range(2)] == [1, 1]
            await one.call("f")
            first, second = (request.headers["idempotency-key"] for request in web.requests)
            assert first == "mine" and len(second) == 36

    asyncio.run(main())


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "http://{host}/"},
        {"url": "{scheme}://a.example/"},
        {"url": "http://a.example:{port}/"},
        {"url": "ftp://a.example/"},
        {"url": "http://a.example/{missing}"},
        {"url": "http://user:password@a.example/"},
        {"url": "http://a.example/", "input_schema": {"type": "array"}},
        {"url": "http://a.example/", "name": "not a name"},
    ],
)
def test_declaration_that_could_lead_elsewhere_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(RequestError):
        EndpointSource([EndpointSpec(**{"name": "f", **fields})], WebClient(Egress(), allow_all, SECRETS))
