"""Chained gateways: sessions that live at another gateway, and what is believed of its answers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.egress.client import Egress
from gateway.egress.peer_gateway import EgressClient, Reply, Unreachable
from gateway.errors import BadRequest, NotFound, Unavailable
from gateway.events import Event
from gateway.runners.pool import Pool
from gateway.runners.providers.gateway import Hatchway
from gateway.runners.runner_session import RunnerSession
from gateway.runners.runners import Runners
from gateway.runners.session_state import MemoryStates
from gateway.runners.wire import Command, Destination, ReadFile, SessionState
from tests.gateway.runners.other_gateway import OtherGateway
from tests.gateway.runners.places import Vault, go, read, run, write

OTHER = Destination(id="d", provider_id="hatchway", config={"gateway": "other"})


def test_a_session_at_another_gateway_outlives_this_ones(tmp_path: Path) -> None:
    async def main() -> None:
        other, states = OtherGateway(), MemoryStates()
        first = Hatchway(clients={"other": other}, states=states)
        session = await first.create(OTHER)
        await write(session, "f", b"kept")
        await first.close()
        second = Hatchway(clients={"other": other}, states=states)
        again: RunnerSession = await second.resume(OTHER, session.state)
        assert (await read(again, "f"), (await run(again, "cat", "f")).stdout) == (b"kept", "kept")
        await second.discard(OTHER, session.state)
        assert other.sessions == {}

    go(main())


def test_a_session_that_the_other_gateway_has_lost_comes_back_from_its_snapshot() -> None:
    async def main() -> None:
        other = OtherGateway()
        runners = Runners(Pool([Hatchway(clients={"other": other})]))
        await runners.add("acme", OTHER)
        await runners.select("acme", "t1", "d", "/workspace")
        session = await runners.pool.session("acme", "t1")
        await write(session, "f", b"kept")
        await runners.snapshot("acme", "t1")
        other.sessions.pop(session.id).close()
        with pytest.raises(NotFound, match="is no more"):
            await (await runners.use("acme", "t1")).read_file(ReadFile(path="f"))
        assert (await runners.session("acme", "t1")).status == "gone"
        assert (await (await runners.use("acme", "t1")).read_file(ReadFile(path="f"))).contents == b"kept"
        assert list(other.sessions) != [session.id]
        await runners.pool.close()

    go(main())


def test_the_client_of_another_gateway_sends_its_token_and_keeps_it_out_of_errors() -> None:
    class Recording:
        def __init__(self) -> None:
            self.headers: dict[str, str] = {}

        async def request(self, method: str, url: str, *, headers: Mapping[str, str] | None = None, **_: Any) -> Any:
            self.headers = dict(headers or {})
            assert url == "https://b.example/v1/sessions"
            return type("Answer", (), {"status": 500, "body": b"hunter2 of /srv/other"})()

    async def main() -> None:
        http = Recording()
        vault = Vault(t=b"hunter2\n")

        async def token() -> str:
            return "hunter2"

        client = EgressClient(http, "https://b.example/", token)  # type: ignore[arg-type]
        assert (await client.request("POST", "/v1/sessions")).status == 500
        assert http.headers["Authorization"] == "Bearer hunter2"
        provider = Hatchway(http=http, secrets=vault)
        config = {"url": "https://b.example", "token": {"id": "t"}}
        with pytest.raises(Unavailable) as raised:
            await provider.create(Destination(id="d", provider_id="hatchway", config=config))
        assert "hunter2" not in str(raised.value) and "/srv" not in str(raised.value)
        for bad in ({"url": "ftp://x", "token": {"id": "t"}}, {"url": "https://x"}, {"gateway": "unknown"}):
            with pytest.raises(BadRequest):
                await provider.create(Destination(id="d", provider_id="hatchway", config=bad))

    go(main())


def test_answers_that_are_no_runs_are_refused() -> None:
    class Odd(OtherGateway):
        def _run(self, session: Any, asked: dict[str, Any]) -> Any:
            return msgspec.structs.replace(super()._run(session, asked), body=b"[1]")

    async def main() -> None:
        provider = Hatchway(clients={"odd": Odd()})
        session = await provider.create(Destination(id="d", provider_id="hatchway", config={"gateway": "odd"}))
        with pytest.raises(Unavailable):
            await run(session, "sh", "-c", "echo")
        await provider.close()

    go(main())


def test_a_gateway_the_guarded_client_must_not_reach_is_not_reached() -> None:
    async def main() -> None:
        provider = Hatchway(http=Egress(), secrets=Vault(t=b"hunter2"))
        for url in ("http://127.0.0.1:80", "http://169.254.169.254", "http://[::1]"):
            config = {"url": url, "token": {"id": "t"}}
            with pytest.raises(Unavailable, match="cannot be reached") as raised:
                await provider.create(Destination(id="d", provider_id="hatchway", config=config))
            assert "hunter2" not in str(raised.value)

    go(main())


def test_a_result_is_whole_although_the_stream_of_its_output_broke() -> None:
    class Breaking(OtherGateway):
        @contextlib.asynccontextmanager
        async def events(self, path: str) -> AsyncIterator[tuple[int, AsyncIterator[Event]]]:
            async def coming() -> AsyncIterator[Event]:
                yield Event(1, "stdout", "one ")
                raise Unreachable("remote_runtime_network_error")

            yield 200, coming()

    async def main() -> None:
        provider = Hatchway(clients={"odd": Breaking()})
        session = await provider.create(Destination(id="d", provider_id="hatchway", config={"gateway": "odd"}))
        command = Command(command_id="c", program="sh", args=["-c", "printf 'one '; printf two"])
        running = session.start(command)
        done = await running.stay()
        told = [event.data for event in running.feed.since() if event.kind == "stdout"]
        assert done.stdout == "one two" and "".join(told) == "one two"
        await provider.close()

    go(main())


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_an_id_that_would_be_another_path_is_refused_and_nothing_is_asked(name: str) -> None:
    class Asked(OtherGateway):
        async def request(self, method: str, path: str, **fields: Any) -> Reply:
            raise AssertionError(path)

    async def main() -> None:
        provider = Hatchway(clients={"other": Asked()})
        state = SessionState(provider_id="hatchway", session_id=name, destination_id="d")
        with pytest.raises(NotFound, match="is no more"):
            await provider.resume(OTHER, state)
        with pytest.raises(BadRequest, match="cannot be the id"):
            await provider.discard(OTHER, state)

    go(main())


@pytest.mark.parametrize("name", ["", ".", "..", 7, None])
def test_an_id_of_the_other_gateway_that_would_be_another_path_is_not_used(name: object) -> None:
    class Odd(OtherGateway):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[str] = []

        async def request(self, method: str, path: str, **fields: Any) -> Reply:
            self.asked.append(path)
            made = await super().request(method, path, **fields)
            return msgspec.structs.replace(made, body=msgspec.json.encode({"id": name})) if "mode=async" in path else made

    async def main() -> None:
        odd = Odd()
        provider = Hatchway(clients={"other": odd})
        session = await provider.create(OTHER)
        with pytest.raises(Unavailable, match="id that cannot be used"):
            await run(session, "sh", "-c", "echo")
        assert not any(part in ("", ".", "..") for path in odd.asked for part in path.split("/")[1:])
        await provider.close()

    go(main())


def test_a_session_is_asked_for_by_its_own_id_and_a_path_below_its_workspace() -> None:
    class Recorded(OtherGateway):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[str] = []

        async def request(self, method: str, path: str, **fields: Any) -> Reply:
            self.asked.append(path)
            return Reply(200, b"{}")

    async def main() -> None:
        recorded = Recorded()
        provider = Hatchway(clients={"other": recorded})
        session = await provider.create(OTHER)
        await read(session, "./x/./y.txt")
        await provider.close()
        assert recorded.asked == ["/v1/sessions", f"/v1/sessions/{session.id}/files/workspace/x/y.txt"]

    go(main())
