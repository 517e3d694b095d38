"""`hatchway snapshot` and `hatchway template` on a command line, and the asynchronous verbs."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest

import hatchway
from hatchway.cli import main


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


def test_a_template_is_built_used_listed_and_removed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    setup = tmp_path / "setup.sh"
    setup.write_text("greet() { echo hello $1; }\n")
    try:
        assert "is ready" in run(capsys, "template", "build", "test-of-the-command", "--setup", str(setup))
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
