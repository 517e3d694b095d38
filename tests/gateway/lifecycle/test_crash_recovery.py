"""The whole gateway is killed, and its workers are: what was acknowledged is there, and only what was on its way is lost.

`tests.gateway.gateway_campaign` does the first for as long as one likes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.gateway_campaign import Campaign, Connection
from tests.gateway.house import POLICY, TEST
from tests.gateway.serving import Gateway, serving

PATIENCE_S = 60.0


@pytest.mark.parametrize("workers", ["in-process", "processes"])
def test_every_acknowledged_write_is_there_and_whole_after_the_gateway_was_killed(tmp_path: Path, workers: str) -> None:
    report = Campaign(tmp_path, seed=7, workers=workers, command_every=1).go(kills=2)
    assert not report.problems, str(report)
    assert report.acknowledged > 0


def descendants(pid: int) -> set[int]:
    """All processes beneath one, as /proc knows them."""
    found, left = set(), [pid]
    while left:
        parent = left.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                children = [int(one) for one in task.read_text("ascii").split()]
            except OSError:
                continue
            found.update(children)
            left.extend(children)
    return found


def cpu_ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def busiest(pid: int) -> int:
    """The process beneath `pid` that computes: the worker of the tenant whose programs run."""
    before = {one: cpu_ticks(one) for one in descendants(pid)}
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        used = {one: cpu_ticks(one) - before.get(one, 0) for one in descendants(pid)}
        if used and max(used.values()) >= 20:
            return max(used, key=lambda one: used[one])
        time.sleep(0.02)
    raise AssertionError("no worker computes")


class Runner(threading.Thread):
    """Counts in a durable session, one run at a time, whatever becomes of a run."""

    def __init__(self, gateway: Gateway, session: str, ending: threading.Event, tenant: str = "default") -> None:
        super().__init__(daemon=True)
        self.tenant, self.session, self.done, self.failed = tenant, session, 0, list[tuple[int, str]]()
        self.wrong, self.said = list[str](), list[str]()
        self._connection, self._ending = Connection(gateway), ending
        status, answer = self._connection.ask("POST", "/v1/sessions", {"id": session, "durable": True})
        assert status == 201, answer
        self.count(1)

    def count(self, number: int) -> None:
        code = f"was = globals().get('n', 0)\nn = {number}\nsum(range(60_000))\nwas"
        status, answer = self._connection.ask("POST", f"/v1/sessions/{self.session}/runs", {"code": code})
        said = json.loads(answer)
        if status != 200:
            self.failed.append((status, said["code"]))
            self.said.append(said["message"])
            return
        if said["result"]["result"] != self.done:
            self.wrong.append(f"before {number} there was {said['result']}, and {self.done} was acknowledged"[:500])
        self.done = number

    def run(self) -> None:
        try:
            while not self._ending.is_set():
                self.count(self.done + 1)
        except (OSError, http.client.HTTPException) as lost:
            self.wrong.append(f"after {self.done} the gateway itself did not answer: {lost!r}")
        finally:
            self.close()

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def _running(runners: list[Runner], ending: threading.Event) -> Iterator[None]:
    """They run until whoever uses them is done, or has failed: never longer than the gateway."""
    for runner in runners:
        runner.start()
    try:
        yield
    finally:
        ending.set()
        for runner in runners:
            runner.join(PATIENCE_S)


def _wait_for_progress(runners: list[Runner], since: list[int]) -> None:
    _until(lambda: all(one.done > before + 2 for one, before in zip(runners, since, strict=True)), "every session goes on")


def _as(gateway: Gateway, tenant: str) -> Gateway:
    """The gateway as a tenant of its own sees it."""
    admin = Connection(gateway)
    assert admin.ask("POST", "/v1/tenants", {"id": tenant})[0] == 201
    admin.close()
    headers = {"Authorization": f"Bearer {gateway.token}", "Content-Type": "application/json", "Hatchway-Tenant": tenant}
    body = json.dumps({"name": "runner", "role": "runner"}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{gateway.url}/v1/tokens", body, headers), timeout=PATIENCE_S) as answer:
        return dataclasses.replace(gateway, token=json.load(answer)["secret"])


def test_only_the_runs_on_their_way_are_lost_when_a_worker_is_killed_and_its_sessions_go_on(tmp_path: Path) -> None:
    """Three tenants, two clients each. A kill costs one tenant the runs that were on their way, and the others nothing."""
    with serving(tmp_path / "data", workers="processes") as gateway:
        ending = threading.Event()
        seen = {tenant: _as(gateway, tenant) for tenant in ("acme", "globex", "initech")}
        runners = [Runner(seen[tenant], f"s{number}", ending, tenant) for tenant in seen for number in range(2)]
        kills = 0
        with _running(runners, ending):
            while sum(len(one.failed) for one in runners) < 2 and kills < 20:
                before = [len(one.failed) for one in runners]
                os.kill(busiest(gateway.process.pid), signal.SIGKILL)
                kills += 1
                _wait_for_progress(runners, [one.done for one in runners])
                struck = [one for one, count in zip(runners, before, strict=True) if len(one.failed) > count]
                assert len({one.tenant for one in struck}) <= 1, f"a kill was felt by another tenant: {_said(struck)}"
                for one, count in zip(runners, before, strict=True):
                    assert len(one.failed) <= count + 1, f"it cost a session more than one run: {_said([one])}"
        assert {what for one in runners for what in one.failed} == {(503, "WORKER_LOST")}, _said(runners)
        assert not [text for one in runners for text in one.wrong]


def _said(runners: list[Runner]) -> dict[str, list[str]]:
    """What those whose runs were lost were told, by tenant and session."""
    return {f"{one.tenant}/{one.session}": one.said for one in runners if one.said}


_SERVE = """
import sys
from hatchway import cli
from hatchway.cli import serve
from tests.sandbox.workers.undescribed import undescribed

async def look(service, face, images):
    print(undescribed())
    await face.server.stop()
    return 0

serve._run = look
sys.exit(cli.main(["serve", "--data", sys.argv[1], "--port", "0", "--workers", sys.argv[2]]))
"""


@pytest.mark.parametrize("workers", ["in-process", "processes"])
def test_a_gateway_can_decode_every_record_on_threads_before_anybody_is_answered(tmp_path: Path, workers: str) -> None:
    """Two threads that decoded one for the first time at once would end it: see `sandbox.workers.warm_decoders`."""
    words = [sys.executable, "-c", _SERVE, str(tmp_path / "data"), workers]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def _audit(gateway: Gateway) -> list[dict[str, Any]]:
    with contextlib.closing(Connection(gateway)) as connection:
        status, body = connection.ask("GET", "/v1/audit?limit=200")
    assert status == 200, body
    records: list[dict[str, Any]] = json.loads(body)["items"]
    return records


_REFUND = """
import asyncio, json, os, signal, sys
from pathlib import Path
from gateway.runs.runs import RunBody
from gateway.configuration import Configuration
from gateway.service import Service
from gateway.sessions.sessions import CreateSession
from gateway.stores.changes import PutTenant
from gateway.stores.engines.sqlite import SqliteStore
from sandbox.capabilities.registry import Capability
from sandbox.encoding.sealing import Keys
from sandbox.wire import SideEffect
from sandbox.workers.local.worker import LocalWorkers
from tests.gateway.house import ANN
from tests.gateway.stores.making import tenant

folder = Path(sys.argv[1])

async def refund() -> str:
    (folder / "refunded").touch()
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"

async def main():
    store = await SqliteStore.open(folder / "store.db")
    service = Service(store, LocalWorkers(), Keys.of(b"k" * 32), Configuration(policy=str(folder / "p.hatch")))
    if await store.tenant("acme") is None:
        await store.write("acme", [PutTenant(tenant("acme"))])
    declared = Capability(name="refund", side_effect=SideEffect.EXTERNAL_SYSTEM, input_schema={"type": "object"})
    await service.start(functions=[(declared, refund)])
    if not (folder / "refunded").exists():
        await service.sessions.create(ANN, CreateSession(id="s"))
        await service.runs.run(ANN, "s", RunBody(code="tools.refund()"))
    print(json.dumps([[one.subject, one.data] for one in await store.audit("acme") if one.kind == "call"]))
    await service.stop(0)

asyncio.run(main())
"""


def test_tm_audit_loss_an_effect_whose_service_was_killed_is_in_the_log_and_the_next_start_says_so(tmp_path: Path) -> None:
    (tmp_path / "p.hatch").write_text(POLICY + "allow refund\n" + TEST.format(more="refund {} => allow"))

    def serve() -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", _REFUND, str(tmp_path)]
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    killed = serve()
    assert killed.returncode == -signal.SIGKILL and (tmp_path / "refunded").exists(), killed.stderr
    for is_first in (True, False):  # what a start found, the next one does not find again
        started = serve()
        assert started.returncode == 0, started.stderr
        (one, begun), (other, ended) = json.loads(started.stdout)
        assert one == other == "refund" and (begun["status"], ended["status"]) == ("begun", "interrupted")
        assert (begun["call"], begun["run"]) == (ended["call"], ended["run"]) and begun["request"]
        assert ("1 calls of acme were interrupted" in started.stderr) == is_first


def test_tm_audit_loss_what_was_answered_before_a_kill_is_in_the_log(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as gateway:
        token, connection = gateway.token, Connection(gateway)
        assert connection.ask("POST", "/v1/sessions", {"id": "s"})[0] == 201
        for number in range(8):
            assert connection.ask("PUT", f"/v1/sessions/s/files/f{number}", b"x")[0] in (200, 201)
        for number in range(8):
            assert connection.ask("GET", f"/v1/sessions/s/files/f{number}")[0] == 200
        gateway.kill()
        connection.close()
    with serving(tmp_path / "data", token=token) as gateway:
        read = [one["data"]["path"] for one in _audit(gateway) if one["data"].get("operation") == "read"]
    assert read == [f"/workspace/f{number}" for number in range(8)]


def test_a_killed_gateway_leaves_no_worker_behind(tmp_path: Path) -> None:
    with serving(tmp_path / "data", workers="processes") as gateway:
        Runner(gateway, "s", threading.Event()).close()
        beneath = descendants(gateway.process.pid)
        assert beneath
        gateway.kill()
        _until(lambda: not any(_lives(pid) for pid in beneath), "its workers have ended")


def _lives(pid: int) -> bool:
    try:
        return re.search(r"^State:\s+[ZX]", Path(f"/proc/{pid}/status").read_text("ascii"), re.MULTILINE) is None
    except OSError:
        return False


def _until(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"it did not come to pass that {what}")
