"""Runs with a disk that fails at its n-th call (`faults.c` preloaded), for every n, and says what the store did about it.

It prints one JSON object; `problems` must be empty. See `test_disk_faults.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import mmap
import os
import sqlite3
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

from gateway.audit import verification
from gateway.errors import StoreFailed
from gateway.stores.changes import AppendAudit, PutTenant, PutValue
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.engines.sqlite_steps import list_references
from tests.gateway.stores.making import AT, put_file, put_session, tenant


def build_library(folder: Path) -> Path:
    """What is to be preloaded."""
    built, source = folder / "faults.so", Path(__file__).with_name("faults.c")
    command = [sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-O1", "-o", str(built), str(source), "-ldl"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return built


class Faults:
    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 16)

    def plan(self, countdown: int, error: int = 0, *, lasting: bool = False) -> None:
        struct.pack_into("iiii", self._map, 0, 0, error, lasting, 0)
        struct.pack_into("i", self._map, 0, countdown)

    @property
    def count(self) -> int:
        return int(struct.unpack_from("iiii", self._map, 0)[3])


class Trial:
    def __init__(self, store: SqliteStore, faults: Faults) -> None:
        self.store, self.faults = store, faults
        self.number = 0
        self.stored = 0
        self.codes: Counter[str] = Counter()
        self.problems: list[str] = []

    async def write(self) -> bool:
        """One write of the next number; whether it was acknowledged."""
        self.number += 1
        content = f"{self.number}:" + "y" * (300_000 if self.number % 2 else 20_000)  # in a file of its own, and not
        changes = [
            put_file("/f", content),
            PutValue("s1", "n", str(self.number).encode(), AT),
            AppendAudit(at=AT, kind="write", data={"n": self.number}),
        ]
        try:
            await self.store.write("t1", changes)
        except StoreFailed as error:
            self.codes[error.code] += 1
            return False
        self.stored = self.number
        self.codes["ok"] += 1
        return True

    async def compact(self) -> None:
        """What else is written: the log's pages into the file, and the file's end cut off."""
        try:
            await self.store.compact()
        except StoreFailed as error:
            self.codes[error.code] += 1

    async def check(self, when: str) -> None:
        value, found = await self.store.value("t1", "s1", "n"), await self.store.content("t1", "s1", "/f")
        seen = (int(value or b"0"), int(found[1].split(b":")[0]) if found else 0)
        if seen != (self.stored, self.stored):
            self.problems.append(f"{when}: {self.stored} was acknowledged last, {seen} is read")

    async def once(self, n: int, error: int) -> bool:
        """A fault at the n-th call; False when the writes of this trial make fewer calls."""
        self.faults.plan(n, error)
        for _ in range(3):
            await self.write()
            await self.check(f"call {n}, errno {error}")
        await self.compact()
        await self.check(f"call {n}, errno {error}, compacted")
        fired = self.faults.count > 0
        self.faults.plan(0)
        if not await self.write():
            self.problems.append(f"call {n}, errno {error}: no recovery")
        await self.check(f"after call {n}, errno {error}")
        return fired

    async def lasting(self, n: int, error: int) -> None:
        """A disk that fails from the n-th call on: every write fails, reads are served; then it is repaired."""
        self.faults.plan(n, error, lasting=True)
        for _ in range(5):
            await self.write()
            await self.check(f"from call {n} on, errno {error}")
        self.faults.plan(0)
        if not await self.write():
            self.problems.append(f"from call {n} on, errno {error}: no recovery")
        await self.check(f"after calls from {n} on, errno {error}")


async def main(folder: Path, errors: list[int], most: int) -> dict[str, object]:
    store = await SqliteStore.open(folder / "store.db")
    await store.write("t1", [PutTenant(tenant("t1")), put_session()])
    trial = Trial(store, Faults(os.environ["HATCHWAY_FAULTS"]))
    await trial.write()
    reached = 0
    for error in errors:
        for n in range(1, most):
            if not await trial.once(n, error):
                break
            reached = max(reached, n)
        if error:
            for n in range(1, min(reached, 12), 3):
                await trial.lasting(n, error)
    verdict = await verification.AuditLog(store).verify("t1")
    trial.problems += [finding.message for finding in verdict.findings]
    await store.close()
    with contextlib.closing(sqlite3.connect(folder / "store.db")) as database:
        trial.problems += [row[0] for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
        kept = {reference[:32] for reference in list_references(database)}
    left = {path.name for path in (folder / "store.db.contents").iterdir()} - kept
    trial.problems += [f"{len(left)} contents that no row refers to"] if left else []
    return {"reached": reached, "codes": dict(trial.codes), "problems": trial.problems[:20]}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1]), [int(one) for one in sys.argv[2].split(",")], int(sys.argv[3])))))
