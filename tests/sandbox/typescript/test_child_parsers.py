"""TypeScript that attacks the parser: bounded in time and memory, and the next source is parsed as ever."""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Iterator

import pytest

import hatchway
from sandbox.typescript import child_parsers
from sandbox.typescript.child_parsers import HERE_BYTES_MAX, LARGE_BYTES, Check, Parsers, erase_bounded
from sandbox.typescript.erase import erase
from sandbox.workers.local.typescript_parser import _HEAD, _LENGTH, Asker
from tests.conftest import NewBox
from tests.sandbox.outcomes import code_of

BOMBS = {
    "type arguments": "f<T," * 20_000,
    "garbage": "@#$%^&*() " * 20_000,
    "open angles": "a<" * 20_000,
    "parentheses": "(" * 100_000,
    "arrows": "(a: b) => " * 5_000,
    "templates": "`${" * 20_000,
    "conditionals": "let x = " + "a ? (b) : " * 10_000,
    "object types": "type A = " + "{a:" * 20_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_source_that_attacks_the_parser_is_refused_and_costs_the_host_no_memory(name: str) -> None:
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (first, *_) = erase_bounded(BOMBS[name]).diagnostics
    assert first.code == "SYNTAX_ERROR"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 100_000
    assert erase_bounded("let x: number = 1;\n" * 1000).diagnostics == ()


@pytest.mark.parametrize(
    "source",
    [
        "let x: number = 1;\n" * 5_000,
        "let é: string = '😀';\n" * 500,
        "enum A { B }\n" * 500,
        "x = (\n" * 500,
        "\ud800" * 3000,
        "x" * 3000,
    ],
)
def test_answer_of_the_child_is_the_answer_one_would_get_here(source: str) -> None:
    assert len(source) > HERE_BYTES_MAX
    here, there = erase(source, "a.ts"), erase_bounded(source, "a.ts")
    assert (there.code, there.diagnostics) == (here.code, here.diagnostics)


def test_session_goes_on_after_a_source_that_killed_the_parser(box: hatchway.Sandbox) -> None:
    box.run("let kept: number = 7", language="ts")
    bomb = box.run(BOMBS["type arguments"], language="ts")
    assert bomb.error is not None and (bomb.error.code, bomb.status.value) == ("SYNTAX_ERROR", "validation_error")
    assert box.run("kept as number", language="ts").result == 7


def test_imported_file_that_attacks_the_parser_is_an_error_of_the_program(box: hatchway.Sandbox) -> None:
    box.files.write_file("/workspace/bomb.ts", BOMBS["type arguments"].encode())
    result = box.run("import './bomb.ts'; 1", language="ts")
    assert result.error is not None and result.error.code == "SYNTAX_ERROR"
    late = box.run("import './bomb.ts'; 1", language="ts", timeout_ms=100)
    assert late.error is not None and late.error.code == "TIMEOUT_WALL"
    assert box.run("1", language="ts").result == 1


def test_source_that_is_parsed_for_longer_than_the_run_may_take_ends_it_and_counts(box: hatchway.Sandbox) -> None:
    late = box.run("var x: number = 1;\n" * 200_000, language="ts", timeout_ms=100)
    assert (code_of(late), late.status.value) == ("TIMEOUT_WALL", "timeout")
    assert late.metrics.duration_ms >= 100
    assert box.run("var y: number = 1;\n" * 150 + "y", language="ts").result == 1


class Patient:
    """A parser that never ends by itself."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.asked = 0

    def prepare(self) -> None:
        pass

    def ask(self, request: bytes, seconds: float, check: Check) -> bytes | None:
        self.asked += 1
        self.begun.set()
        while True:
            check()


def test_run_is_cancelled_while_its_source_is_parsed(new_box: NewBox, monkeypatch: pytest.MonkeyPatch) -> None:
    parser, results = Patient(), list[hatchway.RunResult]()
    monkeypatch.setattr(child_parsers, "_parsers", Parsers([parser, Patient()][::-1]))
    box = new_box(limits={"wall_ms": 120_000, "cpu_ms": 120_000})
    thread = threading.Thread(target=lambda: results.append(box.run("let x: number = 1;\n" * 200, language="ts")))
    thread.start()
    assert parser.begun.wait(60)
    assert box.cancel() is True
    thread.join()
    assert [code_of(result) for result in results] == ["CANCELLED"]


class GivenUpError(Exception):
    pass


def given_up() -> None:
    raise GivenUpError


def test_large_sources_leave_a_parser_for_small_ones() -> None:
    parsers = [Patient(), Patient()]
    pool, leave = Parsers(parsers), threading.Event()

    def until_left() -> None:
        if leave.wait(0.001):
            raise GivenUpError

    def parse_large() -> None:
        with pytest.raises(GivenUpError):
            pool.ask(b"x" * (LARGE_BYTES + 1), 60, until_left)

    large = threading.Thread(target=parse_large)
    large.start()
    assert parsers[1].begun.wait(60)
    with pytest.raises(GivenUpError):
        pool.ask(b"x" * (LARGE_BYTES + 1), 60, given_up)
    assert parsers[0].asked == 0
    with pytest.raises(GivenUpError):
        pool.ask(b"small", 60, given_up)
    assert parsers[0].asked == 1
    leave.set()
    large.join()


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("unwanted", [_LENGTH.pack(-1), _LENGTH.pack(3) + b"old"])
def test_worker_that_gives_a_source_up_says_so_and_gets_the_next_answer(
    ends: tuple[socket.socket, socket.socket], unwanted: bytes
) -> None:
    ours, theirs = ends

    def serve() -> None:
        for request in (b"first", b"second"):
            assert theirs.recv(_HEAD.size + len(request), socket.MSG_WAITALL)[_HEAD.size :] == request
            if request == b"first":
                assert _HEAD.unpack(theirs.recv(_HEAD.size, socket.MSG_WAITALL))[0] == 0
            theirs.sendall(unwanted if request == b"first" else _LENGTH.pack(3) + b"new")

    server = threading.Thread(target=serve)
    server.start()
    asker = Asker(ours)
    with pytest.raises(GivenUpError):
        asker.ask(b"first", 60, given_up)
    assert asker.ask(b"second", 60, lambda: None) == b"new"
    server.join()
