"""Kill -9 the whole gateway at random instants while eight clients write over HTTP; after each restart, look whether it kept its
word.

    python -m tests.gateway.gateway_campaign --kills 1000 --seed 1 [--workers processes]

Each client has a durable session and counts. Its n-th step writes a file that says n, keeps a value that says n, and runs a
program that sets the variable n and writes n into two files. Whatever was answered is noted as acknowledged. So after a kill
there must be, for each client: in the file and in the value the last acknowledged number, or the one that was on its way, whole;
in the variable and in both of the program's files the same number, the last acknowledged or the one on its way; a finished
record of every acknowledged run; and an audit chain that `hatchway audit verify` accepts, with every acknowledged run once.

A gateway is killed while it works, soon after it listens, or while it starts. How long a start takes until it answers a run of
a thawed session is measured.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from tests.gateway.serving import Gateway, serving

CLIENTS: Final = 8
_PATIENCE_S: Final = 60.0
_LEAVINGS: Final = (OSError, http.client.HTTPException)
"""What a client sees of a gateway that was killed."""


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

    def __init__(self, gateway: Gateway) -> None:
        self._token = gateway.token
        self._http = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=_PATIENCE_S)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/octet-stream"}
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
    return f"n = {number}\nfor name in 'ab':\n    with open(name, 'w') as f: f.write(f'{{n}}:' + 'y' * {number * 53 % 5000})\nn"


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
    """Writes until the gateway is gone. `acknowledged` and `begun` are the last numbers, by what was written."""

    def __init__(self, name: str, notice: threading.Semaphore) -> None:
        super().__init__(name=name, daemon=True)
        self.session = name
        self.acknowledged: Counter[str] = Counter()
        self.begun: Counter[str] = Counter()
        self.runs: dict[int, str] = {}
        self.refused: list[str] = []
        self._notice = notice
        self._gateway: Gateway | None = None

    def again(self, gateway: Gateway) -> Client:
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
            if record["result"]["result"] != number:
                self.refused.append(f"the run {number} answered {record['result']}"[:500])
            self.runs[number] = record["id"]

    def _write(self, connection: Connection, what: str, number: int, method: str, path: str, body: Any) -> bytes | None:
        self.begun[what] = number
        status, answer = connection.ask(method, path, body)
        if status >= 300:
            self.refused.append(f"{what} {number} got {status}: {answer[:300]!r}")
            return None
        self.acknowledged[what] = number
        self._notice.release()
        return answer


class Campaign:
    def __init__(self, folder: Path, seed: int, workers: str) -> None:
        self._data = folder / "data"
        self._workers = workers
        self._chance = random.Random(seed)
        self._notice = threading.Semaphore(0)
        self._clients = [Client(f"w{number}", self._notice) for number in range(CLIENTS)]
        self._token = ""
        self.report = Report()

    def go(self, kills: int) -> Report:
        with self._served() as gateway:
            self._token = gateway.token
            self._make_sessions(gateway)
            self._work_and_kill(gateway)
        while not self.report.problems:
            with self._served() as gateway:
                self._check(gateway)
                if self.report.kills >= kills or self.report.problems:
                    break
                self._work_and_kill(gateway)
            if self._chance.random() < 0.15:
                self._kill_while_it_starts()
        return self.report

    def _served(self) -> Any:
        self._started_s = time.monotonic()
        return serving(self._data, token=self._token, workers=self._workers)

    def _make_sessions(self, gateway: Gateway) -> None:
        connection = Connection(gateway)
        for client in self._clients:
            status, answer = connection.ask("POST", "/v1/sessions", {"id": client.session, "durable": True})
            assert status == 201, answer
        connection.close()

    def _work_and_kill(self, gateway: Gateway) -> None:
        self._clients = [client.again(gateway) for client in self._clients]
        before = sum(sum(client.acknowledged.values()) for client in self._clients)
        for client in self._clients:
            client.start()
        if self._chance.random() < 0.2:
            time.sleep(self._chance.uniform(0.0, 0.1))
        else:
            deadline = time.monotonic() + _PATIENCE_S
            for _ in range(self._chance.randrange(1, 120)):
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
        words = ["serve", "--data", str(self._data), "--port", "0", "--workers", self._workers]
        process = subprocess.Popen(
            [sys.executable, "-m", "hatchway.cli", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(self._chance.uniform(0.1, 1.0))
        process.kill()
        process.wait()
        self.report.kills += 1
        self.report.early_kills += 1

    def _check(self, gateway: Gateway) -> None:
        self.report.start_s.append(time.monotonic() - self._started_s)
        connection = Connection(gateway)
        try:
            for client in self._clients:
                self._check_client(connection, client)
            self._check_audit(connection)
        finally:
            connection.close()
        words = [sys.executable, "-m", "hatchway.cli", "audit", "verify", "--data", str(self._data)]
        verified = subprocess.run(words, capture_output=True, text=True, check=False)
        if verified.returncode != 0:
            self._problem(f"audit verify: {verified.stdout[-500:]}{verified.stderr[-500:]}")

    def _check_client(self, connection: Connection, client: Client) -> None:
        path = f"/v1/sessions/{client.session}"
        self._check_number(client, "file", number_in(self._get(connection, path + "/files/kept")))
        self._check_number(client, "value", number_in(self._get(connection, path + "/values/n")))
        files = [number_in(self._get(connection, f"{path}/files/{name}")) for name in "ab"]
        variable = self._variable(connection, client)
        self._check_number(client, "run", variable)
        if files != [variable, variable]:
            self._problem(f"{client.session}: the variable is {variable}, its files say {files}")
        acknowledged = max(client.runs, default=0)
        if acknowledged:
            record = json.loads(self._get(connection, f"/v1/runs/{client.runs[acknowledged]}") or b"{}")
            if record.get("state") != "finished" or record["result"]["result"] != acknowledged:
                self._problem(f"{client.session}: the record of the acknowledged run {acknowledged} is {record}"[:500])

    def _variable(self, connection: Connection, client: Client) -> int:
        code = {"code": "globals().get('n', 0)"}
        status, answer = connection.ask("POST", f"/v1/sessions/{client.session}/runs", code)
        if client is self._clients[0]:
            self.report.first_result_s.append(time.monotonic() - self._started_s)
        if status != 200:
            self._problem(f"{client.session} does not go on: {status} {answer[:300]!r}")
            return -1
        return int(json.loads(answer)["result"]["result"])

    def _check_number(self, client: Client, what: str, found: int) -> None:
        acknowledged, begun = client.acknowledged[what], client.begun[what]
        if found not in (acknowledged, begun):
            self._problem(f"{client.session}: {what} {acknowledged} was acknowledged, {begun} on its way; {found} is there")
        self.report.on_the_way_and_there += found == begun != acknowledged
        client.acknowledged[what] = client.begun[what] = found

    def _check_audit(self, connection: Connection) -> None:
        counted: Counter[str] = Counter()
        cursor: str | None = "0"
        while cursor is not None:
            page = json.loads(self._get(connection, f"/v1/audit?limit=200&cursor={cursor}") or b"{}")
            counted.update(one["subject"] for one in page["items"] if one["kind"] == "run")
            cursor = page["next"]
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
    parser.add_argument("--workers", choices=("in-process", "processes"), default="in-process")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hatchway-crash-"))
    started = time.monotonic()
    try:
        report = Campaign(folder, options.seed, options.workers).go(options.kills)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.workers}, seed {options.seed}, {time.monotonic() - started:.0f} s: {report}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
