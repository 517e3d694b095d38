"""The hot paths that can be profiled: `hatchway bench --profile NAME`.

Rules: a path is the same function that a bench times. Nothing is written; the text goes to stdout. How it is profiled is in
`benches.profiling`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benches.natives import Worker
from benches.profiling import Hot, profile

if TYPE_CHECKING:
    from gateway.service import Service

_DECISIONS = 1000
_REQUESTS = 20
_CLIENT = """
import http.client, json, sys
host, token, path = sys.argv[1:]
asked = http.client.HTTPConnection(host)
heads = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
for line in sys.stdin:
    for _ in range(json.loads(line)["count"]):
        asked.request("POST", path, b'{"code": "1+1"}', heads)
        assert json.loads(asked.getresponse().read())["result"]["result"] == 2
    print("{}", flush=True)
"""


@contextlib.contextmanager
def _fork() -> Iterator[Hot]:
    import hatchway
    from benches.sessions import open_box, run

    box = open_box(limits={"cpu_ms": 60_000, "wall_ms": 60_000})
    run(box, "import pandas as pd")
    state = box._session.freeze().solidify()
    yield Hot(lambda: hatchway.Sandbox._around(box._session.fork(state), None).close())
    box.close()


@contextlib.contextmanager
def _warm_run() -> Iterator[Hot]:
    from benches.sessions import first_result, run

    box = first_result("python")
    yield Hot(lambda: run(box, "1+1", expect=2))
    box.close()


@contextlib.contextmanager
def _hook() -> Iterator[Hot]:
    from benches.scenarios.hook_firing import _Firing
    from sandbox.workers.local.worker import LocalWorkers

    with asyncio.Runner() as runner:
        firing = _Firing(runner.get_loop(), LocalWorkers())
        yield Hot(firing.once)
        firing.close()


@contextlib.contextmanager
def _decision() -> Iterator[Hot]:
    from benches.policy import workload
    from policy import compile_policy

    policy = compile_policy(workload.hatch_text(1000, 10), catalog=workload.catalog(100))
    event, attributes = workload.request(1000, 10)

    def decide() -> None:
        for _ in range(_DECISIONS):
            policy.decide(event, attributes)

    yield Hot(decide, _DECISIONS)


@contextlib.contextmanager
def _gateway_run() -> Iterator[Hot]:
    from benches.scenarios.durable_sessions import create, opened, run

    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()
        service, who = runner.run(stack.enter_async_context(opened(Path(folder))))
        try:
            session = runner.run(create(service, who))
            yield Hot(lambda: runner.run(run(service, who, session, "1+1", 2)))
        finally:
            runner.run(stack.aclose())


@contextlib.contextmanager
def _http_run() -> Iterator[Hot]:
    """The whole service in this process, its jailed worker and a client in processes of their own."""
    from sandbox.workers.process_pool import ProcessWorkers

    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner, contextlib.ExitStack() as stack:
        service, host, token, session = runner.run(_serve(runner, stack, Path(folder)))
        client = Worker([sys.executable, "-c", _CLIENT, host, token, f"/v1/sessions/{session}/runs"])
        stack.callback(client.close)

        def ask() -> None:
            runner.run(asyncio.to_thread(client.ask, count=_REQUESTS))

        ask()
        pids = {"the client": client.pid}
        worker = service.workers.pid_of("default") if isinstance(service.workers, ProcessWorkers) else None
        yield Hot(ask, _REQUESTS, pids | ({"the jailed worker process": worker} if worker is not None else {}))


async def _serve(runner: asyncio.Runner, stack: contextlib.ExitStack, folder: Path) -> tuple[Service, str, str, str]:
    from gateway.configuration import load
    from gateway.http.assembly import Face
    from gateway.records import Principal
    from gateway.runs.turn import RunBody
    from gateway.service import Service
    from gateway.sessions.sessions import CreateSession
    from gateway.telemetry import Telemetry, log_to
    from sandbox.wire import Language

    sample = Path(__file__).parents[1] / "gateway" / "samples" / "default.hatch"
    policy = folder / "bench.hatch"
    policy.write_text(re.sub(r"\n +rate [^\n]*", "", sample.read_text("utf-8")), "utf-8")
    configuration = load(None, {"HATCHWAY_JAIL": "best_effort"}, data=str(folder / "data"), policy=str(policy), port=0)
    log_to(stack.enter_context(Path(os.devnull).open("w", encoding="utf-8")))  # noqa: SIM115
    service = await Service.open(configuration)
    face = Face(service, configuration, Telemetry())
    await face.server.start()
    stack.callback(lambda: runner.run(face.server.stop()))
    token = await service.issue_first_token()
    assert token is not None
    who = Principal(tenant="default", role="admin", user="bench")
    session = await service.sessions.create(who, CreateSession(language=Language.PYTHON))
    await service.runs.run(who, session.id, RunBody(code="1+1"))
    return service, face.server.url.removeprefix("http://"), token, session.id


@dataclass(frozen=True, slots=True)
class HotPath:
    about: str
    opening: Callable[[], contextlib.AbstractContextManager[Hot]]
    times: int


PATHS = {
    "fork": HotPath("a fork of a template (Python with pandas) made and closed", _fork, 200),
    "warm_run": HotPath("1+1 in a live Python session", _warm_run, 2000),
    "hook": HotPath("one shell hook on a fresh fork, through a worker of this process", _hook, 300),
    "decision": HotPath("one decision among 1,000 rules", _decision, 100),
    "gateway_run": HotPath("1+1 through the gateway, without HTTP and with the worker in this process", _gateway_run, 200),
    "http_run": HotPath("1+1 over HTTP: frame, policy, hooks, a jailed worker process, store, audit", _http_run, 25),
}


def show(name: str) -> str:
    """The profile of a path as text."""
    path = PATHS[name]
    with path.opening() as hot:
        return profile(f"{name}: {path.about}", hot, path.times)
