"""A run that a limit ends, and of which everything is to be kept."""

from __future__ import annotations

import struct
import threading

import pytest

from hatchway import Sandbox
from sandbox.guests.interrupts import Interrupt
from sandbox.sessions.limit_errors import FILES_KEPT, KEPT, UNDONE
from sandbox.wire import RunResult

LONG = {"wall_ms": 20_000, "cpu_ms": 20_000}
SCRIPT = "require('fs').writeFileSync('f', 'w'); var n = 0; for (;;) n++"
COUNTING = {
    "python": ("open('f', 'w').write('w')\nn = 0\nwhile True: n += 1", "n > 0 and open('f').read() == 'w'"),
    "javascript": (SCRIPT, "n > 0 && require('fs').existsSync('f')"),
    "typescript": (SCRIPT.replace("n =", "n: number ="), "n > 0 && require('fs').existsSync('f')"),
    "shell": ("printf w > f; n=0; while :; do n=$((n + 1)); done", '[ $n -gt 0 ] && [ "$(cat f)" = w ] && printf True'),
}
SLEEPING = {
    "python": ("n = 1\nimport time\ntime.sleep(99)\nn = 2", "n"),
    "javascript": ("var n = 1; await new Promise(done => setTimeout(done, 99000)); n = 2", "n"),
    "shell": ("n=1; sleep 99; n=2", "printf $n"),
}


def became(result: RunResult, what: str) -> bool:
    assert result.error is not None
    return f"; {what}" in result.error.message and not result.ok


@pytest.mark.parametrize("language", COUNTING)
def test_a_computing_program_is_interrupted_and_keeps_files_and_variables(language: str) -> None:
    program, look = COUNTING[language]
    with Sandbox(language=language, limits=LONG) as box:
        result = box.run(program, timeout_ms=1000, on_limit="keep")
        assert result.status == "timeout" and became(result, KEPT)
        seen = box.run(look).check()
        assert seen.result is True or seen.stdout == "True"


@pytest.mark.parametrize("language", SLEEPING)
def test_a_sleeping_program_is_interrupted_and_keeps_its_variables(language: str) -> None:
    program, look = SLEEPING[language]
    with Sandbox(language=language, limits=LONG) as box:
        assert became(box.run(program, timeout_ms=1000, on_limit="keep"), KEPT)
        seen = box.run(look).check()
        assert seen.result == 1 or seen.stdout == "1"


@pytest.mark.parametrize("language", COUNTING)
def test_without_asking_for_it_everything_is_undone(language: str) -> None:
    program, _ = COUNTING[language]
    with Sandbox(language=language, limits=LONG) as box:
        assert became(box.run(program, timeout_ms=1000), UNDONE)
        assert not box.files.exists("f")


def test_where_a_program_was_interrupted_is_told() -> None:
    with Sandbox(limits=LONG) as box:
        result = box.run("x = 1\nwhile True:\n    x += 1", timeout_ms=1000, on_limit="keep")
        assert result.error is not None and result.error.span is not None and result.error.span.line in (2, 3)
        assert "LimitReached" in result.stderr


def test_memory_and_depth_that_ran_out_are_kept_too() -> None:
    with Sandbox(limits={**LONG, "memory_mb": 32}) as box:
        assert became(box.run("x = []\nwhile True: x.append('x' * 1_000_000)", on_limit="keep"), KEPT)
        assert box.run("n = len(x); del x; n > 5").result is True
        assert became(box.run("d = 0\ndef f():\n    global d\n    d += 1\n    f()\nf()", on_limit="keep"), KEPT)
        assert box.run("d > 100").result is True


def test_calls_that_ran_out_and_a_call_that_hangs_are_kept_too() -> None:
    hangs = threading.Event()
    with Sandbox(limits={**LONG, "max_external_calls": 3}, tools={"send": lambda: 1, "hang": lambda: hangs.wait(60)}) as box:
        assert became(box.run("n = 0\nwhile True:\n    tools.send()\n    n += 1", on_limit="keep"), KEPT)
        assert box.run("n").result == 3
        assert became(box.run("n = 7\ntools.hang()\nn = 8", timeout_ms=1000, on_limit="keep"), KEPT)
        hangs.set()
        assert box.run("n").result == 7


def test_a_program_that_does_not_let_itself_be_interrupted_keeps_its_files_only() -> None:
    stubborn = "open('f', 'w').write('w')\nn = 1\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass"
    with Sandbox(limits=LONG) as box:
        box.run("n = 0")
        assert became(box.run(stubborn, timeout_ms=1000, on_limit="keep"), FILES_KEPT)
        assert box.run("[n, open('f').read()]").result == [0, "w"]
    with Sandbox(language="shell", limits=LONG) as box:
        assert became(box.run("printf w > f; n=1; awk 'BEGIN { while (1); }'", timeout_ms=1000, on_limit="keep"), FILES_KEPT)
        assert box.run('printf "$n$(cat f)"').stdout == "w"


def test_descriptors_from_before_still_work_where_only_files_are_kept() -> None:
    stubborn = (
        "h.write('2'); h.flush()\nimport os\nos.remove('gone')\ng = open('new', 'w')\n"
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    )
    with Sandbox(limits=LONG) as box:
        box.run("h = open('log', 'w'); h.write('1'); h.flush(); gone = open('gone', 'w')")
        assert became(box.run(stubborn, timeout_ms=1000, on_limit="keep"), FILES_KEPT)
        assert box.run("h.write('3'); h.flush(); open('log').read()").result == "13"
        assert box.run("import os\nsorted(os.listdir('.'))").result == ["log", "new"]


def test_files_of_a_program_that_a_program_started_are_kept() -> None:
    inner = 'open("c", "w").write("3")\\nwhile True: pass'
    program = f"n = 1\nimport subprocess\nsubprocess.run(['python3', '-c', '''{inner}'''])"
    with Sandbox(limits=LONG) as box:
        assert became(box.run(program, timeout_ms=1500, on_limit="keep"), KEPT)
        assert box.run("[n, open('c').read()]").result == [1, "3"]


def test_a_cancelled_run_is_undone_whatever_was_asked_for() -> None:
    with Sandbox(limits=LONG) as box:
        begun = threading.Event()
        done: list[RunResult] = []
        program = "x = 1\nprint('begun', flush=True)\nwhile True: pass"
        work = threading.Thread(target=lambda: done.append(box.run(program, on_limit="keep", on_output=lambda *_: begun.set())))
        work.start()
        assert begun.wait(60) and box.cancel()
        work.join(60)
        assert done[0].status == "cancelled" and became(done[0], UNDONE)
        assert box.run("'x' in globals()").result is False


def test_an_interrupt_that_came_too_late_does_not_reach_the_next_run() -> None:
    with Sandbox(limits=LONG) as box:
        for wall_ms in range(1, 12, 2):
            box.run("sum(range(20_000))", timeout_ms=wall_ms, on_limit="keep")
            assert box.run("1 + 1").result == 2


def test_an_interrupted_session_forks_and_freezes_as_it_is() -> None:
    with Sandbox(limits=LONG) as box:
        box.run("n = 0\nwhile True: n += 1", timeout_ms=1000, on_limit="keep")
        with box.fork() as fork, Sandbox.restore(box.snapshot()) as restored:
            seen = box.run("n").result
            assert seen > 0 and fork.run("n").result == restored.run("n").result == seen


def test_a_recorded_run_is_undone_at_a_limit() -> None:
    with Sandbox(record=True) as box:
        refused = box.run("1", on_limit="keep")
        assert refused.error is not None and refused.error.code == "INVALID_ARGUMENT"
        unknown = box.run("1", on_limit="maybe")
        assert unknown.error is not None and "'undo' or 'keep'" in unknown.error.message


@pytest.mark.parametrize("body", [b"", b"\1", b"\7\0\0\0\0", struct.pack("<BI", 0, 0xFFFFFFF0), struct.pack("<BI", 1, 0)])
def test_whatever_a_program_says_of_its_memory_is_harmless(body: bytes) -> None:
    with Sandbox(limits=LONG) as box:
        assert box.run("n = 1").ok
        guest = box._session._guests["python"]
        interrupt = Interrupt(guest.image, guest._memory, body)
        interrupt.ask()
        interrupt.withdraw()
        assert box.run("n").result == 1
