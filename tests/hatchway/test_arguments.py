"""Arguments of the wrong kind: `run` answers with INVALID_ARGUMENT, everything else raises it; nobody meets a TypeError."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

import hatchway
from hatchway import History, Keys, RequestError, Sandbox, replay
from sandbox.errors import Suspend
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.snapshots.recordings import Recording
from tests.conftest import NewBox

KEYS = Keys.of(bytes(range(32)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"env": 5}, "env must be a mapping of names to values, not int"),
        ({"env": [1]}, "env must be a mapping of names to values, not list"),
        ({"inputs": [1]}, "inputs must be a mapping of names to values, not list"),
        ({"cancel": 5}, "cancel must be Cancel or None, not int"),
        ({"on_output": 5}, "on_output must be a function, not int"),
        ({"stdin": 5}, "stdin must be text or bytes, not int"),
        ({"limits": 5}, "limits must be SessionLimits or a mapping of some of them, not int"),
        ({"limits": {"memory": 5}}, "unknown limit 'memory'"),
        ({"code": None}, "code must be text or UTF-8 bytes, not NoneType"),
    ],
)
def test_a_run_answers_what_is_wrong_with_its_arguments(box: Sandbox, options: dict[str, Any], said: str) -> None:
    result = box.run(**{"code": "1", **options})
    assert result.error is not None
    assert (result.error.code, result.error.message) == ("INVALID_ARGUMENT", said)


@pytest.fixture
def waiting(new_box: NewBox) -> Recording:
    def ask() -> None:
        raise Suspend("who says yes?")

    box = new_box(tools={"ask": ask, "price": lambda: 1}, record=True)
    box.run("price()\nask()")
    assert box.recording is not None
    return box.recording


REFUSED: dict[str, Callable[[Sandbox], object]] = {
    "tools": lambda box: Sandbox(tools=5),  # type: ignore[arg-type]
    "tools of numbers": lambda box: Sandbox(tools={"a": 5}),  # type: ignore[dict-item]
    "files": lambda box: Sandbox(files=5),  # type: ignore[arg-type]
    "files of text": lambda box: Sandbox(files=VfsLimits(total_bytes="x")),  # type: ignore[arg-type]
    "limits": lambda box: Sandbox(limits=5),  # type: ignore[arg-type]
    "history": lambda box: Sandbox(history="x"),  # type: ignore[arg-type]
    "progress": lambda box: Sandbox(progress=5),  # type: ignore[arg-type]
    "resume text": lambda box: Sandbox.resume("x"),  # type: ignore[arg-type]
    "resume nothing": lambda box: Sandbox.resume(None),  # type: ignore[arg-type]
    "restore text": lambda box: Sandbox.restore("x"),  # type: ignore[arg-type]
    "replay text": lambda box: replay("x"),  # type: ignore[arg-type]
    "snapshot keys": lambda box: box.snapshot(keys=b"k" * 32),  # type: ignore[arg-type]
    "snapshot label": lambda box: box.snapshot(keys=KEYS, label=5),  # type: ignore[arg-type]
    "snapshot tenant": lambda box: box.snapshot(keys=KEYS, tenant=5),  # type: ignore[arg-type]
    "key id": lambda box: Keys.of(b"k" * 32, 5),  # type: ignore[arg-type]
    "key of text": lambda box: Keys.of("k" * 32),  # type: ignore[arg-type]
    "key ring": lambda box: Keys("1", 5),  # type: ignore[arg-type]
    "history path": lambda box: History(5, KEYS),  # type: ignore[arg-type]
    "history keys": lambda box: History("/nowhere", b"k" * 32),  # type: ignore[arg-type]
    "path to write": lambda box: box.files.write_file(5, b""),  # type: ignore[arg-type]
    "path to read": lambda box: box.files.read_file(5),  # type: ignore[arg-type]
    "path to list": lambda box: box.files.list_dir(b"x"),  # type: ignore[arg-type]
    "mode": lambda box: box.files.write_file("s", b"", mode="x"),  # type: ignore[arg-type]
    "times": lambda box: box.files.utime("/workspace", "x", "y"),  # type: ignore[arg-type]
    "read-only": lambda box: box.files.set_readonly("s", "no"),  # type: ignore[arg-type]
    "data": lambda box: box.files.write_file("s", 5),  # type: ignore[arg-type]
    "text that is none": lambda box: box.files.write_file("s", "\ud800"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_argument_of_the_wrong_kind_is_refused_with_the_contracts_code(box: Sandbox, what: str) -> None:
    with pytest.raises(RequestError) as refused:
        REFUSED[what](box)
    assert refused.value.error.code == "INVALID_ARGUMENT"
    assert box.files.list_dir() == []


def test_an_answer_that_is_no_json_is_refused(waiting: Recording) -> None:
    (number,) = waiting.calls()
    attempts: list[Callable[[], object]] = [
        lambda: Sandbox.resume(waiting, answer=object()),
        lambda: replay(waiting, changes={number: object()}),
        lambda: replay(waiting, changes=[1]),  # type: ignore[arg-type]
    ]
    for attempt in attempts:
        with pytest.raises(RequestError) as refused:
            attempt()
        assert refused.value.error.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_sealed_data_may_be_any_kind_of_bytes(box: Sandbox, waiting: Recording, kind: Callable[[bytes], Any]) -> None:
    box.run("x = 41")
    with Sandbox.restore(kind(box.snapshot(keys=KEYS)), keys=KEYS) as restored:
        assert restored.run("x + 1").result == 42
    resumed, result = Sandbox.resume(kind(waiting.seal(KEYS)), keys=KEYS, answer=7)
    with resumed:
        assert result.result == 7


def test_files_are_written_from_text_and_bytes_under_texts_and_pure_paths(box: Sandbox) -> None:
    box.files.write_file(PurePosixPath("a/b.txt"), "grüße")
    box.files.write_file("a/c.bin", bytearray(b"\xff"))
    assert box.files.read_file("a/b.txt") == "grüße".encode()
    assert box.files.read_file(PurePosixPath("/workspace/a/c.bin")) == b"\xff"
    assert box.files.list_dir(PurePosixPath("a")) == ["b.txt", "c.bin"]
    box.files.remove(PurePosixPath("a"), recursive=True)
    assert not box.files.exists(PurePosixPath("a"))


def test_a_history_is_opened_by_a_path_as_text(tmp_path: Path) -> None:
    history = History(str(tmp_path / "new" / "history.db"), KEYS)
    with hatchway.Sandbox(history=history) as box:
        assert box.save("first") == history.find("first")
    history.close()


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "import sys\nsys.stdin.buffer.read().hex()"),
        ("shell", "od -An -tx1 | tr -d ' \\n'"),
    ],
)
def test_stdin_may_be_any_bytes(box: Sandbox, language: str, code: str) -> None:
    box.record = True
    data = b"\xff\xfe\x00gr\xc3\xbc\x80"
    result = box.run(code, language=language, stdin=data)
    assert data.hex() in (result.result, result.stdout)
    assert box.recording is not None
    again = replay(box.recording)
    again.session.close()
    assert (again.result.result, again.result.stdout) == (result.result, result.stdout)
