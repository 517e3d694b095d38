"""The public face: `Sandbox` and `AsyncSandbox`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hatchway
from hatchway import AsyncSandbox, RequestError, RunStatus, Sandbox
from sandbox.capabilities.registry import Registry


def test_surface_of_the_design_page_works() -> None:
    with hatchway.Sandbox() as box:
        assert box.run("print(1 + 1)").stdout == "2\n"
        box.run("open('/workspace/a.txt', 'w').write('hi\\n')")
        assert box.run("open('/workspace/a.txt').read()").result == "hi\n"
    assert box.run("1").status is RunStatus.VALIDATION_ERROR


def test_shell_and_python_share_the_workspace() -> None:
    with hatchway.Sandbox() as box:
        assert box.run("echo hi > a.txt", language="shell").ok
        assert box.run("open('/workspace/a.txt').read()").result == "hi\n"


def test_pandas_is_there() -> None:
    with hatchway.Sandbox() as box:
        assert box.run("import pandas as pd; print(pd.Series([1,2,3]).sum())").stdout == "6\n"


def test_result_is_ready_for_the_wire() -> None:
    with hatchway.Sandbox(tools={"f": lambda: 1}) as box:
        for code in ("f()\n{'a': [1, None, 2**70]}", "1/0", "while True: pass"):
            result = box.run(code, limits={"cpu_ms": 100})
            assert msgspec.json.decode(msgspec.json.encode(result), type=hatchway.RunResult) == result


@pytest.mark.parametrize("language", ["python", "py", "javascript", "js", "typescript", "ts", "TS", "TypeScript", "type_script"])
def test_every_spelling_of_a_language_runs(language: str) -> None:
    with hatchway.Sandbox(language=language) as box:
        assert box.run("1 + 1").result == 2
        assert box.run("2 + 2", language=language).result == 4


def test_files_are_exchanged_with_the_program() -> None:
    with hatchway.Sandbox() as box:
        box.files.write_file("/workspace/in.bin", bytes(range(256)))
        assert box.run("d = open('/workspace/in.bin', 'rb').read()\nopen('out', 'wb').write(d[::-1])").result == 256
        assert box.files.read_file("out") == bytes(reversed(range(256)))


@pytest.mark.parametrize(
    "options",
    [
        {"session_id": "a b"},
        {"session_id": 5},
        {"language": "cobol"},
        {"limits": {"memory_mb": 0}},
        {"limits": {"speed": 1}},
        {"limits": 5},
        {"tools": {"not a name": print}},
    ],
)
def test_sandbox_with_wrong_options_is_refused_with_a_code(options: dict[str, Any]) -> None:
    with pytest.raises(RequestError) as refused:
        Sandbox(**options)
    assert refused.value.error.code in ("INVALID_SESSION_ID", "INVALID_ARGUMENT", "INVALID_TOOL_NAME", "UNSUPPORTED_FEATURE")


def test_limits_may_be_given_in_part_or_whole() -> None:
    with Sandbox(limits={"cpu_ms": 50}) as box:
        assert box.run("while True: pass").error.code == "TIMEOUT_CPU"  # type: ignore[union-attr]
    whole = msgspec.structs.replace(hatchway.DEFAULT_LIMITS, wall_ms=50)
    with Sandbox(limits=whole) as box:
        assert box.run("import time\ntime.sleep(100)", limits=whole).error.code == "TIMEOUT_WALL"  # type: ignore[union-attr]


def in_loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())  # type: ignore[arg-type]

    run.__name__ = test.__name__
    return run


@in_loop
async def test_async_sandbox_has_the_same_verbs() -> None:
    async with AsyncSandbox(tools={"f": lambda: 3}) as box:
        box.files.write_file("/workspace/a", b"x")
        assert (await box.run("x = open('/workspace/a').read()\nx * f()")).result == "xxx"
        assert (await box.run("1 + 1", language="js")).result == 2
        assert [c.name for c in box.registry] == ["f"]
        assert box.cancel() is False
    assert (await box.run("1")).error.code == "SESSION_NOT_FOUND"  # type: ignore[union-attr]


@in_loop
async def test_two_async_sandboxes_run_at_the_same_time() -> None:
    meet = threading.Barrier(2, timeout=30)
    async with AsyncSandbox(tools={"meet": meet.wait}) as one, AsyncSandbox(tools={"meet": meet.wait}) as two:
        results = await asyncio.gather(one.run("meet()\n1"), two.run("meet()\n2"))
    assert [result.result for result in results] == [1, 2]


@in_loop
async def test_cancelling_the_task_cancels_the_run_and_the_session_goes_on() -> None:
    async with AsyncSandbox(limits={"cpu_ms": 600_000, "wall_ms": 600_000}) as box:
        await box.run("x = 1")
        started = asyncio.Event()
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(
            box.run(
                "x = 2\nprint('in', flush=True)\nwhile True: pass", on_output=lambda *_: loop.call_soon_threadsafe(started.set)
            )
        )
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await box.run("x")).result == 1


@in_loop
async def test_cancelling_a_task_that_waits_for_its_turn_leaves_the_run_before_it_alone() -> None:
    release = threading.Event()
    loop = asyncio.get_running_loop()
    started = asyncio.Event()

    def hold() -> int:
        loop.call_soon_threadsafe(started.set)
        return int(release.wait(30))

    async with AsyncSandbox(tools={"hold": hold}, limits={"wall_ms": 60_000}) as box:
        first = asyncio.create_task(box.run("hold()"))
        await started.wait()
        second = asyncio.create_task(box.run("x = 1\nwhile True: pass"))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        release.set()
        assert (await first).result == 1
        assert (await box.run("'x' in globals()")).result is False


@in_loop
async def test_async_timeout_ends_the_run() -> None:
    async with AsyncSandbox(limits={"cpu_ms": 600_000, "wall_ms": 600_000}) as box:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await box.run("while True: pass")
        assert (await box.run("1")).result == 1


def test_what_the_filesystem_refuses_is_an_error_of_ours_with_a_name() -> None:
    with hatchway.Sandbox(language="shell") as box, pytest.raises(hatchway.VfsError, match="ENOENT: no such file") as refused:
        box.files.read_file("nope")
    assert isinstance(refused.value, hatchway.SandboxError) and refused.value.name == "ENOENT"


def test_a_refused_run_leaves_no_recording_of_the_one_before() -> None:
    with hatchway.Sandbox(language="shell", record=True) as box:
        for refused in ({"language": "cobol"}, {"timeout_ms": 0}):
            box.run("echo hi")
            assert box.recording is not None
            assert not box.run("echo hi", **refused).ok  # type: ignore[arg-type]
            assert box.recording is None


def test_a_recording_is_sealed_and_opened_with_the_users_own_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HATCHWAY_KEYS", str(tmp_path / "keys"))
    with hatchway.Sandbox(language="shell", record=True) as box:
        box.run("echo hi")
        assert box.recording is not None
        opened = hatchway.Recording.open(box.recording.seal())
    assert opened.journal == box.recording.journal


def test_limits_may_be_named_one_by_one_and_the_wire_needs_all() -> None:
    limits = hatchway.SessionLimits(memory_mb=256)
    assert (limits.memory_mb, limits.wall_ms, limits.max_external_calls) == (256, 5000, 32)
    assert hatchway.SessionLimits() == hatchway.DEFAULT_LIMITS
    with pytest.raises(msgspec.ValidationError, match="cpu_ms"):
        msgspec.json.decode(b'{"memory_mb": 256}', type=hatchway.SessionLimits)
    with pytest.raises(TypeError):
        hatchway.SessionLimits(memory=1)  # type: ignore[call-arg]


def test_a_sandbox_says_what_it_is() -> None:
    with hatchway.Sandbox(session_id="s1", language="shell", tools={"f": lambda: 1}) as box:
        assert repr(box) == "<Sandbox 's1' shell, 1 tools>" and repr(box.registry) == "<Registry f>"
        assert box.registry.contains("f") and "g" not in box.registry
        assert box.meta.snapshot_version > 1 and box.meta.id == "s1"
        assert repr(box.files).startswith("<Files of 's1': ")


def test_lines_of_files_are_found_by_a_text() -> None:
    with hatchway.Sandbox() as box:
        box.files.write_file("a/x.txt", b"one\ntwo words\n")
        box.files.write_file("b.txt", "zwei two ü".encode())
        box.files.write_file("c.bin", b"two \xff")
        found = box.files.grep("two")
        assert [tuple(one) for one in found] == [("/a/x.txt", 2, "two words"), ("/b.txt", 1, "zwei two ü")]
        assert [one.path for one in box.files.grep("two", "b.")] == ["/b.txt"]


def test_it_can_be_asked_whether_a_snapshot_would_be_taken() -> None:
    with hatchway.Sandbox() as box:
        blob = box.snapshot()
    assert hatchway.Sandbox.can_restore(blob)
    assert not hatchway.Sandbox.can_restore(blob[:-1]) and not hatchway.Sandbox.can_restore(blob, tenant="other")


def declare_send(policy: Any, sent: list[str]) -> Registry:
    registry = Registry()
    registry.register(hatchway.Capability(name="send", approval_policy=policy), lambda text: sent.append(text) or len(sent))
    return registry


def test_a_call_that_needs_an_approval_waits_and_is_made_after_it() -> None:
    sent: list[str] = []
    program = "x = tools.send('a')\ny = tools.send('b')\n[x, y]"
    with hatchway.Sandbox(record=True, tools=declare_send("manual", sent)) as box:
        result = box.run(program)
        assert result.status == "waiting_for_approval" and sent == [] and box.recording is not None
        assert result.external_calls[0].status == "approval_pending"
        tools = declare_send("manual", sent)
        again, result = hatchway.Sandbox.resume(box.recording, tools=tools)
        with again:
            assert result.status == "waiting_for_approval" and sent == ["a"] and again.recording is not None
            last, result = hatchway.Sandbox.resume(again.recording, tools=tools, answer=7)
            with last:
                assert result.result == [1, 7] and sent == ["a"]


def test_a_call_that_a_policy_must_decide_about_is_refused_where_there_is_none() -> None:
    with pytest.raises(hatchway.RequestError, match="there is none here"):
        hatchway.Sandbox(tools=declare_send({"auto": {"rule": "r"}}, []))


def test_the_memory_of_a_run_is_measured_with_files_and_programs_it_started() -> None:
    with hatchway.Sandbox(limits={"memory_mb": 256, "wall_ms": 30_000, "cpu_ms": 30_000}) as box:
        base = box.run("1").metrics.memory_peak_bytes
        assert base < 8 << 20
        held = box.run("x = b'x' * (30 << 20)").metrics.memory_peak_bytes
        assert 30 << 20 <= held < 40 << 20
        written = box.run("open('f', 'wb').write(b'y' * (10 << 20)) and None").metrics.memory_peak_bytes
        assert 20 << 20 <= written < 40 << 20  # in memory, once or twice, and in the file; and not what the run before wrote
    with hatchway.Sandbox(limits={"memory_mb": 256, "wall_ms": 30_000, "cpu_ms": 30_000}, language="shell") as box:
        assert box.run("python3 -c 'x = b\"x\" * (30 << 20)'").metrics.memory_peak_bytes >= 30 << 20


def test_erasing_types_costs_cpu_time_of_the_run() -> None:
    code = "".join(f"const v{n}: Map<string, number[]> = new Map<string, number[]>();\n" for n in range(4000))
    with hatchway.Sandbox(language="typescript", limits={"cpu_ms": 60_000, "wall_ms": 60_000}) as box:
        plain = box.run(
            code.replace(": Map<string, number[]>", "").replace("Map<string, number[]>", "Map"), language="javascript"
        )
        typed = box.run(code)
        assert typed.check().metrics.cpu_ms > 2 * plain.check().metrics.cpu_ms
