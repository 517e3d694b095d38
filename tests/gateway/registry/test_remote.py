"""Remote runtimes: another gateway that is away, lies, dies and comes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.clock import now_ms
from gateway.egress import Egress
from gateway.egress.peer_gateway import EgressClient, parse_events
from gateway.errors import BadRequest
from gateway.records import Principal
from gateway.registry.errors import OperationFailed, RuntimeBusy, RuntimeTaken, UnknownRuntime
from gateway.registry.inputs import Turns
from gateway.registry.registries import Registries, open_registries
from gateway.registry.registry import Registry
from gateway.registry.remote import RemoteRuntime
from gateway.registry.wire import InputRequest, RemoteSpec, RunAccepted, SecretName, SpawnRequest, StopRequest, TicketIntent
from gateway.tenants.vault import Vault
from sandbox.guests.images import images
from sandbox.wire import Language
from tests.gateway.house import ANN, EVE, House, housed
from tests.gateway.registry.gate import gate
from tests.gateway.registry.shelf import Shelf
from tests.gateway.web import answer
from tests.gateway.web import serve as web_serve

OPS = Principal(tenant="acme", role="operator", user="ops")
SPAWN = SpawnRequest(
    intent=TicketIntent(ticket_id="t1", role="coder"),
    acceptance=RunAccepted(expected_segments=0),
    language=Language.JAVASCRIPT,
)
needs_images = pytest.mark.skipif(not images.is_ready("javascript"), reason="the JavaScript image is not compiled")


def client_of(port: int, token: str | None = "hw_x") -> EgressClient:
    async def give() -> str | None:
        return token

    return EgressClient(Egress(ports=(port,), allow_private=[f"127.0.0.1:{port}"]), f"http://127.0.0.1:{port}", give)


@contextlib.asynccontextmanager
async def saying(status: str, value: Any) -> AsyncIterator[RemoteRuntime]:
    """A runtime whose other side gives one answer to everything."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    async with web_serve(lambda request: answer(body, status)) as web:
        yield RemoteRuntime("far", client_of(web.port), now_ms)


@pytest.mark.parametrize(
    ("status", "value", "code"),
    [
        ("401 Unauthorized", {}, "remote_runtime_auth_failed"),
        ("403 Forbidden", {"message": "policy of /srv/b"}, "remote_runtime_auth_failed"),
        ("501 Not Implemented", {}, "remote_runtime_unsupported"),
        ("500 Oops", {"message": "stack at /srv/b"}, "remote_runtime_http_error"),
        ("302 Found", {}, "remote_runtime_http_rejected"),
        ("200 OK", b"not json", "remote_runtime_malformed_response"),
        ("200 OK", {"items": "none"}, "remote_runtime_malformed_response"),
        ("200 OK", b"[" * 100_000, "remote_runtime_malformed_response"),
        ("200 OK", b" " * (5 << 20), "remote_runtime_network_error"),
    ],
)
def test_trouble_elsewhere_is_a_diagnostic_in_our_words(status: str, value: Any, code: str) -> None:
    async def main() -> None:
        async with saying(status, value) as runtime:
            answers: list[Any] = [
                await runtime.workers(ANN, 10),
                await runtime.spawn(ANN, SPAWN),
                await runtime.send_input(ANN, "w", InputRequest(content="1")),
                await runtime.transcript(ANN, "w", 0, 1),
                await runtime.stop(ANN, "w", StopRequest()),
            ]
            codes = [one.diagnostics[0].code for one in answers]
            assert set(codes) <= {code, "remote_runtime_unavailable"} and codes[0] == code
            assert "/srv" not in json.dumps(msgspec.to_builtins(answers))
            assert answers[1].state == ("unsupported" if code == "remote_runtime_unsupported" else "rejected")

    asyncio.run(main())


def test_what_a_hostile_runtime_says_is_cleaned_and_bounded() -> None:
    evil = "/etc/shadow\x1b[2J" + "x" * 1_000
    worker = msgspec.to_builtins(Shelf("r", "w").one("w")) | {"label": evil, "role": evil, "host_id": "../host"}
    worker["diagnostics"] = [{"code": evil, "severity": "error", "message": evil}] * 40
    worker["workspace"] = {"visibility": evil, "identity": evil}
    listing = {"items": [worker, worker | {"worker_id": "../../w"}] + [worker] * 15, "diagnostics": [], "next": "x" * 5000}

    async def main() -> None:
        async with saying("200 OK", listing) as runtime:
            found = await runtime.workers(ANN, 10)
            assert len(found.items) == 9 and found.next is None
            assert {one.worker_id for one in found.items} == {"w"}
            shown = found.items[0]
            assert (shown.runtime_id, shown.host_id) == ("far", (await runtime.hosts(ANN, 1)).items[0].host_id)
            assert len(shown.label) == 80 and len(shown.diagnostics) == 16
            text = msgspec.json.encode(found).decode()
            assert "/etc" not in text and "\\u001b" not in text

    asyncio.run(main())


def test_one_that_is_away_is_degraded_then_unavailable_and_does_not_hold_lists_up() -> None:
    async def main() -> None:
        async with web_serve(lambda request: answer(b"{}")) as web:
            port = web.port
        runtime = RemoteRuntime("far", client_of(port), now_ms)  # nobody listens there any more
        registry = Registry([runtime, Shelf("near", "w")])
        assert not await runtime.beat()
        assert (await runtime.summary(ANN, 1)).status == "degraded"
        await runtime.beat()
        await runtime.beat()
        summary = await runtime.summary(ANN, 1)
        assert (summary.status, summary.capabilities.can_list_workers) == ("unavailable", False)
        found = await registry.list_workers(ANN, 10)
        assert [one.worker_id for one in found.items] == ["w"]
        assert [one.code for one in found.diagnostics] == ["remote_runtime_unavailable"]
        with pytest.raises(OperationFailed):
            await registry.worker(ANN, "far", "w")

    asyncio.run(main())


def test_a_missing_token_is_told_as_such() -> None:
    async def main() -> None:
        runtime = RemoteRuntime("far", client_of(9, token=None), now_ms)
        (said,) = (await runtime.workers(ANN, 1)).diagnostics
        assert said.code == "remote_runtime_token_missing" and "secret" in said.message

    asyncio.run(main())


def test_events_are_parsed_as_gateways_send_them_however_they_are_cut() -> None:
    good = b': hello\n\nid: 3\nevent: item\ndata: {"a":1}\n\nevent: output\ndata: "x"\n\n'
    raw = good + b"id: x\nevent: bad\ndata: 1\n\nevent: bad\n\n"

    async def pieces(size: int) -> AsyncIterator[bytes]:
        for start in range(0, len(raw), size):
            yield raw[start : start + size]

    async def main() -> None:
        for size in (1, 7, 1000):
            found = [(one.number, one.kind, one.data) async for one in parse_events(pieces(size))]
            assert found == [(3, "item", {"a": 1}), (0, "output", "x")]

    asyncio.run(main())


@contextlib.asynccontextmanager
async def registries(house: House, egress: Egress | None = None) -> AsyncIterator[tuple[Registries, Vault]]:
    vault = Vault(house.store, house.keys, now_ms)
    opened = open_registries(house.store, Turns(house.sessions, house.runs), vault, egress or Egress(), now_ms)
    try:
        yield opened, vault
    finally:
        await opened.close()


def test_runtimes_are_added_once_kept_and_removed() -> None:
    async def main() -> None:
        async with housed() as house:
            spec = RemoteSpec(runtime_id="far", url="https://far.example", token=SecretName(id="far"))
            async with registries(house) as (opened, _):
                added = await opened.add(OPS, spec)
                assert (added.runtime_id, added.source.kind) == ("far", "remote_http")
                assert "far.example" not in msgspec.json.encode(added).decode()
                with pytest.raises(RuntimeTaken):
                    await opened.add(OPS, spec)
                for taken in ("local-worker-runtime", "embedded-worker-runtime"):
                    with pytest.raises(RuntimeTaken):
                        await opened.add(OPS, msgspec.structs.replace(spec, runtime_id=taken))
                    with pytest.raises(BadRequest):
                        await opened.remove(OPS, taken)
                for url in ("ftp://x", "https://user:pw@x.example", "far"):
                    with pytest.raises(BadRequest):
                        await opened.add(OPS, msgspec.structs.replace(spec, runtime_id="x", url=url))
                theirs = await (await opened.of(EVE.tenant)).list_runtimes(EVE, 9)
                assert [one.runtime_id for one in theirs.items] == ["local-worker-runtime", "embedded-worker-runtime"]
            async with registries(house) as (again, _):
                kept = await again.of("acme")
                assert kept.runtime("far").runtime_id == "far"
                await again.remove(OPS, "far")
                with pytest.raises(UnknownRuntime):
                    kept.runtime("far")

    asyncio.run(main())


def test_tm_reg_remote_private_addresses_are_refused_by_the_way_out() -> None:
    async def main() -> None:
        async with housed() as house, web_serve(lambda request: answer(b"{}")) as web, registries(house) as (opened, vault):
            await vault.set("acme", "far", "hw_secret")
            await opened.add(OPS, RemoteSpec(runtime_id="far", url=web.url, token=SecretName(id="far")))
            found = await (await opened.of("acme")).runtime_workers(OPS, "far", 1)
            assert found.diagnostics[0].code == "remote_runtime_network_error"
            assert web.requests == []

    asyncio.run(main())


@needs_images
def test_a_runtime_with_running_workers_is_not_removed(tmp_path: Path) -> None:
    with gate(tmp_path / "b") as b:
        port = int(b.url.rsplit(":", 1)[1])

        async def main() -> None:
            egress = Egress(ports=(port,), allow_private=[f"127.0.0.1:{port}"])
            async with housed() as house, registries(house, egress) as (opened, vault):
                await vault.set("acme", "b", b.token)
                await opened.add(OPS, RemoteSpec(runtime_id="b", url=b.url, token=SecretName(id="b")))
                registry = await opened.of("acme")
                made = await registry.spawn(OPS, "b", SPAWN)
                assert made.worker is not msgspec.UNSET
                with pytest.raises(RuntimeBusy):
                    await opened.remove(OPS, "b")
                await registry.cancel(OPS, "b", made.worker.worker_id)
                await opened.remove(OPS, "b")

        asyncio.run(main())
