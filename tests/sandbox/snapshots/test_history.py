"""History: snapshots as a graph, their differences, and what may be forgotten."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hatchway
from sandbox.encoding.sealing import Keys
from sandbox.errors import RequestError, SandboxError
from sandbox.sessions.session import Session
from sandbox.snapshots.diff import diff
from sandbox.snapshots.history import History
from sandbox.snapshots.snapshot_format import Origin
from sandbox.wire import Language
from tests.conftest import NewBox

KEYS = Keys.of(bytes(range(32)))


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    found = History(tmp_path / "history.db", KEYS)
    yield found
    found.close()


def save(history: History, box: hatchway.Sandbox, label: str = "", parent: str | None = None) -> str:
    return history.save(box._session.freeze(), Origin(label=label, parent=parent))


def run_from(history: History, snapshot_id: str, code: str) -> str:
    state = history.thaw(snapshot_id)
    box = hatchway.Sandbox._around(Session(language=state.language, state=state), None)
    with box:
        return box.run(code).stdout


def test_snapshots_form_a_graph_with_labels_and_can_be_gone_back_to(history: History, new_box: NewBox) -> None:
    box = new_box(language="shell")
    box.run("x=1; echo one > f")
    first = save(history, box, "first")
    box.run("x=2; echo two > f")
    second = save(history, box, "second", first)
    with hatchway.Sandbox._around(Session(language=Language.SHELL, state=history.thaw(first)), None) as other:
        other.run("x=3")
        third = save(history, other, "branch", first)
    assert [(entry.label, entry.parent) for entry in history.log()] == [("branch", first), ("second", first), ("first", None)]
    assert history.ancestry(second) == [second, first]
    assert history.ancestry(third) == [third, first]
    assert run_from(history, first, "echo $x; cat f") == "1\none\n"
    assert run_from(history, second, "echo $x; cat f") == "2\ntwo\n"
    assert run_from(history, third, "echo $x; cat f") == "3\none\n"


def test_a_snapshot_is_found_by_label_and_by_the_beginning_of_its_id(history: History, new_box: NewBox) -> None:
    box = new_box(language="shell")
    snapshot_id = save(history, box, "start")
    assert history.find("start") == snapshot_id
    assert history.find(snapshot_id[:10]) == snapshot_id
    with pytest.raises(RequestError, match="no snapshot"):
        history.find("absent")


def test_shared_pages_are_stored_once(history: History, new_box: NewBox, tmp_path: Path) -> None:
    box = new_box(language="javascript")
    box.run("var big = Array.from({length: 30000}, (_, i) => 'item ' + i)")
    first = save(history, box)
    before = (tmp_path / "history.db").stat().st_size + (tmp_path / "history.db-wal").stat().st_size
    for number in range(5):
        box.run(f"var n = {number}")
        first = save(history, box, parent=first)
    entries = history.log()
    assert entries[-1].own_bytes > 10 * entries[0].own_bytes
    assert (tmp_path / "history.db").stat().st_size < 3 * before


def test_collecting_never_drops_what_a_snapshot_needs(history: History, new_box: NewBox) -> None:
    box = new_box(language="javascript")
    kept = []
    for number in range(6):
        box.run(f"var v{number} = 'x'.repeat(50000) + {number}")
        kept.append(save(history, box, str(number), kept[-1] if kept else None))
    for gone in (kept[0], kept[2], kept[4]):
        assert history.remove(gone)
    count, freed = history.collect()
    assert count > 0
    assert freed > 0
    for left in (kept[1], kept[3], kept[5]):
        assert history.load(left).id == left
    assert history.collect() == (0, 0)
    with pytest.raises(RequestError):
        history.load(kept[0])
    for left in (kept[1], kept[3], kept[5]):
        history.remove(left)
    history.collect()
    assert history.log() == []
    assert history._database.execute("SELECT count(*) FROM chunks").fetchone() == (0,)


def test_a_snapshot_moves_to_another_history_whole_or_as_a_difference(history: History, new_box: NewBox, tmp_path: Path) -> None:
    box = new_box(language="javascript")
    box.run("var big = Array.from({length: 20000}, (_, i) => 'item ' + i)")
    first = save(history, box)
    box.run("var more = 1")
    second = save(history, box, parent=first)
    difference = history.export(second, base=first)
    assert len(difference) < len(history.export(second)) / 2
    other = History(tmp_path / "other.db", KEYS)
    with pytest.raises(RequestError) as refused:
        other.add(difference)
    assert refused.value.error.code == "SNAPSHOT_CORRUPT"
    assert other.log() == []
    assert other.add(history.export(first)) == first
    assert other.add(difference) == second
    assert other.load(second).pages == history.load(second).pages


def test_another_tenants_history_cannot_be_read(history: History, new_box: NewBox, tmp_path: Path) -> None:
    snapshot_id = save(history, new_box(language="shell"))
    other = History(tmp_path / "history.db", KEYS, tenant="other")
    with pytest.raises(RequestError) as refused:
        other.load(snapshot_id)
    assert refused.value.error.code == "SNAPSHOT_CORRUPT"


def test_nothing_of_a_session_stands_readable_in_the_file(history: History, new_box: NewBox, tmp_path: Path) -> None:
    box = new_box(language="javascript")
    box.run("var canary = 'canary-in-the-mine-77'")
    box.files.write_file("f", b"canary-in-the-mine-77")
    save(history, box)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"canary-in-the-mine" not in stored


def test_a_page_that_was_exchanged_or_lost_is_noticed(history: History, new_box: NewBox, tmp_path: Path) -> None:
    box = new_box(language="shell")
    box.run("x=1")
    snapshot_id = save(history, box)
    with sqlite3.connect(tmp_path / "history.db") as direct:
        rows = direct.execute("SELECT digest, data FROM chunks LIMIT 2").fetchall()
        direct.execute("UPDATE chunks SET data = ? WHERE digest = ?", (rows[1][1], rows[0][0]))
    with pytest.raises(RequestError) as refused:
        history.load(snapshot_id)
    assert refused.value.error.code == "SNAPSHOT_CORRUPT"
    with sqlite3.connect(tmp_path / "history.db") as direct:
        direct.execute("DELETE FROM chunks")
    with pytest.raises(RequestError, match="lacks a page"):
        history.load(snapshot_id)


def test_a_file_that_is_no_history_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(os.urandom(5000))
    with pytest.raises(SandboxError):
        History(path, KEYS)


KILLED = """
import os, signal, sys
from pathlib import Path
import hatchway
from sandbox.snapshots.history import History
from sandbox.encoding.sealing import Keys
from sandbox.snapshots.snapshot_format import Origin
history = History(Path(sys.argv[1]), Keys.of(bytes(range(32))))
box = hatchway.Sandbox(language="shell")
box.run("x=1")
print(history.save(box._session.freeze(), Origin(label="acknowledged")), flush=True)
history._database.execute("BEGIN IMMEDIATE")
history._database.execute("DELETE FROM chunks")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_acknowledged_snapshot_survives_a_process_killed_in_the_middle_of_a_write(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    root = Path(hatchway.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], cwd=root, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    history = History(path, KEYS)
    assert run_from(history, done.stdout.decode().strip(), "echo $x") == "1\n"


def test_a_sandbox_with_a_history_saves_itself_and_its_forks_branch_off(history: History, new_box: NewBox) -> None:
    box = new_box(language="shell", history=history)
    first = box.run("x=1", return_snapshot=True).snapshot_id
    assert first is not None
    with box.fork() as child:
        child.run("x=2")
        branch = child.save("branch")
    second = box.run("x=3", return_snapshot=True).snapshot_id
    assert second is not None
    assert history.ancestry(branch) == [branch, first]
    assert history.ancestry(second) == [second, first]
    assert run_from(history, branch, "echo $x") == "2\n"
    assert box.run("exit 1; oops (", return_snapshot=True).snapshot_id is None


def test_a_snapshot_without_a_history_to_keep_it_is_refused(new_box: NewBox) -> None:
    done = new_box(language="shell").run("x=1", return_snapshot=True)
    assert done.error is not None
    assert done.error.code == "INVALID_ARGUMENT"


# --- differences ----------------------------------------------------------------------------------------------------------


def test_diff_tells_files_variables_and_pages_in_all_languages(history: History, new_box: NewBox) -> None:
    box = new_box()
    box.run("kept = 1\nx = 1\ngone = [1]\ndef f(): return 1\ndef g():\n    yield 1\n    yield 2\nit = g()")
    box.run("const kept = {a: 1}; let y = {x: 1}; function h() { return 1 }", language="javascript")
    box.run("kept=1; z=1; k() { echo 1; }; echo a > same; echo b > other; echo c > gone", language="shell")
    old = save(history, box)
    box.run("x = 2\nnew = {}\ndel gone\ndef f(): return 2\nnext(it)")
    box.run("y.x = 2; let fresh = 1; h = () => 2", language="javascript")
    box.run("z=2; m=1; k() { echo 2; }; echo bb > other; rm gone; mkdir dir", language="shell")
    found = diff(history.load(old), history.load(save(history, box, parent=old)))
    assert (found.files.added, found.files.removed, found.files.changed) == (
        ["/workspace/dir"],
        ["/workspace/gone"],
        ["/workspace/other"],
    )
    python, javascript, shell = (found.variables[name] for name in ("python", "javascript", "shell"))
    assert (python.added, python.removed, python.changed) == (["new"], ["gone"], ["f", "it", "x"])
    assert (javascript.added, javascript.removed, javascript.changed) == (["fresh"], [], ["h", "y"])
    assert "m" in shell.added
    assert {"z", "k()"} <= set(shell.changed)
    assert all(count > 0 for count in found.pages.values())


def test_a_snapshot_does_not_differ_from_itself(history: History, new_box: NewBox) -> None:
    box = new_box()
    box.run("x = object()")
    snapshot = history.load(save(history, box))
    found = diff(snapshot, snapshot)
    assert not found.files
    assert found.pages == {"python": 0}
    assert found.variables == {}
