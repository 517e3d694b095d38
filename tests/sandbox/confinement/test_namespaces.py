"""What an escaped program tries in the jail of a worker and in that of a command, and that the machine is as it was."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import Unavailable
from gateway.runners.providers.unix_local import UnixLocal
from gateway.runners.wire import Command, Destination, Octets, WriteFile
from sandbox.confinement import landlock, seccomp
from sandbox.workers import zygote
from sandbox.workers.jail.jail import WORKER
from sandbox.workers.process_pool import PoolOptions, Zygote
from tests.sandbox.confinement import escapes

pytestmark = pytest.mark.skipif(
    not seccomp.is_known(WORKER) or landlock.find_version() < 6, reason="the probe knows x86-64 and the jail Landlock ABI 6"
)
IPC_CREATE = 0o1000


class Outside:
    """What the probe is aimed at: made for it, and looked at before and after."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tenant = folder / "tenants" / "victim"
        self.tenant.mkdir(parents=True)
        (folder / "secret").write_text("secret")
        (folder / "secret").chmod(0o600)
        (folder / "program").write_text("#!/bin/sh\nexit 1\n")
        (folder / "program").chmod(0o755)
        with contextlib.suppress(OSError):
            os.setxattr(folder / "program", "user.kept", b"kept")
        (self.tenant / "note").write_text("note")
        self.victim = subprocess.Popen(["sleep", "600"])
        self.name = f"hatchway-{os.urandom(8).hex()}"
        self.servers = [socket.socket(socket.AF_UNIX) for _ in range(2)] + [socket.create_server(("127.0.0.1", 0))]
        self.servers[0].bind(str(folder / "socket"))
        self.servers[1].bind("\0" + self.name)
        for server in self.servers:
            server.listen()
        self.key = int.from_bytes(os.urandom(3), "little") + 1
        self.shared = escapes.libc.shmget(self.key, 4096, IPC_CREATE | 0o666)

    def describe(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder), "tenant": str(self.tenant), "victim": self.victim.pid, "name": self.name,
            "socket": str(self.folder / "socket"), "port": self.servers[2].getsockname()[1], "key": self.key,
        }  # fmt: skip

    def list(self) -> dict[str, Any]:
        """All that an attempt could have changed: every file with its times of change, and the process with its limits."""
        listed: dict[str, Any] = {}
        for path in sorted([self.folder, *self.folder.rglob("*")]):
            known = path.lstat()
            said = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(known.st_mode) else ""
            attributes = {name: os.getxattr(path, name) for name in os.listxattr(path, follow_symlinks=False)}
            times = known.st_mtime_ns, known.st_ctime_ns
            listed[str(path)] = known.st_mode, known.st_uid, known.st_gid, known.st_nlink, times, attributes, said
        victim = self.victim.pid
        if self.victim.poll() is not None:
            return {"ended": self.victim.returncode}
        listed["limits"] = {name: resource.prlimit(victim, getattr(resource, name)) for name in ("RLIMIT_NOFILE", "RLIMIT_CPU")}
        status = Path(f"/proc/{victim}/status").read_text().splitlines()
        listed["status"] = [line for line in status if line.split(":")[0] in ("TracerPid", "Cpus_allowed", "SigPnd")]
        listed["is stopped"] = "State:\tT (stopped)" in status
        listed["priority"] = os.getpriority(os.PRIO_PROCESS, victim)
        listed["machine"] = os.uname().nodename, Path("/proc/self/mounts").read_text()
        for server in self.servers:
            server.settimeout(0)
            with contextlib.suppress(BlockingIOError):
                server.accept()[0].close()
                listed["reached"] = True
        return listed

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        for server in self.servers:
            server.close()
        escapes.libc.shmctl(self.shared, 0, None)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    made = Outside(tmp_path / "outside")
    yield made
    made.close()


class Probe:
    """The program of a worker that serves nothing."""

    def prepare(self) -> None:
        self._inherited = []
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # the listing's own
                link, about = os.readlink(f"/proc/self/fd/{name}"), Path(f"/proc/self/fdinfo/{name}").read_text()
                is_own = f"Pid:\t{os.readlink('/proc/self')}\n" in about
                self._inherited.append(link + (" of another" if "pidfd" in link and not is_own else ""))

    def __call__(self, end: socket.socket) -> None:
        asked = json.loads(end.recv(65536))
        end.sendall(json.dumps({"inherited": self._inherited, **(escapes.try_all(asked) if asked else {})}).encode())
        end.recv(1)


def main() -> None:
    zygote.main(serve=Probe())


async def ask_workers(*questions: dict[str, Any]) -> list[dict[str, Any]]:
    """What a worker says to each question, all of them alive until the last has answered."""
    loop, answers, ends = asyncio.get_running_loop(), [], []
    pool = Zygote(PoolOptions(), lambda pid, status: None, "from tests.sandbox.confinement.test_namespaces import main; main()")
    try:
        for question in questions:
            ours, theirs = socket.socketpair()
            ends.append(ours)
            await asyncio.wait_for(pool.spawn(theirs), 60)
            theirs.close()
            ours.setblocking(False)
            await loop.sock_sendall(ours, json.dumps(question).encode())
            answers.append(json.loads(await asyncio.wait_for(loop.sock_recv(ours, 1 << 20), 60)))
        return answers
    finally:
        for end in ends:
            end.close()
        await pool.aclose()


def got_through(answer: dict[str, Any]) -> list[str]:
    return [name for name, is_done in answer.items() if is_done is True]


def test_tm_iso_jail_a_program_that_escaped_into_a_worker_changes_nothing(outside: Outside) -> None:
    before = outside.list()
    (answer,) = asyncio.run(ask_workers(outside.describe()))
    assert len(answer) > 90 and got_through(answer) == []
    assert outside.list() == before


async def run_probe(base: Path, given: dict[str, Any]) -> dict[str, Any]:
    base.mkdir()
    provider = UnixLocal(base)
    try:
        session = await provider.create(Destination(id="d", provider_id="unix-local"))
        await session.write_file(WriteFile(path="probe.py", contents=Octets(Path(escapes.__file__).read_bytes())))
        done = await session.run(Command(command_id="c", program="python3", args=["probe.py", json.dumps(given)]))
        assert done.exit_code == 0, done.stderr
        return dict(json.loads(done.stdout))
    finally:
        await provider.close()


def test_tm_run_escape_a_program_that_escaped_into_a_command_changes_nothing(outside: Outside, tmp_path: Path) -> None:
    before = outside.list()
    answer = asyncio.run(run_probe(tmp_path / "base", outside.describe()))
    assert len(answer) > 90 and got_through(answer) == []
    assert outside.list() == before


def test_tm_run_escape_also_where_the_gateway_is_an_ordinary_user() -> None:
    """Then commands have its user, and what it owns is what they aim at."""
    program = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    if os.geteuid() != 0 or program is None:
        pytest.skip("as an ordinary user the test before was this one; and the supervisor needs an interpreter all can reach")
    user = 0x6200_0000
    with tempfile.TemporaryDirectory() as folder:
        outside = Outside(Path(folder, "outside"))
        for path in (Path(folder), *Path(folder).rglob("*")):
            os.chown(path, user, user)
        before = outside.list()
        child = os.fork()
        if child == 0:
            code = 2
            try:
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                sys.executable, tempfile.tempdir = program, folder
                answer = asyncio.run(run_probe(Path(folder, "base"), outside.describe()))
                code = int(len(answer) <= 90 or got_through(answer) != [])
            finally:
                os._exit(code)
        try:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert outside.list() == before
        finally:
            outside.close()


def test_the_attempts_get_through_without_a_jail(outside: Outside, tmp_path: Path) -> None:
    """Or the probe would prove nothing."""
    before = outside.list()
    code = "import json, sys; from tests.sandbox.confinement import escapes as e; "
    code += "print(json.dumps(e.try_all(json.loads(sys.argv[1]), e.of_processes, e.of_sockets, e.of_files)))"
    given = json.dumps({**outside.describe(), "is_outside": True})
    done = subprocess.run([sys.executable, "-c", code, given], capture_output=True, check=True, env=_environ(), cwd=tmp_path)
    through = set(got_through(json.loads(done.stdout)))
    assert {
        "files: read a secret",
        "files: lock another tenant's",
        "modes: change users",
        "modes: shut another tenant out",
    } <= through
    assert {"times: set", "xattrs: set", "watches: another tenant's folder", "limits: files of another"} <= through
    assert {"signals: end", "limits: priority of another", "sockets: a service of the machine"} <= through
    assert outside.list() != before


def _environ() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}


def test_tm_iso_zygote_a_worker_inherits_nothing_of_an_earlier_one() -> None:
    first, second, third = asyncio.run(ask_workers({}, {}, {}))
    for later in (second, third):
        assert not any("of another" in what for what in later["inherited"])
        assert sorted(map(kind_of, later["inherited"])) == sorted(map(kind_of, first["inherited"]))


def kind_of(link: str) -> str:
    """A link without numbers of processes and sockets."""
    return re.sub(r"\d+", "", link)


def test_tm_run_escape_where_the_kernel_gives_no_namespaces_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose seccomp profile refuses `unshare`: at the first look, and should that have been wrong."""
    refusing = (
        "import sys, errno; sys.path.insert(0, sys.argv.pop())\n"
        "from sandbox.confinement import namespaces\n"
        "def refuse(flags): raise OSError(errno.EPERM, 'Operation not permitted')\n"
        "namespaces.unshare = refuse\n"
    )
    place = Destination(id="d", provider_id="unix-local")

    async def main() -> None:
        provider = UnixLocal(tmp_path)
        assert provider.setup_hint is None
        monkeypatch.setattr(
            "gateway.runners.jail.handle._START", refusing + "from gateway.runners.jail.supervisor import main; main()"
        )
        session = await provider.create(place)
        with pytest.raises(Unavailable) as refused:
            await session.run(Command(command_id="c", program="touch", args=["ran"]))
        assert "Operation not permitted" in str(refused.value.error.hint)
        await provider.close()
        monkeypatch.setattr("gateway.runners.providers.unix_local.find_obstacle", lambda: "Operation not permitted")
        with pytest.raises(Unavailable, match="cannot jail commands") as refused:
            await UnixLocal(tmp_path).create(place)
        assert "namespaces, which this machine does not give: Operation not permitted" in str(refused.value.error.hint)

    asyncio.run(main())
    assert not (tmp_path / "ran").exists()
    done = subprocess.run(
        [sys.executable, "-c", refusing + "namespaces.try_out()", os.getcwd()], capture_output=True, env=_environ(), check=True
    )
    assert done.stdout == b"Operation not permitted"


def test_tm_iso_jail_a_worker_is_alone_in_namespaces_with_an_empty_root() -> None:
    async def main() -> None:
        zygote = Zygote(
            PoolOptions(), lambda pid, status: None, "from tests.sandbox.confinement.test_namespaces import main; main()"
        )
        ours, theirs = socket.socketpair()
        try:
            pid = await asyncio.wait_for(zygote.spawn(theirs), 60)
            theirs.close()
            ours.setblocking(False)
            await asyncio.get_running_loop().sock_sendall(ours, b"{}")
            await asyncio.wait_for(asyncio.get_running_loop().sock_recv(ours, 1 << 20), 60)
            for kind in ("user", "mnt", "pid", "net", "ipc", "uts"):
                assert os.readlink(f"/proc/{pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}"), kind
            assert os.listdir(f"/proc/{pid}/root/") == []
            status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
            assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
            assert os.geteuid() or int(status["Uid"].split()[0]) > 0x6000_0000
        finally:
            ours.close()
            await zygote.aclose()

    asyncio.run(main())


def test_tm_run_tenant_commands_of_each_base_have_a_user_of_their_own(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("users of one's own are root's to give")

    async def main() -> None:
        owners = []
        for name in ("a", "b"):
            base = tmp_path / name
            base.mkdir(mode=0o700)
            (base / "before").write_text("from an earlier version")
            os.link(base / "before", tmp_path / f"{name}-elsewhere")
            (base / "folder").mkdir()
            (base / "folder/file").write_text("x")
            provider = UnixLocal(base)
            session = await provider.create(Destination(id="d", provider_id="unix-local"))
            done = await session.run(Command(command_id="c", program="sh", args=["-c", "id -u; > mine"]))
            assert done.exit_code == 0, done.stderr
            owners.append(int(done.stdout))
            assert {(base / one).stat().st_uid for one in ("", "folder", "folder/file", f"{session.id}/workspace/mine")} == {
                owners[-1]
            }
            assert (base / "before").stat().st_uid == 0  # it has another name, which may be anywhere
            await session._perform("write", "written/by/gateway", b"z")
            done = await session.run(Command(command_id="d", program="sh", args=["-c", "echo y >> written/by/gateway"]))
            assert done.exit_code == 0 and await session._perform("read", "written/by/gateway") == b"zy\n"
            await provider.close()
            again = UnixLocal(base)
            await again.create(Destination(id="d", provider_id="unix-local"))
            assert base.stat().st_uid == owners[-1]  # the next start finds the same user
            await again.close()
        assert len(set(owners)) == 2 and 0 not in owners

    asyncio.run(main())
