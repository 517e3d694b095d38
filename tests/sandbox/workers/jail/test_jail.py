"""The jail: native code inside of a worker can do nothing but compute and talk to whoever started it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from sandbox.confinement import seccomp
from sandbox.workers.jail import jail
from sandbox.workers.jail.jail import WORKER
from sandbox.workers.process_pool import PoolOptions, Zygote

_PROBE = "from tests.sandbox.workers.probe import main; main()"
pytestmark = pytest.mark.skipif(not seccomp.is_known(WORKER), reason="there is no filter for this kind of machine")


async def _probe(asked: bytes) -> tuple[bytes, int]:
    """What a probe in a worker's jail says, and how it ends."""
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    zygote = Zygote(
        PoolOptions(), lambda pid, status: ended.set_result(status), "from tests.sandbox.workers.probe import main; main()"
    )
    ours, theirs = socket.socketpair()
    try:
        await asyncio.wait_for(zygote.spawn(theirs), 60)
        theirs.close()
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(ours, asked)
        said = bytearray()
        while data := await asyncio.wait_for(loop.sock_recv(ours, 65536), 60):
            said += data
        return bytes(said), await asyncio.wait_for(ended, 60)
    finally:
        ours.close()
        await zygote.aclose()


def test_tm_iso_jail_a_native_probe_fails_every_listed_system_call() -> None:
    said, status = asyncio.run(_probe(b"all"))
    results = json.loads(said)
    assert status == 0 and len(results) >= 50
    refused = {errno.EPERM, errno.EACCES, errno.ENOSYS}
    got_through = [one for one in results if one[1] != -1 or one[2] not in refused]
    assert got_through == []


def test_tm_iso_jail_calls_of_another_interface_end_the_process() -> None:
    said, status = asyncio.run(_probe(b"x32"))
    assert said == b"" and status == -signal.SIGSYS


def test_the_probe_succeeds_outside_of_the_jail() -> None:
    code = "from tests.sandbox.workers.probe import outside; outside()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=_environ())
    succeeded = {name for name, result, _ in json.loads(done.stdout) if result >= 0}
    assert {"open /etc/passwd", "stat", "socket AF_INET", "fork", "readlink"} <= succeeded


def _environ() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}


def _in_child(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=_environ())
    return done.stdout


def test_tm_iso_jail_a_missing_layer_stops_the_worker_unless_best_effort_was_chosen() -> None:
    code = (
        "from sandbox.errors import SetupError\n"
        "from sandbox.confinement import seccomp\nfrom sandbox.workers.jail import jail\n"
        "seccomp.is_known = lambda *_: False\n"
        "try:\n    jail.enter({mode!r})\n    print('entered')\nexcept SetupError as error:\n    print(error)"
    )
    assert _in_child(code.format(mode="required")).startswith("the jail is incomplete: seccomp")
    assert _in_child(code.format(mode="best_effort")) == "entered\n"


def test_a_missing_layer_stops_a_worker_of_the_pool() -> None:
    from sandbox.workers.interface import WorkerLost
    from sandbox.workers.process_pool import ProcessWorkers

    program = (
        "from sandbox.workers import zygote\nfrom sandbox.confinement import seccomp\n"
        "seccomp.is_known = lambda *_: False\nzygote.main()"
    )

    async def main() -> None:
        workers = ProcessWorkers(PoolOptions(spares=0), program)
        try:
            with pytest.raises(WorkerLost, match="the jail is incomplete: seccomp"):
                await workers.of("acme")
        finally:
            await workers.aclose()

    asyncio.run(main())


def test_examine_tells_every_layer() -> None:
    layers = {layer.name: layer for layer in jail.examine()}
    assert set(layers) == {"rlimits", "namespaces", "no_new_privs", "user", "landlock", "seccomp", "network", "memory"}
    assert all(layer.detail for layer in layers.values())
    assert layers["seccomp"].applied and layers["no_new_privs"].applied and layers["rlimits"].applied


def test_files_that_are_not_kept_are_closed() -> None:
    code = (
        "import os\nfrom sandbox.workers.jail.jail import close_files\n"
        "kept, lost = os.dup(0), os.dup(0)\nclose_files({kept})\nos.fstat(kept)\n"
        "try:\n    os.fstat(lost)\nexcept OSError:\n    print('closed')"
    )
    assert _in_child(code) == "closed\n"


@pytest.mark.parametrize(("values", "argument", "allowed"), [((0, 2, 4), 6, False), ((0, 2, 4), 4, True), ((0, 2, 4), 3, True)])
def test_arguments_are_compared_under_their_mask(values: tuple[int, ...], argument: int, allowed: bool) -> None:
    needed = ("write", "exit_group", "rt_sigaction", "munmap", "brk", "futex", "mmap")
    rules: dict[str, seccomp.Rule] = {**dict.fromkeys(needed, seccomp.ALLOW), "dup": [(0, 6, values)]}
    code = (
        "import os, sys, ctypes\nfrom sandbox.confinement import privileges, seccomp\n"
        f"privileges.forgo_new_privileges()\nseccomp.apply(seccomp.assemble(seccomp.Filter({rules!r})))\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"libc.dup({argument})\nos.write(1, str(ctypes.get_errno()).encode())\nos._exit(0)"
    )
    assert (_in_child(code) != str(errno.EPERM)) is allowed
