"""What is said of a limit, in the library, over HTTP and through both clients: which one, its value, who raises it, what became
of the run's work; and that a limit which was lowered is told at once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sandbox.sessions.limit_errors import UNDONE
from sandbox.wire import RunResult
from tests.hatchway.surfaces import PATIENT, Surface

ENDED = {
    "wall": ("python", "import time\ntime.sleep(60)", {"wall_ms": 300}, "TIMEOUT_WALL", "limits.wall_ms is 300"),
    "CPU": ("python", "while True: pass", {"cpu_ms": 300}, "TIMEOUT_CPU", "limits.cpu_ms is 300"),
    "memory": ("python", "x = [0] * (1 << 29)", {"memory_mb": 32}, "MEMORY_EXCEEDED", "limits.memory_mb is 32"),
    "stack": ("python", "def f(): f()\nf()", {"max_stack_depth": 60}, "STACK_OVERFLOW", "limits.max_stack_depth is 60"),
    "JavaScript's CPU": ("javascript", "for (;;);", {"cpu_ms": 300}, "TIMEOUT_CPU", "limits.cpu_ms is 300"),
    "TypeScript's memory": ("typescript", "const x: any[] = []; for (;;) x.push(new Array(1000).fill(0))", {"memory_mb": 32},
                            "MEMORY_EXCEEDED", "limits.memory_mb is 32"),
    "the shell's wall": ("shell", "sleep 60", {"wall_ms": 300}, "TIMEOUT_WALL", "limits.wall_ms is 300"),
}  # fmt: skip
SET = {"python": "kept = 7", "javascript": "globalThis.kept = 7", "typescript": "globalThis.kept = 7", "shell": "kept=7"}
WRITE = {
    "python": "kept = 8; open('left.txt', 'w').write('x')\n",
    "javascript": "kept = 8; require('fs').writeFileSync('left.txt', 'x');\n",
    "typescript": "globalThis.kept = 8; require('fs').writeFileSync('left.txt', 'x');\n",
    "shell": "kept=8; echo x > left.txt\n",
}
LOOK = {"python": "print(kept)", "javascript": "console.log(kept)", "typescript": "console.log(kept)", "shell": "echo $kept"}


@pytest.mark.parametrize("name", ENDED)
def test_a_limit_says_which_its_value_who_raises_it_and_that_the_run_was_undone(surface: Surface, name: str) -> None:
    language, code, limits, expected, said = ENDED[name]
    box = surface.open(language=language)
    assert box.run(SET[language]).ok
    result = box.run(WRITE[language] + code, limits=replace(PATIENT, **limits))
    assert result.error is not None and result.error.code == expected and not result.ok, result
    assert said in result.error.message and UNDONE in result.error.message, result.error
    assert result.error.hint is not None and "limits." in result.error.hint and "raise" in result.error.hint, result.error
    assert box.run(LOOK[language]).stdout == "7\n" and box.names() == []


def test_the_sessions_own_limit_names_the_session_as_what_to_open_anew(surface: Surface) -> None:
    box = surface.open(limits=replace(PATIENT, cpu_ms=300))
    result = box.run("while True: pass")
    assert result.error is not None and result.error.hint is not None
    assert "open the session with larger limits.cpu_ms" in result.error.hint, result.error


def lowered(result: RunResult) -> list[str]:
    """What is said of the wall clock; the gateway's policy leaves less CPU time than these tests ask for."""
    return [one.message for one in result.diagnostics if one.code == "LIMIT_LOWERED" and "wall_ms" in one.message]


def test_a_limit_that_was_lowered_is_told_at_once(surface: Surface) -> None:
    box = surface.open(limits=replace(PATIENT, wall_ms=20_000))
    result = box.run("1", limits=replace(PATIENT, wall_ms=50_000))
    assert result.ok and lowered(result) == ["limits.wall_ms is 20000 for this run, not 50000: the session allows no more"]
    assert lowered(box.run("1", timeout_ms=10_000)) == [] and len(lowered(box.run("1", timeout_ms=30_000))) == 1


@pytest.mark.parametrize("language", SET)
def test_what_a_run_did_is_kept_up_to_the_limit_if_that_is_wanted(surface: Surface, language: str) -> None:
    forever = "while :; do :; done" if language == "shell" else "while (true);" if language != "python" else "while True: pass"
    box = surface.open(language=language)
    assert box.run(SET[language]).ok
    result = box.run(WRITE[language] + forever, limits=replace(PATIENT, cpu_ms=500), on_limit="keep")
    assert result.error is not None and result.error.code == "TIMEOUT_CPU" and not result.ok
    assert "what it did until then is kept" in result.error.message and "incomplete" not in result.error.message, result.error
    assert box.run(LOOK[language]).stdout == "8\n" and box.read("left.txt") in (b"x", b"x\n")


HALF = {
    "python": "f = open('half.txt', 'w')\nf.write('x' * 100_000)\nwhile True: pass",
    "javascript": "const fs = require('fs'); const f = fs.openSync('half.txt', 'w'); fs.writeSync(f, 'begun'); for (;;);",
    "shell": "{ echo begun; while :; do :; done; } > half.txt",
}


@pytest.mark.parametrize("language", HALF)
def test_a_file_that_was_being_written_at_the_limit_is_named(surface: Surface, language: str) -> None:
    box = surface.open(language=language)
    box.write("whole.txt", b"whole")
    result = box.run(HALF[language], limits=replace(PATIENT, cpu_ms=500), on_limit="keep")
    assert result.error is not None and result.error.code == "TIMEOUT_CPU"
    assert "it was writing half.txt, which may be incomplete" in result.error.message, result.error
    assert "whole.txt" not in result.error.message and "half.txt" in box.names()


def test_a_program_that_another_one_started_names_its_half_written_file_too(surface: Surface) -> None:
    box = surface.open(language="shell")
    code = "python3 -c \"f = open('half.txt', 'w'); f.write('x' * 100000)\nwhile True: pass\""
    result = box.run(code, limits=replace(PATIENT, cpu_ms=1500), on_limit="keep")
    assert result.error is not None and "half.txt" in result.error.message, result.error


FULL = {
    "python": "open('large', 'wb').write(bytes((64 << 20) + 1))",
    "shell": "head -c 68000000 /dev/zero > large",
}


@pytest.mark.parametrize("language", FULL)
def test_a_limit_of_the_filesystem_that_refused_a_write_is_named(surface: Surface, language: str) -> None:
    box = surface.open(language=language, limits=replace(PATIENT, memory_mb=250))
    result = box.run(FULL[language])
    (told,) = [one for one in result.diagnostics if one.code == "FILES_EXCEEDED"]
    assert "a file of this session has at most 67108864 bytes" in told.message and told.hint is not None, told
    assert result.ok == (language == "python"), result  # which closes the file too late to fail
    assert not [one for one in box.run("true" if language == "shell" else "1").diagnostics if one.code == "FILES_EXCEEDED"]
