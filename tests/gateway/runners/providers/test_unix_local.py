"""The jail of `unix-local`: what commands try, and what becomes of it. Real processes, a real kernel."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.egress import Egress, EgressRefused
from gateway.egress.proxy import Proxy
from gateway.errors import BadRequest, Forbidden, GatewayError, TooLarge, Unavailable, Unsupported
from gateway.runners import runner_session
from gateway.runners.command_life import Oversight
from gateway.runners.jail.command_rules import PROXY_PORT
from gateway.runners.providers.unix_local import JailOptions, UnixLocal, UnixLocalSession
from gateway.runners.wire import Binding, Command, Destination, Manifest, ManifestEntry, Mount, MountIntent, Port, Terminal
from sandbox.confinement import landlock
from tests.gateway.runners.places import go, read, run, until, write
from tests.gateway.runners.test_beneath import swapping
from tests.gateway.web import answer, serve

pytestmark = pytest.mark.skipif(
    landlock.find_version() < 6, reason="this kernel has no Landlock that keeps signals inside (ABI 6)"
)
HERE = Destination(id="d", provider_id="unix-local")


async def opened(base: Path, **options: object) -> UnixLocalSession:
    base.mkdir(exist_ok=True)
    session = await UnixLocal(base, **options).create(HERE)  # type: ignore[arg-type]
    session.grace_ms = 200
    return session


def folder_of(session: UnixLocalSession) -> Path:
    """Its workspace on this machine."""
    return Path(session.roots.workspace.host_path)


async def python(session: UnixLocalSession, code: str) -> str:
    done = await run(session, "python3", "-c", code)
    return done.stdout + done.stderr


def test_tm_run_escape_nothing_outside_of_the_workspace_is_read_or_written(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")

    async def main() -> None:
        session = await opened(tmp_path / "base")
        outside = tmp_path / "secret"
        for code in (
            f"cat {outside}",
            "cat ../secret",
            f"ln -s {outside} l; cat l",
            f"ln {outside} h; cat h",
            f"echo x > {tmp_path}/new",
            "cat /proc/1/environ",
            "ls /root /home /var /sys /run /etc/ssl/private",
            f"mv {outside} moved; cat moved",
        ):
            done = await run(session, "sh", "-c", code)
            assert "secret\n" not in done.stdout and done.stdout.strip() in ("", "secret"[:0]), code
            assert done.exit_code != 0, code
        await session.close()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["base", "secret"]
        assert outside.read_text() == "secret"

    go(main())


def test_a_command_gets_nothing_of_the_gateways_environment_or_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HATCHWAY_TEST_SECRET", "hunter2")

    async def main() -> None:
        session = await opened(tmp_path / "base")
        assert "hunter2" not in await python(session, "import os; print(os.environ)")
        code = "import os\nfor n in range(3, 64):\n try: os.fstat(n); print('open', n)\n except OSError: pass"
        assert await python(session, code) == ""
        await session.close()

    go(main())


def test_a_command_has_no_capability_no_new_privilege_no_device_and_no_management_call(tmp_path: Path) -> None:
    code = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tries(name, call):
    try: call(); print(name, "done")
    except OSError as error: pass
tries("device", lambda: os.mknod("dev", 0o600 | 0o020000, os.makedev(1, 1)))
tries("chroot", lambda: os.chroot("."))
tries("unix socket", lambda: socket.socket(socket.AF_UNIX))
tries("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
tries("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
tries("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
tries("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
for name, number in (("ptrace", 101), ("mount", 165), ("unshare", 272), ("bpf", 321), ("io_uring", 425), ("keyctl", 250),
                     ("shmget", 29), ("semget", 64), ("msgget", 68)):
    if os.uname().machine == "x86_64" and libc.syscall(number, 0, 0, 0, 0, 0) >= 0: print(name, "done")
if os.uname().machine == "x86_64":
    child = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
    if child == 0: os._exit(0)
    if child > 0: print("new user namespace done")
print(libc.prctl(39, 0, 0, 0, 0), "no new privileges")
"""

    async def main() -> None:
        session = await opened(tmp_path / "base")
        assert await python(session, code) == "1 no new privileges\n"
        await session.close()

    go(main())


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        (
            "git",
            "git init -q a && cd a && git -c user.name=x -c user.email=x commit -q --allow-empty -m x && git log --format=%s",
            "x",
        ),
        ("make", "printf 'all:\\n\\t@echo made\\n' > Makefile && make -j2", "made"),
        ("node", "node -e \"require('fs').watch('.').close(); console.log(require('os').tmpdir())\"", "/tmp"),
        ("python3", "python3 -c 'import multiprocessing as m; print(sum(m.Pool(2).map(abs, [-1, 2])))'", "3"),
        ("bash", "bash -c 'cat <(echo substituted) && ps -e > /dev/null'", "substituted"),
        ("cc", "echo 'int main(){return 0;}' > a.c && cc a.c -o a && ./a && echo compiled", "compiled"),
    ],
)
def test_ordinary_programs_work_in_the_jail(tmp_path: Path, program: str, code: str, said: str) -> None:
    if shutil.which(program, path="/usr/local/bin:/usr/bin:/bin") is None:
        pytest.skip(f"{program} is not installed")

    async def main() -> None:
        session = await opened(tmp_path / "base")
        done = await run(session, "sh", "-c", code)
        assert (done.stdout, done.stderr) == (f"{said}\n", "")
        await session.close()

    go(main())


def test_tm_run_tenant_a_session_has_a_share_of_what_the_kernel_counts_for_all(tmp_path: Path) -> None:
    code = """
import ctypes
libc = ctypes.CDLL(None)
print(sum(libc.inotify_init1(0) >= 0 for _ in range(100)), open("/proc/sys/user/max_user_namespaces").read())
"""

    async def main() -> None:
        session = await opened(tmp_path / "base")
        assert (await python(session, code)).split() == ["32", "0"]
        await session.close()

    go(main())


def test_a_command_cannot_signal_the_gateway_or_its_supervisor(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        code = f"import os\nfor p in ({os.getpid()}, os.getppid()):\n try: os.kill(p, 0); print('reached')\n except OSError: pass"
        assert await python(session, code) == ""
        await session.close()

    go(main())


def test_a_command_reaches_no_server_of_this_machine(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            code = (
                f"import socket\ntry: socket.create_connection(('127.0.0.1', {port}), 2); print('reached')\nexcept OSError: pass"
            )
            assert await python(session, code) == ""
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
                listener.bind(("127.0.0.1", port))
                for way in ("SOCK_DGRAM", "SOCK_STREAM, 262", "SOCK_RAW, 1"):
                    made = f"import socket\ns = socket.socket(socket.AF_INET, socket.{way})\n"
                    await python(session, made + f"s.sendto(b'x', ('127.0.0.1', {port}))")
                for one, take in ((server, server.accept), (listener, lambda: listener.recv(1))):
                    one.settimeout(0)
                    with pytest.raises(BlockingIOError):
                        take()
        await session.close()

    go(main())


def test_a_session_with_a_network_reaches_what_operator_and_policy_allow_through_the_proxy_and_nothing_else(
    tmp_path: Path,
) -> None:
    code = """
import os, socket, urllib.request, urllib.error
def tries(name):
    try: print(urllib.request.urlopen(f"http://{name}:PORT/x", timeout=20).read().decode())
    except urllib.error.HTTPError as error: print(error.code)
tries("web.example"); tries("other.example"); tries("web.test")
for host in ("127.0.0.1", "::1", "10.0.0.1"):
    try: socket.create_connection((host, PORT), 2); print("reached", host)
    except OSError: pass
try: socket.getaddrinfo("web.example", 80); print("resolved")
except OSError: pass
"""

    async def main() -> None:
        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        def decide(host: str, port: int, scheme: str) -> None:
            asked.append(host)
            if host == "other.example":
                raise EgressRefused("PERMISSION_DENIED", "no")

        asked: list[str] = []
        async with serve(lambda request: answer(b"from outside")) as web:
            egress = Egress(resolve=resolve, allow_private=["127.0.0.1/32"], ports=[web.port])
            provider = UnixLocal(tmp_path, proxy=Proxy(egress, ["*.example"]))
            session = await provider.create(Destination(id="d", provider_id="unix-local", config={"network": True}))
            command = Command(command_id="c", program="python3", args=["-c", code.replace("PORT", str(web.port))])
            done = await session.start(command, Oversight(connect=decide)).stay()
            assert (done.stdout, asked) == ("from outside\n403\n403\n", ["web.example", "other.example"]), done.stderr
            assert (await session.run(command)).stdout == "407\n" * 3, "without the policy's word there is none"
            await session.expose_port(Port(port=PROXY_PORT))
            with pytest.raises(GatewayError):
                await session.dial(PROXY_PORT)
            await provider.close()

    go(main())


def test_a_destination_has_no_network_where_the_operator_lists_no_domains(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(GatewayError, match="gives unix-local commands no network"):
            await UnixLocal(tmp_path).create(Destination(id="d", provider_id="unix-local", config={"network": True}))

    go(main())


def living(mark: str) -> list[str]:
    """The processes of this machine with a mark in their arguments: a session's own numbers say nothing outside of it."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if mark.encode() in place.read_bytes():
                found.append(place.parent.name)
    return found


def test_a_command_that_ignores_the_polite_signal_is_killed_with_all_it_started(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        mark = f"mark-{os.urandom(8).hex()}"
        child = "(trap '' TERM; sh -c 'echo $PPID' > child; while :; do :; done)"
        code = f": {mark}; trap '' TERM; {child} & echo $$ > leader; while :; do :; done"
        running = asyncio.create_task(run(session, "sh", "-c", code))
        names = [folder_of(session) / "child", folder_of(session) / "leader"]
        await until(lambda: all(name.exists() and name.read_text().endswith("\n") for name in names))
        assert len(living(mark)) == 2
        assert await session.cancel("c")
        assert (await running).status == "cancelled"
        assert living(mark) == []
        await session.close()

    go(main())


def test_a_process_that_left_its_group_ends_with_its_command_or_its_session(tmp_path: Path) -> None:
    daemon = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
    daemon += "open('pid', 'w').write(str(os.getpid()))\n"

    async def main() -> None:
        session, mark = await opened(tmp_path / "base"), f"mark-{os.urandom(8).hex()}"
        beating = f"# {mark}\nwhile True: time.sleep(0.01); open('beat', 'w').write(str(time.time_ns()))"
        await python(session, daemon + beating)
        await until((folder_of(session) / "beat").exists)
        assert len(living(mark)) == 1
        await session.close()
        assert living(mark) == []

    go(main())


def test_sessions_end_when_their_supervisor_does_and_the_next_command_gets_a_new_one(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        running = asyncio.create_task(run(session, "sh", "-c", "echo begun > begun; while :; do :; done"))
        await until((folder_of(session) / "begun").exists)
        assert session._jail is not None and session._jail._child is not None
        session._jail._child.kill()
        assert (await running).status == "lost"
        assert (await run(session, "echo", "on")).stdout == "on\n"
        await session.close()

    go(main())


def test_tm_run_output_an_endless_writer_costs_no_memory_and_its_session_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        running = asyncio.create_task(run(session, "sh", "-c", "yes"))
        await until(lambda: "c" in session._running and session._running["c"].output.dropped_bytes > 1 << 20)
        await session.cancel("c")
        assert len((await running).stdout) == 1 << 20
        assert (await run(session, "echo", "on")).stdout == "on\n"
        await session.close()

    go(main())


def test_limits_of_processes_hold(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base", jail=JailOptions(limits={"fsize": 4096, "nofile": 32, "as": 1 << 30}))
        assert (await run(session, "sh", "-c", "head -c 10000 /dev/zero > big")).exit_code != 0
        assert (folder_of(session) / "big").stat().st_size <= 4096
        assert "MemoryError" in await python(session, "bytearray(2 << 30)")
        assert "Too many open files" in await python(session, "f = [open('/dev/null') for _ in range(64)]")
        await session.close()

    go(main())


def test_a_background_server_may_go_on_writing_after_its_command_has_ended(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        code = "(while :; do echo noise; echo more >&2; date +%N > beat; sleep 0.01; done) & echo started"
        done = await run(session, "sh", "-c", code)
        assert done.exit_code == 0 and done.stdout.splitlines()[0] in ("started", "noise")
        beat = folder_of(session) / "beat"
        await until(beat.exists)
        first = beat.read_text()
        await until(lambda: beat.read_text() not in ("", first))
        await session.close()

    go(main())


def test_a_link_swapped_during_file_operations_of_a_session_leads_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"secret")

    async def main() -> None:
        session = await opened(tmp_path / "base")
        await write(session, "d/f", b"inside")
        (folder_of(session) / "l").symlink_to(outside)
        seen: set[bytes | str] = set()
        with swapping(folder_of(session) / "d", folder_of(session) / "l"):
            while len(seen) < 5 or seen.isdisjoint({b"inside"}):
                for kind, action in (("read", read(session, "d/f")), ("write", write(session, "d/f", b"inside"))):
                    try:
                        seen.add(await action or kind)
                    except GatewayError as refused:
                        seen.add(f"{kind}: {refused}")
                try:
                    seen.add((await session.run(Command(command_id="pwd", program="pwd", cwd="d"))).stdout)
                except GatewayError as refused:
                    seen.add(f"run: {refused}")
        assert not any(str(outside) in str(one) for one in seen)
        assert not any(str(tmp_path) in one for one in seen if isinstance(one, str) and "path" in one)
        assert b"secret" not in seen and b"inside" in seen
        await session.close()
        assert (outside / "f").read_bytes() == b"secret"

    go(main())


def test_a_root_must_lie_in_the_operators_directory_with_links_resolved(tmp_path: Path) -> None:
    async def main() -> None:
        base = tmp_path / "base"
        base.mkdir()
        (base / "out").symlink_to("/etc")
        (base / "own").mkdir()
        provider = UnixLocal(base)
        for root in ("/", "/etc", str(base / "out"), f"{base}/own/../.."):
            with pytest.raises(Forbidden, match="is outside workspace"):
                await provider.create(Destination(id="d", provider_id="unix-local", config={"root": root}))
        with pytest.raises(BadRequest):
            await provider.create(Destination(id="d", provider_id="unix-local", config={"root": "relative"}))
        session = await provider.create(Destination(id="d", provider_id="unix-local", config={"root": str(base / "own")}))
        assert folder_of(session).is_relative_to(base / "own")
        for root in ("/etc", str(base), str(base / "own")):
            with pytest.raises(Forbidden):
                await provider.create(HERE, Binding(destination=HERE, workspace="/workspace", read_roots=[root]))
        with pytest.raises(Unsupported):
            await provider.create(Destination(id="d", provider_id="unix-local", config={"network": True}))
        await provider.close()

    go(main())


def test_where_the_kernel_cannot_jail_nothing_runs_and_the_hint_says_why(tmp_path: Path) -> None:
    async def main() -> None:
        provider = UnixLocal(tmp_path, jail=JailOptions(least_abi=1000))
        assert provider.setup_hint is not None and "Landlock" in provider.setup_hint
        with pytest.raises(Unavailable):
            await provider.create(HERE)

    go(main())


def test_entries_and_volumes_are_there_and_read_only_ones_cannot_be_written(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    (sources / "lib").mkdir(parents=True)
    (sources / "lib/a.txt").write_text("a")
    (sources / "tool.sh").write_text("echo tool")
    entries = [
        ManifestEntry(source="lib", target="vendor", writable=False),
        ManifestEntry(source="tool.sh", target="bin/tool.sh", writable=True),
    ]
    mounts = [Mount(name="cache", path="cache"), Mount(name="shared", path="shared", read_only=True)]
    destination = Destination(id="d", provider_id="unix-local", default_manifest=Manifest(entries=entries, mounts=mounts))

    async def main() -> None:
        base = tmp_path / "base"
        base.mkdir()
        provider = UnixLocal(base, sources=sources, volumes=tmp_path / "volumes")
        session = await provider.create(destination)
        assert (await run(session, "sh", "-c", "cat vendor/a.txt; sh bin/tool.sh")).stdout == "atool\n"
        assert await read(session, "vendor/a.txt") == b"a"
        for path in ("vendor/a.txt", "shared/x"):
            with pytest.raises(Forbidden, match=r"is read-only$"):
                await write(session, path, b"no")
            assert (await run(session, "sh", "-c", f"chmod 777 {path}; echo no > {path}")).exit_code != 0
        await write(session, "cache/kept", b"kept")
        assert (await run(session, "sh", "-c", "cat cache/kept; echo more > cache/more")).stdout == "kept"
        for way in ("mv vendor away", "rm -rf vendor", "mv vendor/a.txt away", "rm -f vendor/a.txt; echo mine > vendor/a.txt"):
            await run(session, "sh", "-c", way)
            assert (await run(session, "cat", "vendor/a.txt")).stdout == "a", way
        with pytest.raises(Forbidden, match=r"is read-only$"):
            await session._change("delete", "vendor", recursive=True)
        await session.close()
        watching = Mount(name="seen", path="seen", read_only=True, intent=MountIntent(uri="cache"))
        again = await provider.create(_with(Manifest(mounts=[watching])))
        assert (await run(again, "sh", "-c", "cat seen/more; echo no > seen/more")).stdout == "more\n"
        assert await read(again, "seen/more") == b"more\n"
        with pytest.raises(BadRequest, match="mounted once"):
            await provider.create(_with(Manifest(mounts=[*mounts, watching])))
        with pytest.raises(Forbidden):
            await provider.create(_with(Manifest(entries=[ManifestEntry(source="../base", target="x", writable=True)])))
        await provider.close()

    go(main())


def _with(manifest: Manifest) -> Destination:
    return Destination(id="d", provider_id="unix-local", default_manifest=manifest)


def test_a_port_url_is_the_contracts(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        assert (await session.expose_port(Port(port=3000, label="web"))).url == "http://127.0.0.1:3000"
        await session.close()

    go(main())


def test_a_shell_in_a_terminal_has_job_control(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        code = "stty size < /dev/tty; sh -i -c 'sleep 100 & jobs; kill %1'"
        command = Command(command_id="t", program="sh", args=["-c", code], terminal=Terminal(rows=30, columns=100))
        done = await session.run(command)
        assert "30 100" in done.stdout and "job control turned off" not in done.stdout, done.stdout
        assert (await run(session, "sh", "-c", "stty size < /dev/tty")).exit_code != 0, "without one there is none"
        await session.close()

    go(main())


def test_tm_run_escape_the_process_that_waits_for_a_command_is_out_of_reach_of_others(tmp_path: Path) -> None:
    code = """
import os, signal
for pid in [int(name) for name in os.listdir('/proc') if name.isdigit() and int(name) != os.getpid()]:
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        try: os.kill(pid, number); print('signalled', pid)
        except PermissionError: pass
    for name in ('environ', 'mem', 'maps', 'fd', 'cwd', 'root'):
        try: open(f'/proc/{pid}/{name}', 'rb').read(1) if name not in ('fd', 'cwd', 'root') else os.listdir(f'/proc/{pid}/{name}')
        except OSError: continue
        print('read', pid, name)
print('looked at', len([name for name in os.listdir('/proc') if name.isdigit()]))
"""

    async def main() -> None:
        session = await opened(tmp_path / "base")
        for _ in range(3):
            told = (await python(session, code)).splitlines()
            assert len(told) == 1 and int(told[0].split()[-1]) >= 2, told
            assert (await run(session, "sh", "-c", "echo on")).stdout == "on\n"
            await asyncio.sleep(0.1)  # a spare process is made meanwhile
        await session.close()

    go(main())


def test_commands_at_the_same_time_and_after_a_pause_each_have_their_own_output_limits_and_terminal(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        many = [
            session.run(Command(command_id=f"c{n}", program="sh", args=["-c", f"ulimit -t; echo {n}"], cpu_ms=5000 + 1000 * n))
            for n in range(12)
        ]
        for n, done in enumerate(await asyncio.gather(*many)):
            assert done.stdout.split() == [str(5 + n), str(n)], done
        await session.pause()
        await session.resume()
        assert (await run(session, "sh", "-c", "ulimit -t; ulimit -n")).stdout.split() == ["600", "512"]
        await session.close()

    go(main())


def test_tm_run_escape_no_file_is_memory_that_no_limit_of_the_process_counts(tmp_path: Path) -> None:
    async def main() -> None:
        session = await opened(tmp_path / "base")
        code = "import os\ntry: os.memfd_create('x')\nexcept OSError as error: print(error.errno)"
        assert await python(session, code) == "38\n"
        assert await python(session, "open('/dev/shm/x', 'w').write('y'); print(open('/tmp/x').read())") == "y\n"
        await session.close()

    go(main())


def test_tm_run_deep_a_session_that_left_a_deep_tree_is_discarded_and_swept(deep_path: Path) -> None:
    dig = "import os\nfor _ in range(2000): os.mkdir('d'); os.chdir('d')"

    async def main() -> None:
        provider = UnixLocal(deep_path / "base")
        (deep_path / "base").mkdir()
        for remove in (lambda one: provider.discard(HERE, one.state), lambda one: provider.sweep([HERE], [])):
            session = await provider.create(HERE)
            assert await python(session, dig) == ""
            await session.close()
            await remove(session)
            assert os.listdir(deep_path / "base") == []

    go(main())


def test_tm_run_disk_commands_that_fill_the_disk_are_ended_and_none_begins_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_session, "_LOOK_SECONDS", 0.01)

    async def main() -> None:
        session = await opened(tmp_path / "base", disk_bytes=8 << 20)
        assert (await run(session, "sh", "-c", "head -c 1000000 /dev/zero > small; echo $?")).stdout == "0\n"
        fills = (
            ("while :; do head -c 1000000 /dev/zero >> big; done", "rm big"),
            ("while :; do n=$((n+1)); head -c 1000000 /dev/zero > /tmp/f$n; done", "rm /tmp/f*"),
            ("while :; do mkdir d; cd d || exit; done", "rm -r d"),
        )
        for fill, clear in fills:
            done = await run(session, "sh", "-c", fill)
            assert (done.status, done.exit_code) == ("full", None), (fill, done)
            with pytest.raises(TooLarge, match="take more than the 8388608 bytes"):
                await write(session, "x", b"x")
            done = await run(session, "sh", "-c", f"wc -c < small; sleep 0.1; {clear}")
            assert (done.status, done.stdout) == ("exited", "1000000\n"), (clear, done)
            await write(session, "x", b"x")
        with pytest.raises(TooLarge):
            await write(session, "large", bytes(8 << 20))
        await session.delete("small", recursive=False)
        await write(session, "fits", bytes(7 << 20))
        await session.close()

    go(main())
