"""Sessions and threads: cancelling, taking turns, closing."""

from __future__ import annotations

import threading

import pytest

import hatchway
from sandbox.engine.limits import Cancel
from tests.conftest import NewBox
from tests.sandbox.outcomes import code_of

PYTHON, JAVASCRIPT, SHELL, TYPESCRIPT = "python", "javascript", "shell", "type_script"

ENDLESS = [
    (PYTHON, "x = 2\nprint('started', flush=True)\nwhile True: pass"),
    (PYTHON, "x = 2\nprint('started', flush=True)\nimport time\ntime.sleep(1000)"),
    (
        PYTHON,
        "x = 2\nprint('started', flush=True)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
    ),
    (PYTHON, "x = 2\nprint('started', flush=True)\nwait()"),
    (JAVASCRIPT, "x = 2; console.log('started'); while (true) {}"),
    (JAVASCRIPT, "x = 2; console.log('started'); await new Promise(done => setTimeout(done, 1e6))"),
    (SHELL, "x=2; echo started; while :; do :; done"),
]


@pytest.mark.parametrize(("language", "code"), ENDLESS)
def test_cancel_from_another_thread_ends_the_run_and_does_not_poison_the_next(new_box: NewBox, language: str, code: str) -> None:
    release = threading.Event()
    box = new_box(language=language, limits={"cpu_ms": 5_000, "wall_ms": 5_000}, tools={"wait": lambda: release.wait(60)})
    box.run({PYTHON: "x = 1", JAVASCRIPT: "globalThis.x = 1", SHELL: "x=1"}[language])
    started = threading.Event()
    cancelled: list[bool] = []
    canceller = threading.Thread(target=lambda: started.wait(60) and cancelled.append(box.cancel()))
    canceller.start()
    result = box.run(code, on_output=lambda stream, data: started.set())
    release.set()
    started.set()
    canceller.join()
    assert cancelled == [True]
    assert (code_of(result), result.status.value, result.stdout) == ("CANCELLED", "cancelled", "started\n")
    assert box.cancel() is False
    after = box.run({PYTHON: "x", JAVASCRIPT: "x", SHELL: "echo $x"}[language])
    assert after.ok and (after.result == 1 or after.stdout == "1\n")


def test_two_runs_of_one_session_never_interleave(box: hatchway.Sandbox) -> None:
    box.run("log = []")
    code = "log.append(('in', n))\nimport time\ntime.sleep(0.001)\nlog.append(('out', n))"
    threads = [threading.Thread(target=lambda n=n: box.run(code, inputs={"n": n})) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = box.run("log").result
    assert sorted(n for _, n in log) == sorted([*range(8)] * 2)
    assert [log[i] for i in range(0, 16, 2)] == [["in", n] for _, n in log[1::2]]


def test_run_that_is_cancelled_while_it_waits_is_answered_while_the_other_goes_on(new_box: NewBox) -> None:
    begun, release = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        release.wait(60)

    box = new_box(limits={"wall_ms": 120_000}, tools={"wait": wait})
    cancel, results = Cancel(), list[hatchway.RunResult]()
    first = threading.Thread(target=lambda: box.run("wait()"))
    second = threading.Thread(target=lambda: results.append(box.run("x = 1", cancel=cancel)))
    first.start()
    assert begun.wait(60)
    second.start()
    cancel.ask()
    second.join()
    is_still_running = first.is_alive()
    release.set()
    first.join()
    assert is_still_running
    assert [(code_of(result), result.status.value) for result in results] == [("CANCELLED", "cancelled")]
    assert code_of(box.run("x")) == "NAME_ERROR"


def test_host_that_writes_a_file_during_a_run_keeps_it_when_the_run_is_undone(box: hatchway.Sandbox) -> None:
    writer = threading.Thread(target=lambda: box.files.write_file("host.txt", b"kept"))

    def listen(stream: int, data: bytes) -> None:
        writer.start()
        writer.join(0.2)

    result = box.run("open('own.txt', 'w').write('x')\nprint(1)\nwhile True: pass", timeout_ms=500, on_output=listen)
    writer.join()
    assert code_of(result) == "TIMEOUT_WALL"
    assert (box.files.list_dir(), box.files.read_file("host.txt")) == (["host.txt"], b"kept")


def test_capability_and_listener_use_the_files_of_the_run_they_belong_to(new_box: NewBox) -> None:
    heard: list[list[str]] = []
    box = new_box(tools={"save": lambda: box.files.write_file("tool.txt", b"by the tool")})
    result = box.run(
        "save()\nprint(1)\nopen('tool.txt').read()", on_output=lambda stream, data: heard.append(box.files.list_dir())
    )
    assert (result.result, heard) == ("by the tool", [["tool.txt"]])
    assert [path for path, _ in box.files.walk()] == ["tool.txt"]


def test_closing_ends_the_run_under_way(box: hatchway.Sandbox) -> None:
    started = threading.Event()
    closer = threading.Thread(target=lambda: started.wait(60) and box.close())
    closer.start()
    result = box.run("print('x', flush=True)\nwhile True: pass", on_output=lambda stream, data: started.set())
    closer.join()
    assert code_of(result) in ("CANCELLED", "TIMEOUT_CPU") and code_of(box.run("1")) == "SESSION_NOT_FOUND"
