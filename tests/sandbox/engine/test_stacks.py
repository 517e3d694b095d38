"""Threads with small stacks: a guest that recurses there must not take the process with it."""

from __future__ import annotations

import contextvars
import subprocess
import sys
import threading

import pytest

from sandbox.engine import stacks

ATTACKED = """
import sys, threading
import hatchway

ATTACKS = [
    ("python", "x = []\\nfor _ in range(100000): x = [x]\\nrepr(x)"),
    ("python", "a" + ".c" * 50000),
    ("python", "def f(): return f()\\nf()"),
    ("javascript", "function f() { return f() + 1 } f()"),
    ("javascript", "JSON.parse('['.repeat(1e5) + ']'.repeat(1e5))"),
]
threading.stack_size(int(sys.argv[1]) * 1024)
codes = []

def work():
    with hatchway.Sandbox(limits={"cpu_ms": 20000, "wall_ms": 60000}, tools={"nested": nested}) as box:
        for language, code in ATTACKS:
            codes.append(box.run(code, language=language).error.code)
        codes.append(box.run("nested()").result)

def nested():
    with hatchway.Sandbox() as box:
        return box.run(ATTACKS[1][1]).error.code

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(set(codes)), len(codes))
"""


@pytest.mark.parametrize("stack_kb", [128, 1024, 6144])
def test_guests_that_recurse_on_small_stacks_leave_the_process_alive(stack_kb: int) -> None:
    """In a process of its own: a stack that is too small ends it without a word."""
    ended = subprocess.run(
        [sys.executable, "-c", ATTACKED, str(stack_kb)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, ended.stdout) == (0, "['STACK_OVERFLOW'] 18\n"), ended.stderr


DEEP = """
import hatchway

def deep(n, call):
    return call() if n == 0 else deep(n - 1, call)

codes = set()
with hatchway.Sandbox() as box:
    box.run("x = 1")
    for depth in range(0, 1000, 7):
        try:
            codes.add(deep(depth, lambda: box.run("open('/workspace/f', 'w').write('a')\\nprint(x)").stdout))
        except RecursionError:
            codes.add("too deep")
    print(sorted(codes), box.run("x").result)
"""


def test_caller_that_is_deep_in_a_recursion_of_its_own_is_served_or_refused_and_never_crashed() -> None:
    ended = subprocess.run([sys.executable, "-c", DEEP], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, "['1\\n', 'too deep'] 1\n"), ended.stderr


CROWDED = """
import threading
import hatchway

FREED_DEEP = "class Last:\\n  def __del__(self): print(1)\\nx = Last()\\nfor _ in range(8000): x = [x]\\ndel x\\n'freed'"
PATIENT = {"cpu_ms": 20000, "wall_ms": 60000}
found = []

def run_within(level):
    with hatchway.Sandbox(limits=PATIENT) as box:
        result = box.run(FREED_DEEP, on_output=lambda *_: run_within(level - 1) if level else None)
        found.append(result.result)

def restore():
    with hatchway.Sandbox(limits=PATIENT) as box:
        box.run("x = int\\nfor _ in range(10000): x = (x,)")
        for _ in range(3):
            box.run("kept = 6 if isinstance(5.5, x) else 5")
        box.run("while True: pass", timeout_ms=50)
        with box.fork() as fork:
            found.append(fork.run("kept").result)

for stack_bytes, work in ((8 << 20, lambda: run_within(5)), (256 << 10, restore)):
    threading.stack_size(stack_bytes)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(found)
"""


def test_stack_with_a_guest_on_it_or_without_room_is_left_alone_by_other_guests() -> None:
    """A listener that runs programs while one is deep in its stack, and a fork that has to run turns again."""
    ended = subprocess.run([sys.executable, "-c", CROWDED], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, f"{['freed'] * 6 + [5]}\n"), ended.stderr


def on_thread_of(stack_bytes: int, found: list[object]) -> None:
    def work() -> None:
        found.append(stacks.stack_bytes())
        found.append(stacks.is_enough())
        found.append(stacks.on_large_stack(lambda: (stacks.stack_bytes(), stacks.is_enough(), threading.current_thread().name)))

    before = threading.stack_size(stack_bytes)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert threading.stack_size() == stack_bytes
    finally:
        threading.stack_size(before)


def test_small_stack_is_known_and_a_large_one_is_made() -> None:
    found: list[object] = []
    on_thread_of(256 << 10, found)
    assert found[:2] == [256 << 10, False]
    size, enough, name = found[2]  # type: ignore[misc]
    assert size >= 8 << 20 and enough and name == "hatchway-guest"


def test_large_stack_is_enough() -> None:
    found: list[object] = []
    on_thread_of(16 << 20, found)
    assert found[1] is True


def test_answer_exception_and_context_pass_through_the_large_stack() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")
    variable.set(7)
    assert stacks.on_large_stack(variable.get) == 7

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stacks.on_large_stack(fail)
