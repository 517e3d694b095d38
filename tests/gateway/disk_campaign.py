"""A whole gateway on a disk that fails at its n-th write, for every n: what clients are told, and what is there afterwards.

    python -m tests.gateway.disk_campaign [--every 1]

`stores/faults.c` is preloaded into `hatchway serve` and fails writes, flushes and truncations of the store's files. Each trial
writes a file and a value and runs a program in a durable session, with a fault at the n-th call; n grows until a trial makes
fewer calls. Whatever happens, an answer is a success or a typed refusal (507), reads that need no audit record are served all the
time, and what is read is what was acknowledged last, or what an answer said may be there. Then the disk is whole again, and the
next trial begins with nobody having restarted anything. A disk that stays broken from the n-th call on is tried, too.
"""

from __future__ import annotations

import argparse
import errno
import json
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.gateway.gateway_campaign import Connection
from tests.gateway.serving import serving
from tests.gateway.stores.faulty_writer import Faults, build_library

CALLS_MAX: Final = 500
_TYPED: Final = ("STORE_FULL", "STORE_IO", "STORE_UNCERTAIN")


@dataclass
class Report:
    reached: int = 0
    trials: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        text = f"{self.trials} trials, faults at up to the {self.reached}th call; answers: {dict(self.answers)}"
        return text + "".join(f"\n  PROBLEM {one}" for one in self.problems)


class Trial:
    """One client's file, value and variable; each holds the last number that was acknowledged for it."""

    def __init__(self, connection: Connection, faults: Faults, report: Report) -> None:
        self._connection, self._faults, self._report = connection, faults, report
        self._number = 0
        self._kept: dict[str, int] = {}
        self._perhaps: dict[str, int] = {}

    def once(self, n: int, error: int, *, lasting: bool) -> bool:
        """Whether the fault was met."""
        when = f"errno {error} {'from' if lasting else 'at'} call {n}"
        self._faults.plan(n, error, lasting=lasting)
        self._write(when)
        self._read(when)
        met = self._faults.count > 0
        self._faults.plan(0)
        self._write(f"after {when}", must=True)
        self._read(f"after {when}")
        self._report.trials += 1
        return met

    def _write(self, when: str, *, must: bool = False) -> None:
        self._number += 1
        number, path = self._number, "/v1/sessions/s"
        content = b"%d:%s" % (number, b"x" * 9000)
        code = f"n = {number}; open('made', 'w').write(f'{{n}}:' + 'y' * 9000); n"
        asked: list[tuple[str, str, str, Any]] = [
            ("file", "PUT", path + "/files/f", content),
            ("value", "PUT", path + "/values/v", content),
            ("run", "POST", path + "/runs", {"code": code}),
        ]
        for what, method, target, body in asked:
            status, answer = self._connection.ask(method, target, body)
            if status < 300:
                self._kept[what] = number
                self._report.answers["ok"] += 1
                continue
            code_of = json.loads(answer).get("code", "")
            self._report.answers[code_of] += 1
            if code_of == "STORE_UNCERTAIN":
                self._perhaps[what] = number
            if must or status != 507 or code_of not in _TYPED:
                self._report.problems.append(f"{when}: {what} got {status} {answer[:200]!r}")

    def _read(self, when: str) -> None:
        for what, target in (("file", "files/f"), ("value", "values/v"), ("run", "files/made")):
            status, body = self._connection.ask("GET", f"/v1/sessions/s/{target}")
            found = int(body.split(b":")[0]) if status == 200 else -status
            is_refused = found == -507 and what != "value" and not when.startswith("after")
            if not is_refused and found not in (self._kept.get(what, -404), self._perhaps.get(what)):
                self._report.problems.append(f"{when}: {what} {self._kept.get(what)} was acknowledged, {found} is read")

    def check_variable(self) -> None:
        status, answer = self._connection.ask("POST", "/v1/sessions/s/runs", {"code": "n"})
        if status != 200 or json.loads(answer)["result"]["result"] != self._kept["run"]:
            self._report.problems.append(f"the variable is not {self._kept['run']}: {status} {answer[:300]!r}")


def run_campaign(folder: Path, every: int = 1) -> Report:
    report, data, plan = Report(), folder / "data", folder / "faults"
    plan.write_bytes(b"\0" * 16)
    preloaded = {"LD_PRELOAD": str(build_library(folder)), "HATCHWAY_FAULTS": str(plan), "HATCHWAY_FAULTS_BELOW": str(data)}
    with serving(data, settings=preloaded, patience_s=600) as gateway:
        connection = Connection(gateway)
        status, answer = connection.ask("POST", "/v1/sessions", {"id": "s", "durable": True})
        assert status == 201, answer
        trial = Trial(connection, Faults(str(plan)), report)
        for lasting in (False, True):
            for error in (errno.ENOSPC, errno.EIO):
                for n in range(1, CALLS_MAX, every * (5 if lasting else 1)):
                    if not trial.once(n, error, lasting=lasting):
                        break
                    report.reached = max(report.reached, n)
        trial.check_variable()
        connection.close()
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="only every so many-th call")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hatchway-disk-"))
    try:
        report = run_campaign(folder, options.every)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(report)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
