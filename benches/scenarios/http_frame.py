"""What the HTTP frame costs: the same trivial answer behind our frame and behind a bare Starlette route on Hypercorn.

Both are served by a process of their own, on the same event loop, and asked over eight kept connections, in turns. Our route
goes the whole way: head checks, routing, places, a token, its tenant's rate, metrics, security headers, access log (to nowhere).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches.harness import Bench, Contender, Promise, Scenario
from benches.load import Load, drive, request

_SECONDS, _SECONDS_QUICK = 1.5, 1.0
_CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class _Served:
    """A server process, and how to ask it."""

    pid: int
    port: int
    token: str

    def cpu_s(self) -> float:
        """CPU time the process has had so far: unlike its rate, other work on the machine does not change it much."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(bench: Bench) -> None:
    rates: dict[str, list[float]] = {"ours": [], "bare": []}
    latencies: dict[str, list[float]] = {"ours": [], "bare": []}
    with _server("ours") as ours, _server("bare") as bare:

        def ask(kind: str, server: _Served) -> float:
            before_s = server.cpu_s()
            seen = _load(server, _SECONDS_QUICK if bench.quick else _SECONDS)
            rates[kind].append(seen.good_per_s)
            latencies[kind].append(seen.median_ms)
            return (server.cpu_s() - before_s) * 1000 / seen.requests

        bench.interleave(
            Contender("CPU of one request with a token", lambda: ask("ours", ours), reads=True),
            Contender("CPU of one request, bare Starlette", lambda: ask("bare", bare), role="native", reads=True),
            repetitions=bench.count(6, 2),
            warmup=1,
        )
    bench.record("requests with a token", rates["ours"], "1/s")
    bench.record("requests, bare Starlette", rates["bare"], "1/s", "native")
    bench.record("median latency with a token", latencies["ours"])
    bench.record("median latency, bare Starlette", latencies["bare"], role="native")


def _load(server: _Served, seconds: float) -> Load:
    address = f"127.0.0.1:{server.port}"
    seen = drive(address, [request("GET", "/v1/nothing", address, server.token)], _CONNECTIONS, seconds)
    if seen.refused_per_s or seen.failed_per_s:
        raise RuntimeError(f"not every request was answered: {seen}")
    return seen


@contextlib.contextmanager
def _server(kind: str) -> Iterator[_Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benches.scenarios.http_frame", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        facts = json.loads(process.stdout.readline())
        yield _Served(process.pid, facts["port"], facts["token"])
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _serve_ours() -> None:
    import asyncio

    import uvloop

    from gateway.clock import SteadyClock
    from gateway.configuration import Configuration
    from gateway.http.api.admission import Admission
    from gateway.http.api.application import build_application
    from gateway.http.api.authentication import Authenticator
    from gateway.http.api.endpoint import Endpoint
    from gateway.http.api.operation import Call, Operation, Raw
    from gateway.http.transport.server import Server
    from gateway.records import Quotas, Tenant, Token
    from gateway.telemetry import Telemetry, log_to
    from gateway.tenants.tokens import mint

    async def nothing(call: Call) -> Raw:
        return Raw(b"hello", "text/plain")

    class Tenants:
        """One token, and a quota that is not met."""

        def __init__(self, known: dict[str, Token]) -> None:
            self._known = known

        async def token(self, digest: str) -> Token | None:
            return self._known.get(digest)

        async def tenant(self, tenant: str) -> Tenant:
            return Tenant(id=tenant, quotas=Quotas(requests_per_min=100_000_000), created_at=0, updated_at=0)

    async def serve() -> None:
        configuration, telemetry, clock = Configuration(port=0), Telemetry(), SteadyClock()
        text, stored = mint(tenant="acme", name="bench", role="member", now_ms=clock.now_ms())
        tenants = Tenants({stored.digest: stored.token})
        admission = Admission(configuration, telemetry, tenants.tenant)
        endpoint = Endpoint(
            [Operation("GET", "/v1/nothing", "Nothing", nothing, answer=bytes)],
            configuration=configuration,
            telemetry=telemetry,
            authenticator=Authenticator(tenants.token, clock, telemetry),
            admission=admission,
        )
        application = build_application(endpoint, configuration, telemetry)
        server = Server(application, admission, configuration, telemetry)
        await server.start()
        print(json.dumps({"port": server.port, "token": text}), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await server.stop()

    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        log_to(nowhere)
        uvloop.run(serve())


def _serve_bare() -> None:
    import asyncio
    import socket

    import uvloop
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def nothing(request: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    async def main() -> None:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            sock.listen()
            config = Config()
            config.bind = [f"fd://{sock.fileno()}"]
            config.errorlog = None
            print(json.dumps({"port": sock.getsockname()[1], "token": ""}), flush=True)
            app = Starlette(routes=[Route("/v1/nothing", nothing)])

            async def closed() -> None:
                await asyncio.to_thread(sys.stdin.read)

            await serve(app, config, shutdown_trigger=closed)  # type: ignore[arg-type]

    uvloop.run(main())


SCENARIOS = [
    Scenario(
        "http_frame",
        "what the HTTP frame adds to a trivial request",
        measure,
        (
            Promise("CPU of one request through the frame", 0.4, "ms", of="CPU of one request with a token", issue=8),
            Promise(
                "frame's CPU over bare Starlette's",
                1.25,
                "×",
                of="CPU of one request with a token",
                over="CPU of one request, bare Starlette",
                issue=8,
            ),
        ),
        rounds=2,
        parts=1,
    )
]


if __name__ == "__main__":
    _serve_ours() if sys.argv[1] == "ours" else _serve_bare()
