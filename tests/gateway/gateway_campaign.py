"""Kill -9 the whole gateway at random instants while eight clients write over HTTP; after each restart, look whether it kept its
word.

    python -m tests.gateway.gateway_campaign --kills 1000 --seed 1 [--workers processes]

Each client has a durable session and counts. Its n-th step writes a file that says n, keeps a value that says n, and runs a
program that sets the variable n and writes n into two files. Whatever was answered is noted as acknowledged. So after a kill
there must be, for each client: in the file and in the value the last acknowledged number, or one that was on its way, whole; in
both of the program's files the same number, the last acknowledged or one on its way; a finished record of the last acknowledged
run; and an audit chain that verifies, with every acknowledged run once. That the variable is what the files say is asked of a few
sessions at once, and of the others by their next program, which looks before it writes.

A gateway is killed while it works, soon after it listens, or while it starts. Most gateways are forked from this process, which
has imported everything already, so that a kill takes a second or two; every COMMAND_EVERYth is started as `hatchway serve`, and
`hatchway audit verify` then looks at the whole chain as well. How long a start by the command takes until it answers a run of a
thawed session is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import math
import os
import random
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

import gateway.http.assembly
import gateway.http.transport.server
import gateway.service
import gateway.stores.engines.sqlite
import sandbox.workers.local.worker
import sandbox.workers.process_pool
from gateway.audit.verification import Verifier
from gateway.configuration import load
from gateway.records import AuditRecord
from hatchway.cli.serve import serve
from tests.gateway.serving import serving

PRELOADED: Final = (
    gateway.http.assembly,
    gateway.http.transport.server,
    gateway.service,
    gateway.stores.engines.sqlite,
    sandbox.workers.local.worker,
    sandbox.workers.process_pool,
)
"""So that a fork need not import them."""
CLIENTS: Final = 8
COMMAND_EVERY: Final = 50
_PATIENCE_S: Final = 600.0
"""A campaign may run beside others, with the lowest priority."""
_LEAVINGS: Final = (OSError, http.client.HTTPException)
"""What a client sees of a gateway that was killed."""


class Served(Protocol):
    url: str
    token: str

    def kill(self) -> None: ...


@dataclass(slots=True)
class Forked:
    """A gateway in a fork of this process."""

    url: str
    token: str
    pid: int
    is_dead: bool = False

    def kill(self) -> None:
        if not self.is_dead:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.is_dead = True


def fork_gateway(data: Path, workers: str, out: int) -> int:
    """The pid of a gateway that prints to `out`. There must be no other thread here."""
    pid = os.fork()
    if pid:
        return pid
    try:
        with data.with_name(f"{data.name}.log").open("ab") as log:
            os.dup2(out, 1)
            os.dup2(log.fileno(), 2)
        asyncio.run(serve(load(None, {}, data=str(data), port=0, workers=workers)))
    except BaseException:
        os._exit(1)
    os._exit(0)


@contextlib.contextmanager
def forking(data: Path, token: str, workers: str) -> Iterator[Forked]:
    reading, writing = os.pipe()
    pid = fork_gateway(data, workers, writing)
    os.close(writing)
    gateway = Forked("", token, pid)
    try:
        text, deadline = b"", time.monotonic() + _PATIENCE_S
        while not (found := re.search(rb"listens on (http\S+)", text)):
            ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(reading, 1 << 16) if ready else b""
            assert more, f"the gateway did not start: {data.with_name(f'{data.name}.log').read_text()[-3000:]}"
            text += more
        gateway.url = found[1].decode()
        yield gateway
    finally:
        gateway.kill()
        os.close(reading)


@dataclass
class Report:
    kills: int = 0
    early_kills: int = 0
    acknowledged: int = 0
    on_the_way_and_there: int = 0
    start_s: list[float] = field(default_factory=list)
    first_result_s: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        text = f"{self.kills} kills ({self.early_kills} while it started), {self.acknowledged} acknowledged writes, "
        text += f"{self.on_the_way_and_there} unacknowledged ones there"
        for name, times in (("until it listens", self.start_s), ("until a thawed session's result", self.first_result_s)):
            if times:
                text += f"; {name}: median {statistics.median(times):.2f} s, most {max(times):.2f} s"
        return text + "".join(f"\n  PROBLEM {one}" for one in self.problems)


class Connection:
    """One kept connection with a token. `ask` raises what `_LEAVINGS` names when the other side is gone."""

    def __init__(self, gateway: Served) -> None:
        self._token = gateway.token
        self._http = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=_PATIENCE_S)

    def ask(self, method: str, path: str, body: Any = None, more: Mapping[str, str] = MappingProxyType({})) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/octet-stream", **more}
        if body is not None and not isinstance(body, bytes):
            body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        self._http.request(method, path, body, headers)
        answer = self._http.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        self._http.close()


def content_of(number: int) -> bytes:
    """What a file says when it says `number`: long enough to be torn, and it shows if it is."""
    return b"%d:%s:%d" % (number, b"x" * (number * 37 % 9000), number)


def program_of(number: int) -> str:
    """Answers what the variable and the file said before, and what they say now."""
    return f"""
import os
was = globals().get('n', 0)
said = int(open('a').read().split(':')[0]) if os.path.exists('a') else 0
n = {number}
for name in 'ab':
    with open(name, 'w') as file:
        file.write(f'{{n}}:' + 'y' * {number * 53 % 5000})
[was, said, n]
"""


def number_in(data: bytes | None) -> int:
    """What `content_of` and the program wrote; -1 for what neither can have written."""
    if data is None:
        return 0
    found = re.fullmatch(rb"(\d+):(x*)(?::(\d+))?|(\d+):(y*)", data)
    if found is None:
        return -1
    if found[4] is not None:
        return int(found[4]) if len(found[5]) == int(found[4]) * 53 % 5000 else -1
    return int(found[1]) if data == content_of(int(found[1])) else -1


class Client(threading.Thread):
    """Writes until the gateway is gone. By what is written: `acknowledged` is the last number, `begun` are those that were sent
    since and may be there or not."""

    def __init__(self, name: str, notice: threading.Semaphore) -> None:
        super().__init__(name=name, daemon=True)
        self.session = name
        self.acknowledged: Counter[str] = Counter()
        self.begun: dict[str, set[int]] = {"file": set(), "value": set(), "run": set()}
        self.runs: dict[int, str] = {}
        self.refused: list[str] = []
        self._notice = notice
        self._gateway: Served | None = None

    def again(self, gateway: Served) -> Client:
        """The same client with a new thread, for a gateway that was restarted."""
        fresh = Client(self.session, self._notice)
        fresh.acknowledged, fresh.begun, fresh.runs = self.acknowledged, self.begun, self.runs
        fresh._gateway = gateway
        return fresh

    def run(self) -> None:
        assert self._gateway is not None
        connection = Connection(self._gateway)
        try:
            while not self.refused:
                self._step(connection, max(self.acknowledged.values(), default=0) + 1)
        except _LEAVINGS:
            pass
        finally:
            connection.close()

    def _step(self, connection: Connection, number: int) -> None:
        path = f"/v1/sessions/{self.session}"
        self._write(connection, "file", number, "PUT", path + "/files/kept", content_of(number))
        self._write(connection, "value", number, "PUT", path + "/values/n", content_of(number))
        body = self._write(connection, "run", number, "POST", path + "/runs", {"code": program_of(number)})
        if body is not None:
            record = json.loads(body)
            was, said, now = record["result"]["result"] or (-1, -1, -1)
            if was != said or now != number:
                self.refused.append(f"the run {number} answered {record['result']}"[:500])
            self.runs[number] = record["id"]

    def _write(self, connection: Connection, what: str, number: int, method: str, path: str, body: Any) -> bytes | None:
        self.begun[what].add(number)
        status, answer = connection.ask(method, path, body)
        if status >= 300:
            self.refused.append(f"{what} {number} got {status}: {answer[:300]!r}")
            return None
        self.acknowledged[what] = number
        self.begun[what].clear()
        self._notice.release()
        return answer


class Campaign:
    def __init__(self, folder: Path, seed: int, workers: str, command_every: int = COMMAND_EVERY) -> None:
        """With a `command_every` of 1 nothing is forked: for a process that has threads of its own."""
        self._data = folder / "data"
        self._workers = workers
        self._chance = random.Random(seed)
        self._notice = threading.Semaphore(0)
        self._clients = [Client(f"w{number}", self._notice) for number in range(CLIENTS)]
        self._token = ""
        self._starts = 0
        self._command_every = command_every
        self._verifier = Verifier()
        self._audited = 0
        self.report = Report()

    def go(self, kills: int, seconds: float = math.inf) -> Report:
        until = time.monotonic() + seconds
        with self._served() as gateway:
            self._token = gateway.token
            self._make_sessions(gateway)
            self._work_and_kill(gateway)
        while not self.report.problems:
            with self._served() as gateway:
                self._check(gateway)
                if self.report.kills >= kills or self.report.problems or time.monotonic() >= until:
                    break
                self._work_and_kill(gateway)
            if self._starts % 20 == 0:
                print(f"{self.report.kills} of {kills} kills, {self.report.acknowledged} writes", file=sys.stderr, flush=True)
            if self._command_every > 1 and self._chance.random() < 0.15:
                self._kill_while_it_starts()
        self._verify()
        return self.report

    def _served(self) -> Any:
        self._starts += 1
        self._started_s = time.monotonic()
        self._by_command = (self._starts - 1) % self._command_every == 0 or not self._token
        if self._by_command:
            return serving(self._data, token=self._token, workers=self._workers, patience_s=_PATIENCE_S)
        return forking(self._data, self._token, self._workers)

    def _make_sessions(self, gateway: Served) -> None:
        connection = Connection(gateway)
        for client in self._clients:
            status, answer = connection.ask("POST", "/v1/sessions", {"id": client.session, "durable": True})
            assert status == 201, answer
        connection.close()

    def _work_and_kill(self, gateway: Served) -> None:
        self._clients = [client.again(gateway) for client in self._clients]
        before = sum(sum(client.acknowledged.values()) for client in self._clients)
        for client in self._clients:
            client.start()
        if self._chance.random() < 0.2:
            time.sleep(self._chance.uniform(0.0, 0.1))
        else:
            deadline = time.monotonic() + _PATIENCE_S
            for _ in range(self._chance.randrange(1, 40)):
                self._notice.acquire(timeout=max(0.0, deadline - time.monotonic()))
            time.sleep(self._chance.uniform(0.0, 0.02))
        gateway.kill()
        for client in self._clients:
            client.join(_PATIENCE_S)
            if client.is_alive():
                self._problem(f"{client.session} still waits for an answer of a killed gateway")
            for said in client.refused:
                self._problem(f"{client.session}: {said}")
        self.report.kills += 1
        self.report.acknowledged += sum(sum(client.acknowledged.values()) for client in self._clients) - before

    def _kill_while_it_starts(self) -> None:
        with open(os.devnull, "wb") as nowhere:
            pid = fork_gateway(self._data, self._workers, nowhere.fileno())
        time.sleep(self._chance.uniform(0.0, 0.7))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.report.kills += 1
        self.report.early_kills += 1

    def _check(self, gateway: Served) -> None:
        if self._by_command:
            self.report.start_s.append(time.monotonic() - self._started_s)
        connection = Connection(gateway)
        try:
            for client in self._clients:
                self._check_client(connection, client)
            for client in self._clients if self._by_command else self._chance.sample(self._clients, 2):
                self._check_variable(connection, client)
            self._check_audit(connection)
        finally:
            connection.close()
        if self._by_command:
            self._verify()

    def _verify(self) -> None:
        words = [sys.executable, "-m", "hatchway.cli", "audit", "verify", "--data", str(self._data)]
        verified = subprocess.run(words, capture_output=True, text=True, check=False)
        if verified.returncode != 0:
            self._problem(f"audit verify: {verified.stdout[-500:]}{verified.stderr[-500:]}")

    def _check_client(self, connection: Connection, client: Client) -> None:
        path = f"/v1/sessions/{client.session}"
        self._check_number(client, "file", number_in(self._get(connection, path + "/files/kept")))
        self._check_number(client, "value", number_in(self._get(connection, path + "/values/n")))
        one, other = (number_in(self._get(connection, f"{path}/files/{name}")) for name in "ab")
        self._check_number(client, "run", one)
        if one != other:
            self._problem(f"{client.session}: a program wrote the same into two files, and they say {one} and {other}")
        acknowledged = max(client.runs, default=0)
        if acknowledged:
            record = json.loads(self._get(connection, f"/v1/runs/{client.runs[acknowledged]}") or b"{}")
            if record.get("state") != "finished" or record["result"]["result"][2] != acknowledged:
                self._problem(f"{client.session}: the record of the acknowledged run {acknowledged} is {record}"[:500])

    def _check_variable(self, connection: Connection, client: Client) -> None:
        code = {"code": "globals().get('n', 0)"}
        status, answer = connection.ask("POST", f"/v1/sessions/{client.session}/runs", code)
        if client is self._clients[0] and self._by_command:
            self.report.first_result_s.append(time.monotonic() - self._started_s)
        if status != 200:
            self._problem(f"{client.session} does not go on: {status} {answer[:300]!r}")
        elif (found := json.loads(answer)["result"]["result"]) != client.acknowledged["run"]:
            self._problem(f"{client.session}: the variable is {found}, its files say {client.acknowledged['run']}")

    def _check_number(self, client: Client, what: str, found: int) -> None:
        acknowledged, begun = client.acknowledged[what], client.begun[what]
        if found != acknowledged and found not in begun:
            self._problem(f"{client.session}: {what} {acknowledged} was acknowledged, {begun} on its way; {found} is there")
        self.report.on_the_way_and_there += found != acknowledged
        client.acknowledged[what] = found
        begun.clear()

    def _check_audit(self, connection: Connection) -> None:
        """What is new in the chain follows what was there, and every acknowledged run is in it once."""
        counted: Counter[str] = Counter()
        cursor: str | None = str(self._audited)
        while cursor is not None:
            page = json.loads(self._get(connection, f"/v1/audit?limit=200&cursor={cursor}") or b"{}")
            for record in msgspec.convert(page["items"], list[AuditRecord]):
                self._verifier.add(record)
                self._audited = record.sequence
                counted[record.subject] += record.kind == "run"
            cursor = page["next"]
        for finding in self._verifier.finish().findings:
            self._problem(f"the audit chain: {finding}")
        for client in self._clients:
            for number, run_id in client.runs.items():
                if counted[run_id] != 1:
                    self._problem(f"{client.session}: the acknowledged run {number} is {counted[run_id]} times in the audit log")
            client.runs = {}

    def _get(self, connection: Connection, path: str) -> bytes | None:
        status, body = connection.ask("GET", path)
        if status not in (200, 404):
            self._problem(f"GET {path} got {status}: {body[:300]!r}")
        return body if status == 200 else None

    def _problem(self, text: str) -> None:
        self.report.problems.append(f"after kill {self.report.kills}: {text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--seconds", type=float, default=math.inf, help="end after that long, however many kills there were")
    parser.add_argument("--workers", choices=("in-process", "processes"), default="in-process")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hatchway-crash-"))
    started = time.monotonic()
    try:
        report = Campaign(folder, options.seed, options.workers).go(options.kills, options.seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.workers}, seed {options.seed}, {time.monotonic() - started:.0f} s: {report}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
