"""The zygote: a process that has everything loaded and makes workers by forking.

It is started fresh, so it has nothing of its user's memory and environment; imports what workers use, maps the images, and
waits, as process 1 of a namespace in which there is nothing but its workers, and no network. For each worker it is sent one end
of a connection; it forks, and the child enters the jail and serves. Pids are those of its user's namespace.

    user   → zygote  {"spawn": number} with a descriptor      {"kill": pid}
    zygote → user    {"ready": …}  {"spawned": number, "pid": …}  {"ended": pid, "status": …}

Rules: INVARIANT: one thread, always: a fork copies no other. THREAT[TM-ISO-ZYGOTE]: nothing of any tenant is ever here but
descriptors of its worker, which the next one does not get; what is secret (the key of the cache) is wiped before the first fork.
When its user is gone it ends, and its children with it.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

import msgspec

from sandbox.engine.cache import Cache
from sandbox.engine.memory import kernel
from sandbox.errors import SandboxError, SetupError
from sandbox.guests.images import Images, images
from sandbox.languages import GUESTS
from sandbox.typescript import child_parsers
from sandbox.wire import ErrorObject
from sandbox.workers.frames import FAILURE, Frame, encode
from sandbox.workers.jail import cgroups, jail
from sandbox.workers.local import typescript_parser
from sandbox.workers.protocol import Failure
from sandbox.workers.server import WorkerProcess
from sandbox.workers.warm_decoders import describe_records

_MESSAGE_BYTES_MAX: Final = 65536
_WARM: Final = (
    "asyncio", "cbor2", "zstandard", "concurrent.futures.thread", "difflib", "encodings.idna", "encodings.ascii",
    "encodings.latin_1", "encodings.utf_16", "zipfile", "cryptography.hazmat.primitives.ciphers.aead", "tempfile", "traceback",
    "linecache", "uuid", "random", "decimal", "statistics", "_strptime", "json.decoder", "inspect", "ipaddress",
)  # fmt: skip
"""What is imported late somewhere: in the jail it is too late."""


class Options(msgspec.Struct, frozen=True):
    """How workers are to be. `cache` is the folder of compiled guests."""

    mode: jail.Mode = "required"
    cache: str | None = None
    memory_bytes: int = 4 << 30


class Serve(Protocol):
    """What a worker does. `prepare` is called before the jail, the rest within it."""

    def prepare(self) -> None: ...

    def __call__(self, end: socket.socket) -> None: ...


def load(store: Images) -> list[str]:
    """Import, describe and map whatever workers need. The guests that are ready."""
    import sandbox

    for module in pkgutil.walk_packages(sandbox.__path__, "sandbox."):
        importlib.import_module(module.name)
    for name in _WARM:
        with suppress(ImportError):  # not there, so it is not imported late either
            importlib.import_module(name)
    describe_records()
    store.files()
    ready = []
    for name in GUESTS:
        for metered in (False, True):
            with suppress(SandboxError):  # not built on this machine
                if store.is_ready(name, metered=metered):
                    store.get(name, metered=metered)
                    ready.append(f"{name} metered" if metered else name)
    return ready


def refuse_others(store: Images) -> None:
    """What is not loaded by now never will be: in the jail there is no file to load it from."""

    def refuse(name: str, metered: bool, progress: object) -> NoReturn:
        kind = "metered " if metered else ""
        raise SetupError(f"the {kind}{name} guest is not compiled on this machine yet; run: hatchway images build")

    store._load = refuse  # type: ignore[method-assign]


def forget_key(cache: Cache) -> None:
    """Overwrite the key that authenticates compiled guests: they are loaded, and workers must not have it."""
    key = cache._key
    ctypes.memset(id(key) + bytes.__basicsize__ - 1, 0, len(key))


class Zygote:
    def __init__(self, control: socket.socket, options: Options, serve: Serve) -> None:
        self._control = control
        self._options = options
        self._serve = serve
        self._poll = select.poll()
        self._children: dict[int, tuple[int, int]] = {}
        """By a descriptor of each: its number here, and in the user's namespace."""
        self._parsers: dict[int, socket.socket] = {}
        self._cgroups = cgroups.find()[0]
        self._kept = jail.list_files() - {control.fileno()}

    def run(self) -> None:
        """Until the user is gone."""
        control = self._control.fileno()
        self._poll.register(control, select.POLLIN)
        try:
            while True:
                for descriptor, _ in self._poll.poll():
                    if descriptor == control:
                        if not self._obey():
                            return
                    elif descriptor in self._children:
                        self._reap(descriptor)
                    elif descriptor in self._parsers:
                        self._start_parser(descriptor)
        finally:
            for descriptor in list(self._children):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                self._reap(descriptor)

    def _tell(self, **message: Any) -> None:
        with suppress(OSError):  # the user is gone, which the next poll finds out
            self._control.send(json.dumps(message).encode())

    def _obey(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES_MAX, 1)
        if not message:
            return False
        asked = json.loads(message)
        if "spawn" in asked and descriptors:
            self._spawn(asked["spawn"], socket.socket(fileno=descriptors[0]))
        for descriptor, (_, outside) in self._children.items():
            if outside == asked.get("kill"):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        return True

    def _spawn(self, number: int, end: socket.socket) -> None:
        pairs = [socket.socketpair() for _ in range(typescript_parser.PARSERS)]
        ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        try:
            pid = os.fork()
        except OSError as error:
            for opened in (end, *ours, *theirs):
                opened.close()
            self._tell(spawned=number, pid=0, why=error.strerror)
            return
        if pid == 0:
            self._become_worker(end, theirs)
        for passed in (end, *theirs):
            passed.close()
        if self._cgroups is not None:
            self._cgroups.add(pid, self._options.memory_bytes)
        outside = self._watch(pid)
        for parser in ours:
            self._parsers[parser.fileno()] = parser
            self._poll.register(parser.fileno(), select.POLLIN)
        self._tell(spawned=number, pid=outside)

    def _watch(self, pid: int) -> int:
        descriptor = os.pidfd_open(pid)
        with open(f"/proc/self/fdinfo/{descriptor}") as file:
            outside = next(int(line.split()[1]) for line in file if line.startswith("Pid:"))
        self._children[descriptor] = pid, outside
        self._poll.register(descriptor, select.POLLIN)
        return outside

    def _reap(self, descriptor: int) -> None:
        pid, outside = self._children.pop(descriptor)
        self._poll.unregister(descriptor)
        os.close(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if self._cgroups is not None:
            self._cgroups.remove(pid)
        self._tell(ended=outside, status=status)
        self._reap_strays()

    def _reap_strays(self) -> None:
        """What a parser left behind is this process's to wait for, as the first of its namespace."""
        watched = {pid for pid, _ in self._children.values()}
        with suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and ended.si_pid not in watched:
                os.waitpid(ended.si_pid, 0)

    def _start_parser(self, descriptor: int) -> None:
        """A worker has sent its first source, or is gone."""
        end = self._parsers.pop(descriptor)
        self._poll.unregister(descriptor)
        if end.recv(1, socket.MSG_PEEK):
            pid = os.fork()
            if pid == 0:
                self._become_parser(end)
            self._watch(pid)
        end.close()

    def _become_worker(self, end: socket.socket, parsing: Sequence[socket.socket]) -> NoReturn:
        status = 70
        try:
            try:
                self._prepare(end, parsing)
                jail.enter(self._options.mode)
            except Exception as error:
                # The pool asks a new worker for a sign of life first: this is the answer.
                message = str(error) if isinstance(error, SandboxError) else f"{type(error).__name__}: {error}"
                failure = Failure(ErrorObject(code="INTERNAL", message=message), False)
                end.sendall(encode(Frame(FAILURE, 1, msgspec.json.encode(failure))))
                os._exit(71)
            self._serve(end)
            status = 0
        finally:
            os._exit(status)

    def _prepare(self, end: socket.socket, parsing: Sequence[socket.socket]) -> None:
        """Close what is not the worker's, and open what can only be opened outside of the jail."""
        tracking = kernel()
        opened = {found for found in (tracking.itself, tracking.pagemap, tracking.faults) if found is not None}
        others = self._children.keys() | self._parsers.keys()  # whatever numbers they have: they are other tenants'
        jail.close_files((self._kept | opened | {end.fileno(), *(parser.fileno() for parser in parsing)}) - others)
        self._serve.prepare()
        child_parsers.use([typescript_parser.Asker(parser) for parser in parsing])

    def _become_parser(self, end: socket.socket) -> NoReturn:
        status = 70
        try:
            jail.close_files({end.fileno()})
            typescript_parser.limit_memory()
            jail.enter(self._options.mode, jail.PARSER)
            typescript_parser.serve(end)
            status = 0
        finally:
            os._exit(status)


def main(arguments: Sequence[str] | None = None, serve: Serve | None = None) -> None:
    """`zygote DESCRIPTOR OPTIONS`: serve until the other end of the descriptor is closed."""
    descriptor, encoded = arguments if arguments is not None else sys.argv[1:3]
    options = msgspec.json.decode(encoded, type=Options)
    control = socket.socket(fileno=int(descriptor))
    control.set_inheritable(False)
    apart = jail.leave_processes()
    os.environ.clear()
    ctypes.CDLL(None).clearenv()
    if options.cache is not None:
        images._cache = Cache(Path(options.cache))
    ready = load(images)
    refuse_others(images)
    forget_key(images.cache)
    gc.collect()
    gc.freeze()
    zygote = Zygote(control, options, serve or WorkerProcess())
    zygote._tell(ready=ready, apart=apart.applied)
    zygote.run()
    os._exit(0)
