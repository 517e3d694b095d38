"""Forks: a live session continues as two."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import hatchway
from sandbox.engine import memory
from sandbox.errors import RequestError
from sandbox.sessions.session import Session
from sandbox.wire import Language, RunRequest
from tests.conftest import NewBox

LIVE_PYTHON = """
import json
def numbers():
    for n in range(100): yield n
half_way = numbers(); next(half_way); next(half_way)
def counter():
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    return up
up = counter(); up()
class Point:
    def __init__(self, x): self.x = x
point = Point(7)
file = open('/workspace/log.txt', 'w+'); file.write('one,'); file.flush()
"""
USE_PYTHON = "[next(half_way), up(), point.x, json.dumps([1]), file.write('two'), file.flush(), open('log.txt').read()]"


def test_a_python_fork_has_the_heap_generators_closures_and_open_files_of_its_parent(box: hatchway.Sandbox) -> None:
    assert box.run(LIVE_PYTHON).ok
    with box.fork() as child:
        assert child.run(USE_PYTHON).result == [2, 2, 7, "[1]", 3, None, "one,two"]
        assert box.run(USE_PYTHON).result == [2, 2, 7, "[1]", 3, None, "one,two"]


def test_a_javascript_fork_has_closures_classes_and_half_way_generators(new_box: NewBox) -> None:
    box = new_box(language="javascript")
    box.run("function* numbers() { yield 1; yield 2; yield 3 } const it = numbers(); it.next(); let seen = new Map([['a', 1]])")
    with box.fork() as child:
        child.run("seen.set('b', 2)")
        assert child.run("[it.next().value, seen.size]").result == [2, 2]
        assert box.run("[it.next().value, seen.size]").result == [2, 1]


def test_a_shell_fork_has_variables_functions_and_the_working_directory(new_box: NewBox) -> None:
    box = new_box(language="shell")
    box.run("name=world; greet() { echo hello $name; }; mkdir sub; cd sub")
    with box.fork() as child:
        child.run("name=child; cd ..")
        assert child.run("greet; pwd").stdout == "hello child\n/workspace\n"
        assert box.run("greet; pwd").stdout == "hello world\n/workspace/sub\n"


def test_files_are_independent_after_a_fork_both_ways(box: hatchway.Sandbox) -> None:
    box.run("open('shared.txt', 'w').write('before')")
    with box.fork() as child:
        child.run("open('shared.txt', 'w').write('child')")
        box.run("open('mine.txt', 'w').write('parent')")
        assert box.files.read_file("shared.txt") == b"before"
        assert child.files.read_file("shared.txt") == b"child"
        assert child.files.list_dir() == ["shared.txt"]


def test_a_file_that_was_unlinked_while_open_lives_on_in_the_fork(box: hatchway.Sandbox) -> None:
    box.run("import os\nf = open('gone', 'w+'); f.write('still here'); f.flush(); os.unlink('gone')")
    with box.fork() as child:
        box.run("f.close()")
        assert child.run("f.seek(0); f.read()").result == "still here"


def test_all_languages_of_a_session_are_forked(box: hatchway.Sandbox) -> None:
    box.run("x = 1")
    box.run("let x = 2", language="javascript")
    box.run("x=3", language="shell")
    with box.fork() as child:
        assert child.run("x").result == 1
        assert child.run("x", language="javascript").result == 2
        assert child.run("echo $x", language="shell").stdout == "3\n"


def test_a_thousand_forks_answer_correctly_and_differ_in_their_random_numbers(box: hatchway.Sandbox) -> None:
    box.run("import random\ndata = list(range(100))\nrandom.seed(1)")
    seen = set()
    for child in box.fork(1000):
        with child:
            total, number = child.run("sum(data), random.random()").result
            assert total == 4950
            seen.add(number)
    assert len(seen) == 1000


def test_a_generator_that_the_program_made_itself_is_state_that_siblings_share(box: hatchway.Sandbox) -> None:
    box.run("import numpy, random\nmade = [numpy.random.default_rng().random, random.Random().random]")
    children = box.fork(2)
    first, second = [child.run("[float(one()) for one in made]").result for child in children]
    assert first == second
    for child in children:
        child.close()


@pytest.mark.parametrize(
    ("language", "code"),
    [("python", "import numpy\nnumpy.random.rand()"), ("javascript", "Math.random()"), ("shell", "echo $RANDOM$RANDOM")],
)
def test_tm_snap_clone_siblings_differ_in_randomness_in_every_language(new_box: NewBox, language: str, code: str) -> None:
    box = new_box(language=language)
    box.run(code)
    answers = []
    for child in box.fork(3):
        with child:
            done = child.run(code)
            answers.append(done.result if done.result is not None else done.stdout)
    assert len(set(answers)) == 3


@pytest.mark.parametrize("count", [0, 1, 40])
def test_fork_gives_as_many_as_asked(new_box: NewBox, count: int) -> None:
    box = new_box(language="javascript")
    box.run("var a = 5")
    children = box.fork(count)
    assert [child.run("a").result for child in children] == [5] * count
    for child in children:
        child.close()


@pytest.mark.parametrize("count", [-1, 10**9, pytest.param(10**5000, id="huge"), True, 1.5])
def test_fork_refuses_a_number_that_is_none_or_senseless(box: hatchway.Sandbox, count: Any) -> None:
    with pytest.raises(RequestError, match="whole number up to 100000"):
        box.fork(count)


def test_forks_the_machine_has_no_room_for_are_refused_and_none_is_kept() -> None:
    program = """
import resource, hatchway
with hatchway.Sandbox() as box:
    box.run("x = 1")
    with open("/proc/self/statm") as sizes:
        mapped_bytes = int(sizes.read().split()[0]) * resource.getpagesize()
    probe = box.fork(20)
    with open("/proc/self/statm") as sizes:
        fork_bytes = (int(sizes.read().split()[0]) * resource.getpagesize() - mapped_bytes) // 20
    for fork in probe:
        fork.close()
    resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes + 60 * fork_bytes,) * 2)
    for _ in range(3):
        try:
            box.fork(5000)
        except hatchway.RequestError as refused:
            print(str(refused).partition(":")[0])
    print(len(box.fork(20)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["this machine has no room for 5000 forks"] * 3 + ["20"], done.stderr


def test_a_forks_fork_has_what_both_did(new_box: NewBox) -> None:
    box = new_box(language="javascript")
    box.run("var a = 1")
    child = box.fork(20)[7]
    child.run("var b = 2")
    grandchild = child.fork()
    assert grandchild.run("a + b").result == 3


def test_a_child_that_hits_a_limit_goes_back_to_the_fork_not_further(box: hatchway.Sandbox) -> None:
    box.run("x = 1\nopen('f', 'w').write('1')")
    with box.fork() as child:
        assert child.run("x = 2\nopen('f', 'w').write('2')\nwhile True: pass", timeout_ms=100).error is not None
        assert child.run("x, open('f').read()").result == [1, "1"]
        assert child.run("x = 3\nx").result == 3


def test_memory_a_session_has_grown_is_charged_to_its_forks_too(box: hatchway.Sandbox) -> None:
    assert box.run("a = bytearray(40 << 20)").ok
    child = box.fork(20)[0]
    assert child.run("b = bytearray(40 << 20)").error.code == "MEMORY_EXCEEDED"  # type: ignore[union-attr]
    assert child.run("len(a)").result == 40 << 20


def test_tools_of_the_parent_work_in_the_fork_and_new_ones_do_not_leak_back(new_box: NewBox) -> None:
    box = new_box(tools={"one": lambda: 1})
    box.run("one()")
    with box.fork() as child:
        child.registry.tool(two)
        assert child.run("one() + two()").result == 3
        assert box.run("two()").error.code == "NAME_ERROR"  # type: ignore[union-attr]


def two() -> int:
    return 2


def test_forking_from_within_a_run_of_the_same_session_is_refused_not_deadlocked(new_box: NewBox) -> None:
    box = new_box()
    said: list[str] = []

    def fork_me() -> str:
        try:
            box.fork()
        except RequestError as error:
            said.append(error.error.code)
        return "done"

    box.registry.tool(fork_me)
    assert box.run("fork_me()").result == "done"
    assert said == ["INVALID_ARGUMENT"]


def test_a_closed_session_cannot_be_forked(box: hatchway.Sandbox) -> None:
    box.close()
    with pytest.raises(RequestError) as refused:
        box.fork()
    assert refused.value.error.code == "SESSION_NOT_FOUND"


@pytest.mark.parametrize("method", ["pagemap", "comparison"])
def test_forks_are_exact_where_the_kernel_has_no_page_scan(monkeypatch: pytest.MonkeyPatch, new_box: NewBox, method: str) -> None:
    kernel = memory.Kernel()
    kernel.can_scan = False
    if method == "comparison":
        kernel.pagemap = None
    monkeypatch.setattr(memory, "kernel", lambda: kernel)
    box = new_box(language="javascript")
    box.run("var list = Array.from({length: 5000}, (_, i) => i)")
    with box.fork() as child:
        box.run("list.push(1)")
        assert child.run("[list.length, list[4999]]").result == [5000, 4999]


def test_the_monotonic_clock_never_goes_back_wherever_a_state_came_from(new_box: NewBox) -> None:
    box = new_box()
    before = box.run("import time\ntime.monotonic_ns()").result
    state = box._session.freeze()
    ahead = dataclasses.replace(state, monotonic_ns=state.monotonic_ns + 10**15)
    session = Session(language=Language.PYTHON, state=ahead)
    child = hatchway.Sandbox._around(session, None)
    now = child.run("time.monotonic_ns()").result
    assert now >= before + 10**15
    assert child.run("time.sleep(0.01)\ntime.monotonic_ns()").result >= now + 10**7
    assert time.monotonic_ns() < now
    child.close()


KILLED = """
import os, signal, sys
import hatchway
box = hatchway.Sandbox(language='javascript')
box.run("var a = 1")
children = box.fork(20)
print(len(children), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_killed_between_fork_and_use_leaves_the_cache_whole() -> None:
    root = Path(hatchway.__file__).parent.parent
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", KILLED], cwd=root, env=dict(os.environ), capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL
        assert done.stdout == b"20\n"
    with hatchway.Sandbox(language="javascript") as box:
        assert box.run("1 + 1").result == 2


@pytest.mark.parametrize("language", ["python", "javascript", "shell"])
def test_a_state_that_is_shared_is_the_same_memory_and_is_not_changed_by_its_sessions(new_box: NewBox, language: str) -> None:
    code = {
        "python": ("long = bytes(range(256)) * 2048\nshort = [1]", "short.append(2); [len(long), short]", [1 << 19, [1, 2]]),
        "javascript": ("let long = 'x'.repeat(1 << 19), short = [1]", "short.push(2); [long.length, short]", [1 << 19, [1, 2]]),
        "shell": ("x=one; f() { echo $x; }", "f", None),
    }[language]
    box = new_box(language=language)
    assert box.run(code[0]).ok
    state = box._session.freeze()
    shared = dataclasses.replace(state, guests={name: guest.share() for name, guest in state.guests.items()})
    digest = state.guests[language].memory_digest()
    for _ in range(2):
        session = Session(language=Language(language), state=shared)
        guest = session._guest(Language(language), None)
        size = guest._memory.size_bytes
        assert guest._memory.read(0, size) == guest.image.read(0, size), "what is compared with is what is mapped"
        assert session.freeze().guests[language].memory_digest() == digest
        request = RunRequest(
            session_id="s", language=Language(language), code=code[1], inputs={}, return_snapshot=False, validate_only=False
        )
        result = session.run(request)
        assert result.ok and (result.result == code[2] or result.stdout == "one\n")
        assert session.freeze().guests[language].memory_digest() != digest
        session.close()
