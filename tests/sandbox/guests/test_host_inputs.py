"""Standard input that is read when the program asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import hatchway
from sandbox.guests.host_inputs import Source
from sandbox.guests.tape import Tape
from sandbox.wire import Language, RunRequest
from tests.conftest import NewBox
from tests.sandbox.outcomes import code_of


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """To read from, and to write to."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_read_gives_what_is_there_and_leaves_the_rest(box: hatchway.Sandbox, pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"one\ntwo\n")
    assert box.run("import os\nos.read(0, 4).decode()", stdin=Source(pipe[0])).result == "one\n"
    assert os.read(pipe[0], 100) == b"two\n"


def test_a_read_of_nothing_waits_until_the_run_ends(box: hatchway.Sandbox, pipe: tuple[int, int]) -> None:
    box.run("x = 1")
    assert code_of(box.run("x = 2\ninput()", stdin=Source(pipe[0]), timeout_ms=100)) == "TIMEOUT_WALL"
    assert box.run("x").result == 1


def test_a_read_of_nothing_is_ended_by_a_cancel(box: hatchway.Sandbox, pipe: tuple[int, int]) -> None:
    def cancel(stream: int, data: bytes) -> None:
        box.cancel()

    assert code_of(box.run("print('begun', flush=True)\ninput()", stdin=Source(pipe[0]), on_output=cancel)) == "CANCELLED"


def test_a_source_that_cannot_be_read_is_an_error_the_program_sees(box: hatchway.Sandbox) -> None:
    folder = os.open("/", os.O_RDONLY)
    try:
        result = box.run("try: input()\nexcept OSError as error: said = error.strerror\nsaid", stdin=Source(folder))
    finally:
        os.close(folder)
    assert result.result == "Input/output error"


def test_what_one_run_left_is_not_given_to_one_without_input(box: hatchway.Sandbox, pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"a\nb\n")
    assert box.run("input()", stdin=Source(pipe[0])).result == "a"
    assert code_of(box.run("input()")) == "RUNTIME_ERROR"


def test_a_recorded_run_has_its_input_beforehand_and_is_replayed_with_it(new_box: NewBox) -> None:
    box = new_box(record=True)
    reading, writing = os.pipe()
    os.write(writing, b"a\nb\n")
    os.close(writing)
    try:
        assert box.run("[input(), input()]", stdin=Source(reading)).result == ["a", "b"]
    finally:
        os.close(reading)
    assert box.recording is not None and box.recording.journal.stdin == b"a\nb\n"
    played = hatchway.replay(box.recording)
    played.session.close()
    assert played.result.result == ["a", "b"]


def test_a_run_on_tape_with_a_source_is_refused(box: hatchway.Sandbox, pipe: tuple[int, int]) -> None:
    request = RunRequest(
        session_id="default", language=Language.PYTHON, code="1", inputs={}, return_snapshot=False, validate_only=False
    )
    assert code_of(box._session.run(request, tape=Tape(), source=Source(pipe[0]))) == "INVALID_ARGUMENT"
