"""`hatchway snapshot` and `hatchway template` on a command line, and the asynchronous verbs."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import hatchway
from hatchway.cli.entry import main
from sandbox.encoding.sealing import local_keys
from sandbox.engine.limits import Cancel
from sandbox.snapshots.history import History, default_path
from sandbox.snapshots.snapshot_format import Origin


@pytest.fixture(autouse=True)
def own_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setenv("HATCHWAY_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("HATCHWAY_HISTORY", str(tmp_path / "history.db"))


def run(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main(list(words)) == status
    said = capsys.readouterr()
    return said.out + said.err


def test_sessions_are_saved_listed_compared_and_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    shell = ("--language", "shell")
    first = run(capsys, "snapshot", "save", *shell, "-c", "x=1; echo a > f", "--label", "first").strip()
    second = run(capsys, "snapshot", "save", *shell, "-c", "x=2; y=1; echo b > g", "--from", "first", "--label", "second").strip()
    log = run(capsys, "snapshot", "log").splitlines()
    assert [line.split()[0] for line in log] == [second[:12], first[:12]]
    assert first[:12] in log[0] and log[0].endswith("second")
    difference = run(capsys, "snapshot", "diff", "first", second[:10])
    assert "+ file /workspace/g" in difference
    assert "~ shell variable x" in difference
    assert "+ shell variable y" in difference
    seen = run(capsys, "snapshot", "inspect", "second")
    assert second in seen and first in seen and "hatchway-snapshot version 2" in seen
    run(capsys, "snapshot", "rm", "first")
    assert "deleted" in run(capsys, "snapshot", "gc")
    assert run(capsys, "snapshot", "log").count("\n") == 1
    assert "no snapshot" in run(capsys, "snapshot", "inspect", "first", status=2)


def test_a_snapshot_file_is_inspected_and_started_from(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "x.snap")
    run(capsys, "snapshot", "save", "-l", "shell", "-c", "x=5", "-o", path)
    facts = json.loads(run(capsys, "snapshot", "inspect", path, "--json"))
    assert facts["language"] == "shell"
    assert facts["size"]["sealed"] == Path(path).stat().st_size
    run(capsys, "snapshot", "save", "-l", "shell", "-c", "echo x is $x", "--from", path, "--label", "next")
    assert "sealing with key 2" in run(capsys, "snapshot", "rotate-keys")
    assert "shell" in run(capsys, "snapshot", "inspect", path)
    Path(path).write_bytes(Path(path).read_bytes()[:-1])
    assert "cut off" in run(capsys, "snapshot", "inspect", path, status=2)


def test_inspecting_lists_files_and_sizes_of_what_is_in_the_history_and_in_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = "mkdir -p a/b; printf hello > a/b/c; printf 123 > /tmp/t; ln a/b/c twice; for i in $(seq 150); do : > e$i; done"
    run(capsys, "snapshot", "save", "-l", "shell", "-c", code, "--label", "kept")
    run(capsys, "snapshot", "save", "-l", "shell", "-c", "x=1", "--from", "kept", "--label", "child")
    path = str(tmp_path / "x.snap")
    run(capsys, "snapshot", "save", "-l", "shell", "-c", code, "-o", path)
    saved, child, filed = (json.loads(run(capsys, "snapshot", "inspect", name, "--json")) for name in ("kept", "child", path))
    for facts in (saved, child, filed):
        files = facts["largest files"]
        assert {"/workspace/a/b/c": 5, "/workspace/twice": 5, "/tmp/t": 3}.items() <= files.items()
        assert len(files) == 101 and files["53 more"] == 0
        assert facts["size"]["files"] == 8
        assert facts["size"]["shell memory"] == facts["guests"]["shell"]["pages"] * 4096
    sizes = child["size"]
    assert 0 < sizes["of these not in its parent"] < sizes["pages and files, stored"]
    assert saved["size"]["of these not in its parent"] == saved["size"]["pages and files, stored"]
    assert "/workspace/a/b/c" in run(capsys, "snapshot", "inspect", "kept")


def test_a_failed_program_is_not_saved(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "snapshot", "save", "-c", "1/0", status=1)
    assert run(capsys, "snapshot", "log") == ""


def test_a_run_is_recorded_and_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "run.rec")
    said = run(capsys, "snapshot", "record", "-l", "shell", "-c", "echo $RANDOM; date", "-o", path)
    replayed = run(capsys, "snapshot", "replay", path)
    assert said.splitlines()[0] in replayed
    assert "the same, bit for bit" in replayed
    assert "hatchway-recording" in run(capsys, "snapshot", "inspect", path)
    assert "no capability call" in run(capsys, "snapshot", "replay", path, "--answer", "0=1", status=2)


def test_a_program_is_saved_and_recorded_with_all_that_a_run_is_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "run.rec")
    (tmp_path / "data.txt").write_text("from a file")
    program = tmp_path / "app.py"
    program.write_text(
        "import sys\nheld = [input(), n, sys.argv[1:], open('data.txt').read(), sys.getrecursionlimit()]\nprint(held)"
    )
    given = (
        str(program),
        "--input",
        "n=21",
        "--file",
        str(tmp_path / "data.txt"),
        "--max-stack-depth",
        "111",
        "--",
        "--flag",
        "x",
    )
    held = "['typed', 21, ['--flag', 'x'], 'from a file'"
    for words in (("record", "-o", path), ("save", "--label", "held")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"typed\n")))
        assert held in run(capsys, "snapshot", *words, *given)
    replayed = run(capsys, "snapshot", "replay", path)
    assert held in replayed and "the same, bit for bit" in replayed
    assert held in run(capsys, "snapshot", "save", "-c", "print(held)", "--from", "held")


def test_standard_input_that_is_recorded_comes_from_a_pipe_too(tmp_path: Path) -> None:
    path = str(tmp_path / "run.rec")
    record = [sys.executable, "-m", "hatchway.cli", "snapshot", "record", "-c", "print(input())", "-o", path]
    assert subprocess.run(record, input=b"hello\n", capture_output=True, timeout=120, check=True).stdout == b"hello\n"
    replay = [sys.executable, "-m", "hatchway.cli", "snapshot", "replay", path]
    assert subprocess.run(replay, capture_output=True, timeout=120, check=True).stdout == b"hello\n"


@pytest.mark.parametrize(
    ("code", "status"), [("1/0", 1), ("import sys; sys.exit(3)", 3), ("while True: pass", 124), ("x = 1", 0)]
)
def test_a_program_that_is_saved_or_recorded_has_the_exit_status_it_has_when_it_is_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, code: str, status: int
) -> None:
    words = ("-c", code, "--timeout-ms", "300")
    run(capsys, "run", *words, status=status)
    run(capsys, "snapshot", "record", *words, "-o", str(tmp_path / "run.rec"), status=status)
    said = run(capsys, "snapshot", "save", *words, status=status)
    assert ("nothing was saved" in said) == bool(status)
    assert run(capsys, "snapshot", "log").count("\n") == (0 if status else 1)


def test_a_replay_of_a_run_that_was_ended_from_outside_says_what_was_compared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = str(tmp_path / "run.rec")
    run(capsys, "snapshot", "record", "-c", "while True: pass", "--timeout-ms", "200", "-o", path, status=124)
    said = run(capsys, "snapshot", "replay", path)
    assert "bit for bit" not in said
    assert (
        "the recorded run ended with TIMEOUT_WALL (the run took longer than 200 ms (limits.wall_ms is 200); the run was undone"
        in said
    )
    assert all(line.count("limits.wall_ms is") <= 1 for line in said.splitlines())
    assert "memory and files are the same, output and end were not compared" in said


def test_a_run_that_was_cancelled_is_told_as_recorded_whatever_ends_its_replay(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cancel = Cancel()
    with hatchway.Sandbox(record=True, limits={"wall_ms": 1000}) as box:
        box.run("print('begun', flush=True)\nwhile True: pass", cancel=cancel, on_output=lambda stream, data: cancel.ask())
        assert box.recording is not None and box.recording.ending.code == "CANCELLED"
        (tmp_path / "run.rec").write_bytes(box.recording.seal())
    assert "the recorded run ended with CANCELLED" in run(capsys, "snapshot", "replay", str(tmp_path / "run.rec"))


def test_what_if_an_answer_of_a_call_had_been_another(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The example of docs/snapshots.md."""
    with hatchway.Sandbox(record=True, tools={"ask": lambda question: "yes"}) as box:
        box.run("answer = ask('may I?')\nprint('the answer was', answer)")
        assert box.recording is not None
        (tmp_path / "run.rec").write_bytes(box.recording.seal())
    path = str(tmp_path / "run.rec")
    shown = run(capsys, "snapshot", "inspect", path)
    assert "0  ask(['may I?'], {}) -> {'value': 'yes'}" in shown
    said = run(capsys, "snapshot", "replay", path, "--answer", '0="no"')
    assert "the answer was no" in said and "what would have happened" in said


@pytest.mark.parametrize("label", ["two\nlines", "\x1b[31mred", "x" * 201])
def test_a_label_that_is_no_short_line_is_refused(capsys: pytest.CaptureFixture[str], label: str) -> None:
    assert "a label is one line" in run(capsys, "snapshot", "save", "-l", "shell", "-c", ":", "--label", label, status=2)
    with hatchway.Sandbox(language="shell") as box, pytest.raises(hatchway.RequestError, match="a label is one line"):
        box.snapshot(label=label)


def test_a_label_that_somebody_else_gave_does_not_reach_the_terminal_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with hatchway.Sandbox(language="shell") as box:
        history = History(default_path(), local_keys())
        history.save(box._session.freeze(), Origin(label="\x1b[31mred\nsecond line"))
        history.close()
    said = run(capsys, "snapshot", "log")
    assert said.count("\n") == 1 and said.rstrip().endswith("\\x1b[31mred\\nsecond line")


def test_a_snapshot_of_a_history_is_restored_in_python(tmp_path: Path) -> None:
    """The example of docs/snapshots.md."""
    history = hatchway.History(tmp_path / "h.db", local_keys())
    with hatchway.Sandbox(language="shell", history=history) as box:
        box.run("x=5")
        box.save("start")
    with hatchway.Sandbox.restore(history.export(history.find("start"))) as again:
        assert again.run("echo $x").stdout == "5\n"
    history.close()


def test_a_setup_that_never_ends_is_ended(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("template", "build", "test-of-patience", "-l", "shell", "-c", "while :; do :; done")
    assert "longer than 200 ms" in run(capsys, *words, "--timeout-ms", "200", status=1)


def test_a_template_is_built_used_listed_and_removed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    setup = tmp_path / "setup.sh"
    setup.write_text("greet() { echo $(cat data/word) $1; }\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "word").write_text("hello")
    given = ("--setup", str(setup), "--file", str(tmp_path / "data"))
    try:
        assert "is ready" in run(capsys, "template", "build", "test-of-the-command", *given)
        assert "hello you" in run(capsys, "run", "--template", "test-of-the-command", "-c", "greet you")
        assert "test-of-the-command" in run(capsys, "template", "list")
    finally:
        run(capsys, "template", "rm", "test-of-the-command")
    assert "no template" in run(capsys, "template", "rm", "test-of-the-command", status=2)


def test_a_setup_that_fails_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the setup failed" in run(capsys, "template", "build", "test-of-failure", "-l", "shell", "-c", "exit 3", status=1)


def test_the_asynchronous_verbs_fork_snapshot_and_restore() -> None:
    async def scenario() -> list[str]:
        keys = hatchway.Keys.of(bytes(32))
        async with hatchway.AsyncSandbox(language="shell") as box:
            await box.run("x=1")
            async with await box.fork() as child:
                await child.run("x=2")
                blob = await child.snapshot(keys=keys)
            async with await hatchway.AsyncSandbox.restore(blob, keys=keys) as again:
                return [(await one.run("echo $x")).stdout for one in (box, again)]

    assert asyncio.run(scenario()) == ["1\n", "2\n"]
