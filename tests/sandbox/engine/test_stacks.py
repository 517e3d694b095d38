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
    ("python", "def f(n): return sorted([n], key=f)\\nf(1)"),
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


@pytest.mark.parametrize("stack_kb", [128, 8192])
def test_guests_that_recurse_on_small_stacks_leave_the_process_alive(stack_kb: int) -> None:
    """In a process of its own: a stack that is too small ends it without a word."""
    ended = subprocess.run(
        [sys.executable, "-c", ATTACKED, str(stack_kb)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, ended.stdout) == (0, "['STACK_OVERFLOW'] 21\n"), ended.stderr


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
    assert size >= 30 << 20 and enough and name == "hatchway-guest"


def test_large_stack_is_enough() -> None:
    found: list[object] = []
    on_thread_of(32 << 20, found)
    assert found[1] is True


RESIDENT = """
import ctypes, os
from sandbox.engine import stacks

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def fill():
    low, size = stacks._find_stack()
    ctypes.memset(low + (1 << 20), 1, size - (3 << 20))
    return resident()

def use():
    filled = fill()
    stacks.release()
    return filled - resident()

def wait_for_helper():
    while not stacks._helpers:
        pass

answers = []
for call in (lambda: stacks.start(lambda: answers.append(use()), "one").join(), lambda: stacks.on_large_stack(lambda: None)):
    call()
wait_for_helper()
before = resident()
filled = stacks.on_large_stack(fill)
wait_for_helper()
print(answers[0] > 20 << 20, filled - before > 20 << 20, resident() - before < 4 << 20)
"""


def test_threads_keep_little_of_a_stack_that_was_deep() -> None:
    ended = subprocess.run([sys.executable, "-c", RESIDENT], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "True True True\n"), ended.stderr


MAIN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
import hatchway, threading
from sandbox.engine import stacks
with hatchway.Sandbox(limits={"max_stack_depth": 10000, "cpu_ms": 20000, "wall_ms": 60000}) as box:
    print(box.run("x = 1\\ndef f(n): return sorted([n], key=f)\\nf(1)").error.code)
    print(box.run("x = []\\nfor _ in range(300000): x = [x]\\nrepr(x)").error.code)
    with box.fork() as fork:
        print(fork.run("f(1)").error.code)
"""


def test_main_thread_and_forks_survive_what_fills_the_stack() -> None:
    ended = subprocess.run([sys.executable, "-c", MAIN], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, "STACK_OVERFLOW\nSTACK_OVERFLOW\nNAME_ERROR\n"), ended.stderr


def test_helper_is_kept_for_the_next_call_and_a_forked_child_makes_its_own() -> None:
    code = (
        "import os\nfrom sandbox.engine import stacks\nstacks.on_large_stack(lambda: None)\n"
        "child = os.fork()\nif child == 0: os._exit(stacks.on_large_stack(lambda: 7))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "7\n"), ended.stderr


def test_answer_exception_and_context_pass_through_the_large_stack() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")
    variable.set(7)
    assert stacks.on_large_stack(variable.get) == 7

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stacks.on_large_stack(fail)
