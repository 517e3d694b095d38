"""A pool of worker processes: one for each tenant, forked from a warm zygote. Used on one event loop.

THREAT[TM-ISO-TENANT]: a process serves one tenant, and is never given to another. A worker that does not answer, takes too much
memory or breaks the protocol is killed, and replaced when its tenant comes again; spares are kept warm, so that this takes
milliseconds. A worker that was not used for a while is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from sandbox.engine.cache import default_directory
from sandbox.errors import RequestError, SandboxError
from sandbox.languages import LANGUAGES
from sandbox.wire import DEFAULT_LIMITS, RunRequest
from sandbox.workers.interface import Opening, Worker, WorkerLost
from sandbox.workers.jail.jail import Mode
from sandbox.workers.process_worker import ProcessWorker
from sandbox.workers.warm_decoders import describe_records
from sandbox.workers.zygote import Options

__all__ = ["PoolOptions", "ProcessWorker", "ProcessWorkers", "Zygote", "measure_own_memory"]

START_SECONDS: Final = 60.0
_MESSAGE_BYTES_MAX: Final = 65536
_REFILL_SECONDS: Final = 0.1
_WARM_ID: Final = "warm-up"
_WARM_UP: Final = {language: facts.warm_up for language, facts in LANGUAGES.items() if facts.warm_up is not None}
_PROCESS_CPU_CLOCK: Final = 2
"""With a pid in the bits above: the clock of that process, which `clock_getcpuclockid` would name."""
_PROGRAM: Final = "from sandbox.workers.zygote import main; main()"
_log = logging.getLogger("hatchway.workers")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """`memory_bytes_max` is a worker's own memory, of all its sessions. `answer_seconds` is how long a worker may not answer.
    `stale_seconds`: a caller that got a worker just before it was replaced has this long to begin."""

    jail: Mode = "required"
    cache: str | None = None
    spares: int = 1
    idle_seconds: float = 600.0
    stale_seconds: float = 2.0
    watch_seconds: float = 1.0
    answer_seconds: float = 10.0
    memory_bytes_max: int = 4 << 30


@dataclass(slots=True)
class _Process:
    """`is_stale`: of a zygote that was replaced; it ends when what it does is done."""

    worker: ProcessWorker
    pid: int
    zygote: Zygote
    is_stale: bool = False
    tenant: str | None = None
    pinged: asyncio.Task[None] | None = None
    silent_seconds: float = 0.0
    used_at: float = field(default_factory=time.monotonic)


class Zygote:
    """The zygote process, seen from its user. `on_ended` is told pids and exit codes of workers."""

    def __init__(self, options: PoolOptions, on_ended: Callable[[int, int], None], program: str = _PROGRAM) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        cache = options.cache or str(default_directory())
        encoded = msgspec.json.encode(Options(options.jail, cache, options.memory_bytes_max)).decode()
        # THREAT[TM-ISO-ZYGOTE]: nothing of our environment goes along.
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, str(theirs.fileno()), encoded],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
            pass_fds=[theirs.fileno()],
            process_group=0,  # THREAT[TM-LIM-STARVE]: and not a session, nor has a worker one: see `lower_priority`
        )
        theirs.close()
        ours.setblocking(False)
        self._control = ours
        self._on_ended = on_ended
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(ours.fileno(), self._read)
        self.ready: asyncio.Future[list[str]] = self._loop.create_future()
        self._spawning: dict[int, asyncio.Future[int]] = {}
        self._number = 0
        self.is_lost = False

    def _read(self) -> None:
        try:
            message = self._control.recv(_MESSAGE_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if not message:
            self._lose("the zygote is gone")
            return
        told = json.loads(message)
        if "ready" in told:
            self.ready.set_result(told["ready"])
        elif "spawned" in told:
            waiting = self._spawning.pop(told["spawned"], None)
            if waiting is not None and not waiting.done():
                waiting.set_result(told["pid"])
        elif "ended" in told:
            self._on_ended(told["ended"], told["status"])

    def _lose(self, why: str) -> None:
        self.is_lost = True
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        waits: list[asyncio.Future[Any]] = [self.ready, *self._spawning.values()]
        for waiting in waits:
            if not waiting.done():
                waiting.set_exception(WorkerLost(why))
                waiting.exception()  # it may be that no caller waits any more

    async def spawn(self, end: socket.socket) -> int:
        """The pid of a new worker, which serves at `end`."""
        await asyncio.shield(self.ready)
        self._number += 1
        waiting: asyncio.Future[int] = self._loop.create_future()
        self._spawning[self._number] = waiting
        try:
            socket.send_fds(self._control, [json.dumps({"spawn": self._number}).encode()], [end.fileno()])
        except OSError as error:
            raise WorkerLost(f"the zygote does not answer: {error.strerror}") from None
        pid = await waiting
        if not pid:
            raise WorkerLost("no further process can be started")
        return pid

    def kill(self, pid: int) -> None:
        """Only the zygote knows for sure that the number still means this process."""
        if not self.is_lost:
            with contextlib.suppress(OSError):
                self._control.send(json.dumps({"kill": pid}).encode())

    async def aclose(self) -> None:
        if not self.is_lost:
            self._lose("the pool is closed")
        await asyncio.to_thread(self._wait)

    def _wait(self) -> None:
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class ProcessWorkers:
    def __init__(self, options: PoolOptions | None = None, program: str = _PROGRAM) -> None:
        describe_records()
        self.options = options or PoolOptions()
        self._program = program
        self._zygote: Zygote | None = None
        self._processes: dict[int, _Process] = {}
        self._of_tenant: dict[str, _Process] = {}
        self._starting: dict[str, asyncio.Task[_Process]] = {}
        self._spares: list[_Process] = []
        self._refilling: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._old: list[Zygote] = []
        self._ending: list[asyncio.Task[None]] = []
        self._closed = False
        self.lost = 0
        """Workers that were killed or died, so far."""

    async def start(self) -> list[str]:
        """Be ready for the first tenant. The guests that can be used: those compiled by now (see `refresh`)."""
        zygote = self._ensure_zygote()
        try:
            ready = await asyncio.wait_for(asyncio.shield(zygote.ready), START_SECONDS)
        except TimeoutError:
            raise WorkerLost("the zygote did not start") from None
        self._refill()
        return ready

    def _ensure_zygote(self) -> Zygote:
        if self._closed:
            raise WorkerLost("the pool is closed")
        if self._zygote is None or self._zygote.is_lost:
            if self._zygote is not None:
                self._ending.append(asyncio.create_task(self._zygote.aclose()))
            self._zygote = Zygote(self.options, self._on_ended, self._program)
            if self._watching is None:
                self._watching = asyncio.create_task(self._watch())
        return self._zygote

    async def refresh(self) -> list[str]:
        """Start new workers, from images that have become ready since. What is under way in the old ones goes on to its end."""
        before, self._zygote = self._zygote, None
        if before is not None:
            self._old.append(before)
        self._of_tenant.clear()
        self._spares.clear()
        for process in self._processes.values():
            process.is_stale = True
        return await self.start()

    async def of(self, tenant: str) -> Worker:
        process = self._of_tenant.get(tenant)
        if process is None:
            starting = self._starting.get(tenant)
            if starting is None:
                starting = self._starting[tenant] = asyncio.create_task(self._assign(tenant))
                starting.add_done_callback(lambda _: self._starting.pop(tenant, None))
            process = await asyncio.shield(starting)
        process.used_at = time.monotonic()
        return cast(Worker, process.worker)  # it has the verbs by `__getattr__`

    async def forget(self, tenant: str) -> None:
        process = self._of_tenant.get(tenant)
        if process is not None:
            process.worker.lose("its tenant is gone")

    @property
    def spares(self) -> int:
        return len(self._spares)

    @property
    def live(self) -> int:
        return len(self._processes)

    def read_cpu(self) -> dict[str, float]:
        found = {tenant: _read_cpu_clock(process.pid) for tenant, process in self._of_tenant.items()}
        return {tenant: cpu_s for tenant, cpu_s in found.items() if cpu_s is not None}

    def pid_of(self, tenant: str) -> int | None:
        process = self._of_tenant.get(tenant)
        return process.pid if process is not None else None

    async def _assign(self, tenant: str) -> _Process:
        process = None
        while self._spares and process is None:
            spare = self._spares.pop(0)
            process = spare if await self._check_alive(spare) else None
        if process is None:
            process = await self._spawn()
        process.tenant = tenant
        self._of_tenant[tenant] = process
        if process.worker.is_lost:
            del self._of_tenant[tenant]
            raise WorkerLost("the worker process ended as it began")
        self._refill()
        return process

    async def _check_alive(self, spare: _Process) -> bool:
        """A spare may have died with its zygote, unnoticed so far."""
        try:
            await asyncio.wait_for(spare.worker.ping(), self.options.answer_seconds)
        except (TimeoutError, SandboxError) as error:
            spare.worker.lose(str(error) or "it did not answer")
            return False
        return True

    async def _spawn(self) -> _Process:
        zygote = self._ensure_zygote()
        ours, theirs = socket.socketpair()
        process: _Process | None = None
        greeting: asyncio.Task[None] | None = None

        def lost(why: str) -> None:
            if process is not None:
                self._forget(process)

        worker = ProcessWorker(lost)
        try:
            with theirs:
                await worker.connect(ours)
                greeting = asyncio.create_task(worker.ping())  # before it is there: its first word may be why it cannot be
                pid = await asyncio.wait_for(zygote.spawn(theirs), START_SECONDS)
            process = _Process(worker, pid, zygote)
            self._processes[pid] = process
            await asyncio.wait_for(greeting, self.options.answer_seconds)
        except (TimeoutError, SandboxError) as error:
            why = str(error) or "it did not answer"
            if greeting is not None:
                greeting.cancel()
            worker.lose(why)
            raise WorkerLost(f"no worker process could be started: {why}") from None
        return process

    def _refill(self) -> None:
        if not self._closed and (self._refilling is None or self._refilling.done()):
            self._refilling = asyncio.create_task(self._refill_now())

    async def _refill_now(self) -> None:
        with contextlib.suppress(SandboxError):
            while len(self._spares) < self.options.spares and not self._closed:
                # The caller that took the last one is about to use the cores.
                await asyncio.sleep(_REFILL_SECONDS)
                spare = await self._spawn()
                await _warm(spare.worker)
                self._spares.append(spare)

    def _forget(self, process: _Process) -> None:
        """The connection is gone: so is the worker, or it must go."""
        self.lost += not self._closed and not process.is_stale
        if process.pinged is not None:
            process.pinged.cancel()
        if process.tenant is not None and self._of_tenant.get(process.tenant) is process:
            del self._of_tenant[process.tenant]
        if process in self._spares:
            self._spares.remove(process)
        if process.zygote.is_lost:
            self._processes.pop(process.pid, None)
        else:
            process.zygote.kill(process.pid)

    def _on_ended(self, pid: int, status: int) -> None:
        process = self._processes.pop(pid, None)
        if process is not None:
            process.worker.lose(f"its process ended with status {status}")
            if status not in (0, -signal.SIGKILL):
                _log.error("a worker's process ended by itself, with status %d", status)

    async def _watch(self) -> None:
        before = time.monotonic()
        while True:
            await asyncio.sleep(self.options.watch_seconds)
            # A pause of our own is not a worker's silence: what it said meanwhile is not read yet.
            now = time.monotonic()
            passed, before = min(now - before, 2 * self.options.watch_seconds), now
            for process in list(self._processes.values()):
                why = self._find_fault(process, now, passed)
                if why is not None:
                    process.worker.lose(why)
                elif process.worker.is_lost and process.zygote.is_lost:
                    self._processes.pop(process.pid, None)
            self._end_old()

    def _end_old(self) -> None:
        """A zygote that was replaced ends with the last of its workers."""
        needed = {id(process.zygote) for process in self._processes.values()}
        for zygote in [zygote for zygote in self._old if id(zygote) not in needed]:
            self._old.remove(zygote)
            self._ending.append(asyncio.create_task(zygote.aclose()))

    def _find_fault(self, process: _Process, now: float, passed: float) -> str | None:
        """Why this worker must go, if it must. Asks it for a sign of life."""
        options = self.options
        if process.worker.is_lost:
            return None
        if process.worker.busy or process in self._spares:
            process.used_at = now
        if process.is_stale and now - process.used_at > options.stale_seconds:
            return "it was replaced"
        process.silent_seconds += passed
        if process.pinged is None or process.pinged.done():
            process.silent_seconds = 0.0
            process.pinged = asyncio.create_task(self._ping(process.worker))
        elif process.silent_seconds > options.answer_seconds:
            return "it does not answer"
        used = measure_own_memory(process.pid)
        if used > options.memory_bytes_max:
            return f"it uses {used >> 20} MiB of memory, more than {options.memory_bytes_max >> 20}"
        return "it is not used" if process.tenant is not None and now - process.used_at > options.idle_seconds else None

    @staticmethod
    async def _ping(worker: ProcessWorker) -> None:
        with contextlib.suppress(SandboxError):
            await worker.ping()

    async def aclose(self) -> None:
        self._closed = True
        for process in list(self._processes.values()):
            process.worker.lose("the pool is closed")
        for task in (self._watching, self._refilling, *self._starting.values()):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, SandboxError):
                    await task
        for zygote in (self._zygote, *self._old):
            if zygote is not None:
                await zygote.aclose()
        await asyncio.gather(*self._ending)


async def _warm(worker: ProcessWorker) -> None:
    """Let every language run once, so that the first session of a tenant finds code and threads in place."""
    for language, code in _WARM_UP.items():
        with contextlib.suppress(RequestError):
            await worker.open(Opening(session_id=_WARM_ID, language=language, limits=DEFAULT_LIMITS))
            request = RunRequest(
                session_id=_WARM_ID, language=language, code=code, inputs={}, return_snapshot=False, validate_only=False
            )
            await worker.run(request)
            await worker.close(_WARM_ID)


def _read_cpu_clock(pid: int) -> float | None:
    """What all threads of a process have used, in seconds; None if it is gone."""
    try:
        return time.clock_gettime((~pid << 3) | _PROCESS_CPU_CLOCK)
    except OSError:
        return None


def measure_own_memory(pid: int) -> int:
    """Memory of a process that is no file's; 0 if it is gone. Some 25 MiB of it are the zygote's until they are written to."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return 0
    return sum(int(lines[name].split()[0]) for name in ("RssAnon", "RssShmem", "VmSwap") if name in lines) << 10
