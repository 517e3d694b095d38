"""Kill -9 at random instants while eight writers write; after each restart, look whether the store kept its word.

    python -m tests.gateway.crash_campaign --seed 1 --kills 1000 [--store sqlite|postgres]

Each writer counts: its n-th write sets two files and a value to n, stores the run n (and deletes the one before), and appends an
audit record, all in one write. It says "writer n" on a pipe once the store has acknowledged. So after a kill the store must
hold, for every writer, the last acknowledged n or the one after it, the same in all five places, an audit chain that verifies
and has every number once, a usage that is the sum of what is there, and the contents that rows refer to and no others. Every
fourth writer writes contents that get files of their own.

The child is forked, not started: a thousand kills take minutes. With --store postgres the server is killed too, every few rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import os
import random
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from gateway.audit import verification
from gateway.errors import StoreFailed, Unavailable
from gateway.records import Run
from gateway.stores.changes import AppendAudit, Change, DeleteRecord, PutRun, PutTenant, PutValue, TrimAudit
from gateway.stores.engines.postgres import PostgresStore
from gateway.stores.engines.sqlite import SqliteStore
from gateway.stores.engines.sqlite_steps import list_references
from gateway.stores.store import Store
from tests.gateway.stores.making import AT, put_file, put_session, run, tenant
from tests.gateway.stores.servers import Server

WRITERS = 8
TENANT = "t1"
LARGE = 300_000
_PATIENCE_S = 30.0


@dataclass
class Report:
    kills: int = 0
    server_kills: int = 0
    acknowledged: int = 0
    unacknowledged_but_there: int = 0
    killed_before_any: int = 0
    problems: list[str] = field(default_factory=list)


def changes_of(writer: int, number: int) -> list[Change]:
    session = f"w{writer}"
    content = f"{number}:" + "x" * (number * 37 % 9000 + (LARGE if writer % 4 == 0 else 0))
    return [
        put_file("/d/current", content, session, at=AT + number),
        put_file("/d/copy", content, session, at=AT + number),
        PutValue(session, "n", str(number).encode(), AT + number),
        PutRun(run(f"{session}-{number:09}", session, created_at=AT + number)),
        DeleteRecord(Run, (f"{session}-{number - 1:09}",)),
        AppendAudit(at=AT + number, kind="write", subject=session, data={"n": number}),
    ]


class Campaign:
    def __init__(self, place: str, seed: int, server: Server | None = None) -> None:
        self._place = place
        self._server = server
        self._chance = random.Random(seed)
        self._acknowledged = [0] * WRITERS
        self._server_is_up = True
        self.report = Report()

    async def _open(self) -> Store:
        if self._server is None:
            return await SqliteStore.open(self._place, own=True)
        return await PostgresStore.open(self._place, connections=WRITERS)

    def go(self, kills: int, seconds: float) -> Report:
        until = time.monotonic() + seconds
        asyncio.run(self._prepare())
        while self.report.kills < kills and not self.report.problems and time.monotonic() < until:
            self._round()
        return self.report

    async def _prepare(self) -> None:
        store = await self._open()
        await store.write(TENANT, [PutTenant(tenant(TENANT)), *(put_session(f"w{writer}") for writer in range(WRITERS))])
        await store.close()

    def _round(self) -> None:
        reading, writing = os.pipe()
        before = sum(self._acknowledged)
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._be_the_child(writing)
        os.close(writing)
        text = self._read_until_killed(reading, child)
        os.waitpid(child, 0)
        os.close(reading)
        for line in text.decode("ascii").split("\n")[:-1]:
            writer, number = map(int, line.split())
            self._acknowledged[writer] = number
        self.report.kills += 1
        self.report.acknowledged += sum(self._acknowledged) - before
        self.report.killed_before_any += sum(self._acknowledged) == before
        if self._server is not None and not self._server_is_up:
            self._server.start()
            self._server_is_up = True
        asyncio.run(self._check())

    def _read_until_killed(self, reading: int, child: int) -> bytes:
        """What the child says until it is killed, and what is then left in the pipe.

        The instant: a while after the fork, which meets the opening of the store; or a little after some number of
        acknowledgements, which meets writes however slow the machine is.
        """
        early = self._chance.random() < 0.2
        wanted = 0 if early else self._chance.randrange(1, 60)
        deadline = time.monotonic() + (self._chance.uniform(0.0, 0.05) if early else _PATIENCE_S)
        text, killed = b"", False
        while True:
            left = deadline - time.monotonic()
            if left <= 0 and not killed:
                self._kill(child)
                killed = True
            ready, _, _ = select.select([reading], [], [], None if killed else max(0.0, left))
            more = os.read(reading, 1 << 16) if ready else None
            if more == b"":
                if not killed:
                    self._kill(child)
                return text
            text += more or b""
            if wanted and text.count(b"\n") >= wanted:
                wanted, deadline = 0, time.monotonic() + self._chance.uniform(0.0, 0.005)

    def _kill(self, child: int) -> None:
        if self._server is not None and self._chance.random() < 0.2:
            self._server.kill()
            self._server_is_up = False
            self.report.server_kills += 1
        os.kill(child, signal.SIGKILL)

    def _be_the_child(self, pipe: int) -> None:
        """Never returns: whatever happens, this process ends here."""
        try:
            asyncio.run(self._write_for_ever(pipe))
        except BaseException:
            pass
        finally:
            os._exit(1)

    async def _write_for_ever(self, pipe: int) -> None:
        store = await self._open()

        async def writer(which: int) -> None:
            value = await store.value(TENANT, f"w{which}", "n")
            number = int(value) if value else 0
            while True:
                number += 1
                await store.write(TENANT, changes_of(which, number))
                os.write(pipe, f"{which} {number}\n".encode())

        try:
            await asyncio.gather(*map(writer, range(WRITERS)))
        except (StoreFailed, Unavailable):
            await asyncio.Event().wait()

    async def _check(self) -> None:
        store = await self._open()
        try:
            for writer in range(WRITERS):
                await self._check_writer(store, writer)
            await self._check_chain(store)
            await self._check_usage(store)
            if isinstance(store, SqliteStore):
                self._check_contents(store)
        finally:
            await store.close()

    async def _check_writer(self, store: Store, writer: int) -> None:
        session, acknowledged = f"w{writer}", self._acknowledged[writer]
        value = await store.value(TENANT, session, "n")
        number = int(value) if value else 0
        if number not in (acknowledged, acknowledged + 1):
            self._problem(f"{session}: {acknowledged} was acknowledged, {number} is there")
        self.report.unacknowledged_but_there += number == acknowledged + 1
        self._acknowledged[writer] = number
        contents = [await store.content(TENANT, session, path) for path in ("/d/current", "/d/copy")]
        expected = changes_of(writer, number)[0].content if number else None  # type: ignore[attr-defined]
        if [found[1] if found else None for found in contents] != [expected] * 2:
            self._problem(f"{session}: files are not those of {number}")
        runs = [one.id for one in await store.runs(TENANT, session)]
        if runs != ([f"{session}-{number:09}"] if number else []):
            self._problem(f"{session}: runs {runs} are not that of {number}")

    async def _check_chain(self, store: Store) -> None:
        verdict = await verification.AuditLog(store).verify(TENANT)
        if not verdict.ok:
            self._problem(f"the audit chain: {verdict.findings[:3]}")
        counts = Counter([(one.subject, one.data["n"]) async for one in store.walk_audit(TENANT) if one.kind == "write"])
        newest: dict[str, int] = {}
        for session, number in counts:
            newest[session] = max(newest.get(session, 0), number)
        if any(count != 1 for count in counts.values()):
            self._problem("a write is in the audit log twice")
        for writer in range(WRITERS):
            if newest.get(f"w{writer}", self._acknowledged[writer]) != self._acknowledged[writer]:
                self._problem(f"w{writer}: the audit log ends at {newest[f'w{writer}']}, not {self._acknowledged[writer]}")
        sequence, _ = await store.audit_head(TENANT)
        await store.write(TENANT, [TrimAudit(sequence, AT)])

    async def _check_usage(self, store: Store) -> None:
        for writer in range(WRITERS):
            usage, tree = await store.usage(TENANT, f"w{writer}"), await store.tree(TENANT, f"w{writer}")
            value = await store.value(TENANT, f"w{writer}", "n")
            if (usage.files, usage.bytes) != (len(tree), sum(one.content_bytes for one in tree) + len(value or b"")):
                self._problem(f"w{writer}: usage is not the sum of what is there")

    def _check_contents(self, store: SqliteStore) -> None:
        with contextlib.closing(sqlite3.connect(store.path)) as connection:
            wanted = {reference[:32] for reference in list_references(connection)}
        found = {path.name for path in Path(f"{store.path}.contents").glob("*")}
        if found != wanted:
            self._problem(f"{len(wanted - found)} contents are missing, {len(found - wanted)} are loose")

    def _problem(self, text: str) -> None:
        self.report.problems.append(f"after kill {self.report.kills}: {text}")


def run_campaign(store: str, seed: int, kills: int, folder: Path, seconds: float = math.inf) -> Report:
    if store == "sqlite":
        return Campaign(str(folder / "store.db"), seed).go(kills, seconds)
    server = Server(durable=True)
    try:
        server.start()
        return Campaign(server.url, seed, server).go(kills, seconds)
    finally:
        server.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seconds", type=float, default=math.inf, help="end after that long, however many kills there were")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="hatchway-crash-"))
    started = time.monotonic()
    report = run_campaign(options.store, options.seed, options.kills, folder, options.seconds)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.store}, seed {options.seed}, {time.monotonic() - started:.0f} s: {report}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
