"""What comes out of the shell: in order, as soon as it matters, and whole or not at all."""

from __future__ import annotations

import pytest

from tests.conftest import NewBox

PATIENT = {"wall_ms": 60_000, "cpu_ms": 60_000}


def test_stdout_and_stderr_come_in_the_order_they_were_written(new_box: NewBox) -> None:
    shown: list[tuple[int, bytes]] = []
    box = new_box(language="shell")
    box.run("echo o1; echo e1 >&2; echo o2; ls /nope; echo o3", on_output=lambda stream, data: shown.append((stream, data)))
    lines = b"".join(data for _, data in shown).splitlines()
    assert lines == [b"o1", b"e1", b"o2", b"ls: cannot access '/nope': No such file or directory", b"o3"]


def test_what_was_said_before_memory_ran_out_is_shown(new_box: NewBox) -> None:
    done = new_box(language="shell", limits=PATIENT).run("echo start; x=a; while :; do x=$x$x; done")
    assert done.error is not None and done.error.code == "MEMORY_EXCEEDED"
    assert done.stdout == "start\n"


def test_what_was_said_before_a_capability_inside_a_substitution_is_shown_when_it_is_called(new_box: NewBox) -> None:
    shown: list[bytes] = []
    seen_by_call: list[bytes] = []
    box = new_box(language="shell", tools={"ask": lambda: seen_by_call.extend(shown)})
    box.run("echo before; x=$(ask)", on_output=lambda stream, data: shown.append(data))
    assert seen_by_call == [b"before\n"]


@pytest.mark.parametrize(
    ("script", "whole"),
    [
        ("seq 1 2000000 | wc -l", "2000000\n"),
        ("head -c 20000000 /dev/zero | wc -c", "20000000\n"),
        ("yes | head -c 9000000 | wc -c", "9000000\n"),
        ("head -c 9000000 /dev/zero > f; cat < f | cat > g; cmp f g && echo same", "same\n"),
    ],
)
@pytest.mark.parametrize("memory_mb", [16, 64])
def test_pipe_gives_all_or_says_that_there_is_no_room(new_box: NewBox, script: str, whole: str, memory_mb: int) -> None:
    done = new_box(language="shell", limits={**PATIENT, "memory_mb": memory_mb}).run(script)
    if done.error is None:
        assert done.stdout == whole
    else:
        assert done.error.code == "MEMORY_EXCEEDED" and memory_mb == 16 and done.stdout == ""
