"""Sessions and threads: cancelling, taking turns, closing."""

from __future__ import annotations

import threading

import pytest

import hatchway
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


def test_closing_ends_the_run_under_way(box: hatchway.Sandbox) -> None:
    started = threading.Event()
    closer = threading.Thread(target=lambda: started.wait(60) and box.close())
    closer.start()
    result = box.run("print('x', flush=True)\nwhile True: pass", on_output=lambda stream, data: started.set())
    closer.join()
    assert code_of(result) in ("CANCELLED", "TIMEOUT_CPU") and code_of(box.run("1")) == "SESSION_NOT_FOUND"
