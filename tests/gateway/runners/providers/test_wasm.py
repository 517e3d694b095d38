"""What only one provider does: programs and snapshots of `wasm`, hosts of `ssh`."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gateway.errors import BadRequest, GatewayError, TooLarge, Unavailable, Unsupported
from gateway.runners import command_life
from gateway.runners.artifacts import MemoryBlobs
from gateway.runners.mounts.manifests import volume_folder
from gateway.runners.providers.ssh import Ssh
from gateway.runners.providers.wasm import Wasm, WasmSession
from gateway.runners.wire import ArtifactRequest, Destination, Manifest
from sandbox.encoding.sealing import Keys
from sandbox.filesystem.vfs import Vfs
from sandbox.snapshots import snapshot_format
from sandbox.workers import process_worker
from sandbox.workers.interface import Operation
from sandbox.workers.local.folder_files import FolderFiles
from sandbox.workers.process_pool import PoolOptions, ProcessWorkers
from tests.gateway.runners.places import Servers, Vault, a_place, go, read, run, until, write
from tests.gateway.runners.sshd import Server
from tests.gateway.runners.test_beneath import swapping

WASM = Destination(id="d", provider_id="wasm")


def in_wasm(check: Callable[[WasmSession], Any], **options: Any) -> None:
    async def main() -> None:
        provider = Wasm(**options)
        await check(await provider.create(WASM))
        await provider.close()

    go(main())


def test_wasm_runs_shell_python_and_javascript_as_programs() -> None:
    async def check(session: WasmSession) -> None:
        await write(session, "p/a.py", b"import sys, os\nprint(sys.argv, os.getcwd(), os.environ['V'], sys.stdin.read())")
        await write(session, "p/a.js", b"console.log(process.argv.slice(1).join(), process.cwd(), process.env.V)")
        await write(session, "p/a.sh", b'echo "$1" "$(pwd)" "$V"; cat')
        for program, name, expected in (
            ("python3", "a.py", "['a.py', 'x'] /workspace/p v in\n"),
            ("node", "a.js", "a.js,x /workspace/p v\n"),
            ("bash", "a.sh", "x /workspace/p v\nin"),
        ):
            done = await run(session, program, name, "x", cwd="p", env=[("V", "v")], stdin="in")
            assert (done.stdout, done.stderr, done.exit_code) == (expected, "", 0), program
        assert (await run(session, "python", "-c", "import pandas; print(pandas.Series([1, 2]).sum())")).stdout == "3\n"
        assert (await run(session, "js", "-e", "console.log([1, 2].map(n => n * 2).join())")).stdout == "2,4\n"
        assert (await run(session, "python3", "-c", "object()")).exit_code == 0
        assert (await run(session, "node", "-e", "(() => 1)")).exit_code == 0
        assert (await run(session, "python3", "-", stdin="print('from stdin')")).stdout == "from stdin\n"

    in_wasm(check)


def test_wasm_commands_share_files_and_nothing_else() -> None:
    async def check(session: WasmSession) -> None:
        await run(session, "python3", "-c", "kept = 1; open('f', 'w').write('file')")
        done = await run(session, "python3", "-c", "print(open('f').read()); print('kept' in globals())")
        assert done.stdout == "file\nFalse\n"
        done = await run(session, "sh", "-c", "cd /tmp; X=1; exit 0")
        assert (await run(session, "sh", "-c", 'pwd; echo "[$X]"')).stdout == "/workspace\n[]\n"

    in_wasm(check)


def test_wasm_failures_have_exit_codes_and_messages() -> None:
    async def check(session: WasmSession) -> None:
        failed = await run(session, "python3", "-c", "\n\nraise ValueError('why')")
        assert failed.exit_code == 1 and "line 3" in failed.stderr and "ValueError: why" in failed.stderr
        assert (await run(session, "python3", "-c", "import sys; sys.exit(7)")).exit_code == 7
        assert (await run(session, "python3", "missing.py")).exit_code == 127
        assert (await run(session, "python3", "../../etc/passwd")).exit_code == 127
        assert (await run(session, "python3", "-c", "def f(: pass")).exit_code == 1
        with pytest.raises(Unsupported, match="-m is not supported"):
            await run(session, "python3", "-m", "pip")

    in_wasm(check)


def test_a_wasm_command_that_a_limit_ends_leaves_no_trace() -> None:
    async def check(session: WasmSession) -> None:
        await write(session, "f", b"before")
        done = await run(session, "python3", "-c", "open('f', 'w').write('after')\nwhile True: pass", timeout_ms=300)
        assert done.status == "timeout"
        assert await read(session, "f") == b"before"
        done = await run(session, "python3", "-c", "x = bytearray(1 << 30)")
        assert done.exit_code != 0

    in_wasm(check)


def test_wasm_limits_of_a_destination_can_only_be_lower() -> None:
    provider = Wasm()
    asked = Destination(id="d", provider_id="wasm", config={"limits": {"memory_mb": 10**6, "cpu_ms": 100}})
    limits = provider.choose_limits(asked)
    assert (limits.memory_mb, limits.cpu_ms) == (provider.limits.memory_mb, 100)
    for bad in ({"limits": {"memory_mb": "much"}}, {"limits": 1}, {"other": 1}, [1]):
        with pytest.raises(BadRequest):
            provider.validate_destination(Destination(id="d", provider_id="wasm", config=bad))


def test_a_wasm_snapshot_of_another_tenant_or_with_another_key_is_refused() -> None:
    async def main() -> None:
        blobs, keys = MemoryBlobs(), Keys.of(bytes(32))
        session = await Wasm(tenant="a", keys=keys, blobs=blobs).create(WASM)
        taken = await session.snapshot()
        assert taken is not None
        for other in (Wasm(tenant="b", keys=keys, blobs=blobs), Wasm(tenant="a", blobs=blobs)):
            with pytest.raises(Unavailable):
                await (await other.create(WASM)).restore(taken.snapshot_id)

    go(main())


def test_a_folder_is_exported_as_the_same_archive_for_the_same_files() -> None:
    async def check(session: WasmSession) -> None:
        await write(session, "out/b", b"b")
        await write(session, "out/a/c", b"c")
        first = await session.export_artifact(ArtifactRequest(path="out", recursive=True))
        await run(session, "sh", "-c", "rm -r out; mkdir -p out/a; printf c > out/a/c; printf b > out/b")
        again = await session.export_artifact(ArtifactRequest(path="out", recursive=True))
        assert first.artifact_id == again.artifact_id

    in_wasm(check)


# ssh


def far(server: Server, folder: Path, **changes: Any) -> Destination:
    config = {"host": "127.0.0.1", "port": server.port, "username": server.username, "root": str(folder)}
    config |= {"host_key": server.host_key, "identity": {"id": "key"}, **changes}
    return Destination(id="d", provider_id="ssh", config=config)


def test_tm_run_reach_ssh_goes_only_to_hosts_the_operator_lists(tmp_path: Path, ssh_server: Callable[[], Server]) -> None:
    async def main() -> None:
        server = ssh_server()
        for hosts in ([], ["10.0.0.1"], ["127.0.0.2", "*.example.com"]):
            with pytest.raises(Unsupported):
                await Ssh(hosts, secrets=Vault(key=server.identity)).create(far(server, tmp_path))

    go(main())


def test_ssh_refuses_a_host_with_another_key_and_a_login_with_a_wrong_one(
    tmp_path: Path, ssh_server: Callable[[], Server]
) -> None:
    import asyncssh

    async def main() -> None:
        server = ssh_server()
        other = asyncssh.generate_private_key("ssh-ed25519")
        provider = Ssh(["127.0.0.1"], secrets=Vault(key=server.identity, wrong=other.export_private_key()))
        pinned = far(server, tmp_path, host_key=other.export_public_key().decode())
        for bad in (pinned, far(server, tmp_path, identity={"id": "wrong"}), far(server, tmp_path / "missing")):
            with pytest.raises(Unavailable):
                await provider.create(bad)
        for bad in (
            far(server, tmp_path, identity="text"),
            far(server, tmp_path, root="relative"),
            far(server, tmp_path, port=0),
        ):
            with pytest.raises(BadRequest):
                await provider.create(bad)
        await provider.close()

    go(main())


def test_a_link_swapped_at_the_far_end_during_file_operations_leads_nowhere(tmp_path: Path, servers: Servers) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"secret")

    async def main() -> None:
        async with a_place("ssh", tmp_path, servers) as place:
            session = await place.open()
            await write(session, "d/f", b"inside")
            assert place.host_path is not None
            (place.host_path / "l").symlink_to(outside)
            seen: set[bytes | str] = set()
            with swapping(place.host_path / "d", place.host_path / "l"):
                while not {b"inside", "PATH_OUTSIDE_WORKSPACE", "written"} <= seen:
                    seen.add(await _outcome(read(session, "d/f")))
                    seen.add(await _outcome(write(session, "d/f", b"inside")))
            assert b"secret" not in seen
            assert (outside / "f").read_bytes() == b"secret"

    go(main())


async def _outcome(action: Any) -> bytes | str:
    try:
        return await action or "written"
    except GatewayError as refused:
        return refused.code


def test_a_lost_ssh_connection_is_said_and_made_again(tmp_path: Path, servers: Servers) -> None:
    async def main() -> None:
        async with a_place("ssh", tmp_path, servers) as place:
            session: Any = await place.open()
            await write(session, "f", b"kept")
            running = asyncio.create_task(run(session, "sh", "-c", "echo begun; sleep 20"))
            await until(lambda: "c" in session._running and session._running["c"].output.kept[0] == b"begun\n")
            session._connection.abort()
            assert (await running).status == "lost"
            assert await read(session, "f") == b"kept"
            assert (await run(session, "cat", "f")).stdout == "kept"

    go(main())


async def _status(running: asyncio.Task[Any]) -> str:
    try:
        return str((await running).status)
    except GatewayError as refused:
        return refused.code


# hatchway


# The worker


def in_worker(check: Callable[[WasmSession, ProcessWorkers], Any], place: Destination = WASM, **supplies: Any) -> None:
    async def main() -> None:
        workers = ProcessWorkers(PoolOptions(jail="best_effort", spares=0))
        provider = Wasm(tenant="acme", workers=workers, **supplies)
        try:
            await check(await provider.create(place), workers)
        finally:
            await provider.close()
            await workers.aclose()

    go(main())


async def kill_worker(workers: ProcessWorkers, number: signal.Signals = signal.SIGKILL) -> int:
    pid = workers.pid_of("acme")
    assert pid is not None
    os.kill(pid, number)
    if number is signal.SIGKILL:
        await until(lambda: workers.pid_of("acme") != pid)
    return pid


def test_tm_lim_starve_a_wasm_command_computes_in_its_tenants_worker_and_ends_with_it() -> None:
    async def check(session: WasmSession, workers: ProcessWorkers) -> None:
        await write(session, "f", b"kept")
        began_s = time.process_time()
        running = asyncio.create_task(
            run(session, "python3", "-c", "print(1, flush=True)\nopen('g', 'w').write('x')\nwhile 1: pass")
        )
        await until(lambda: "c" in session._running and bool(session._running["c"].output.kept[0]))
        await asyncio.sleep(1)
        assert time.process_time() - began_s < 0.5  # it computes, but not here
        assert await read(session, "f") == b"kept"
        await kill_worker(workers)
        done = await running
        assert (done.status, done.stdout) == ("lost", "1\n")
        assert (await run(session, "sh", "-c", "ls; cat f")).stdout == "f\nkept"

    in_worker(check)


def test_tm_lim_starve_a_worker_that_does_not_end_a_command_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_life, "_LOST_AFTER_MS", 300)
    monkeypatch.setattr(process_worker, "STOP_SECONDS", 0.3)

    async def check(session: WasmSession, workers: ProcessWorkers) -> None:
        await write(session, "f", b"kept")
        running = asyncio.create_task(run(session, "sh", "-c", "echo begun; sleep 100"))
        await until(lambda: "c" in session._running and bool(session._running["c"].output.kept[0]))
        pid = await kill_worker(workers, signal.SIGSTOP)
        asyncio.get_running_loop().call_later(0.1, session._running["c"].control.ask, "cancelled")
        assert (await running).status in ("lost", "cancelled")
        await until(lambda: not Path(f"/proc/{pid}").exists())
        assert (await run(session, "cat", "f")).stdout == "kept"

    in_worker(check)


def test_tm_snap_bomb_a_runners_snapshot_is_unpacked_and_its_files_are_compared_in_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("in the gateway's process")

    async def check(session: WasmSession, workers: ProcessWorkers) -> None:
        for place, name in ((snapshot_format, "unpack"), (snapshot_format, "thaw"), (snapshot_format, "pack"), (Vfs, "__init__")):
            monkeypatch.setattr(place, name, refuse)
        monkeypatch.setattr(Vfs, "at", refuse)
        await write(session, "f", b"old")
        taken = await session.snapshot()
        assert taken is not None
        await run(session, "sh", "-c", "echo new > f; mkdir d; echo > d/g")
        await session.restore(taken.snapshot_id)
        assert await read(session, "f") == b"old" and [one.path for one in await session.list_entries(".", recursive=True)] == [
            "f"
        ]
        assert [key for key in await session.provider.states.load(session.id) if key.startswith("file:")] == ["file:/f"]

    in_worker(check)


def test_tm_lim_files_a_runners_files_are_in_what_its_tenant_holds() -> None:
    async def check(session: WasmSession, workers: ProcessWorkers) -> None:
        await run(session, "sh", "-c", "head -c 5000000 /dev/zero > f; head -c 3000000 /dev/zero > /tmp/g")
        assert sum((await (await workers.of("acme")).status()).memory_bytes.values()) >= 8_000_000

    in_worker(check)


def test_what_could_not_be_persisted_is_undone_and_said_and_nothing_else_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(session: WasmSession, workers: ProcessWorkers) -> None:
        await write(session, "f", b"kept")
        with monkeypatch.context() as broken:

            async def fail(*args: Any) -> None:
                raise TooLarge("QUOTA_EXCEEDED", "the tenant's storage is used up")

            broken.setattr(session.provider.states, "save", fail)
            with pytest.raises(TooLarge):
                await write(session, "f", b"lost")
            with pytest.raises(TooLarge):
                await run(session, "sh", "-c", "echo lost > f; echo lost > g")
            with pytest.raises(TooLarge):
                await session.delete("f", recursive=False)
        assert await read(session, "f") == b"kept"
        assert (await run(session, "sh", "-c", "ls; cat f; echo more >> f")).stdout == "f\nkept"
        assert await read(session, "f") == b"keptmore\n"

    in_worker(check)


def test_a_mounts_newer_object_is_never_replaced_by_what_a_lost_worker_had(tmp_path: Path) -> None:
    volume = volume_folder(tmp_path, "d", "data")
    (volume / "o").write_text("1")
    mount = {"name": "data", "path": "m", "intent": {"kind": "provider_native", "uri": "data"}}
    place = Destination(id="d", provider_id="wasm", default_manifest=msgspec.convert({"mounts": [mount]}, Manifest))

    async def check(session: WasmSession, workers: ProcessWorkers) -> None:
        assert await read(session, "m/o") == b"1"
        (volume / "o").write_text("newer")
        running = asyncio.create_task(run(session, "sh", "-c", "cat m/o; sleep 100"))
        await until(lambda: "c" in session._running and bool(session._running["c"].output.kept[0]))
        await kill_worker(workers)
        done = await running
        assert (done.status, done.stdout, done.warnings) == ("lost", "newer", [])
        assert (volume / "o").read_text() == "newer"
        assert (await run(session, "cat", "m/o")).stdout == "newer"

    in_worker(check, place, volumes=tmp_path)


def test_tm_snap_bomb_whole_workspaces_and_large_changes_come_one_at_a_time_for_a_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is several times its size of the gateway's memory while it is on its way."""
    inside, most = 0, 0

    def count(place: Any, name: str) -> None:
        ask = getattr(place, name)

        async def counted(*args: Any, **options: Any) -> Any:
            nonlocal inside, most
            inside, most = inside + 1, max(most, inside + 1)
            try:
                await asyncio.sleep(0.02)
                return await ask(*args, **options)
            finally:
                inside -= 1

        monkeypatch.setattr(place, name, counted)

    async def check(session: WasmSession, workers: ProcessWorkers) -> None:
        nonlocal most
        provider = session.provider
        count(provider.states, "save")
        others = [await provider.create(WASM) for _ in range(4)]
        most = 0
        large = "head -c 2000000 /dev/urandom > f"
        assert {(await one).exit_code for one in [asyncio.ensure_future(run(one, "sh", "-c", large)) for one in others]} == {0}
        assert most == 1
        count(provider.blobs, "get")
        taken = await others[0].snapshot()
        assert taken is not None
        most = 0
        await asyncio.gather(*(one.restore(taken.snapshot_id) for one in others), others[1].export("."), others[2].snapshot())
        assert most <= 2 and len({await read(one, "f") for one in others}) == 1

    in_worker(check)


def test_a_session_goes_on_in_the_worker_that_replaces_its_own() -> None:
    async def check(session: WasmSession, workers: ProcessWorkers) -> None:
        await write(session, "f", b"kept")
        running = asyncio.create_task(run(session, "sh", "-c", "echo begun; sleep 1; echo end > g"))
        await until(lambda: "c" in session._running and bool(session._running["c"].output.kept[0]))
        await workers.refresh()
        assert await read(session, "f") == b"kept"
        assert (await running).exit_code == 0
        assert (await run(session, "sh", "-c", "cat f g", command_id="d")).stdout == "keptend\n"

    in_worker(check)


def test_tm_lim_starve_wasm_files_are_worked_on_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    perform, threads = FolderFiles.perform, list[int]()

    def note(self: FolderFiles, asked: Operation) -> bytes:
        threads.append(threading.get_ident())
        return perform(self, asked)

    async def check(session: WasmSession) -> None:
        monkeypatch.setattr(FolderFiles, "perform", note)
        await write(session, "a", b"x")
        assert await read(session, "a") == b"x" and [one.path for one in await session.list_entries(".", recursive=True)] == ["a"]
        assert threads and threading.get_ident() not in threads

    in_wasm(check)
