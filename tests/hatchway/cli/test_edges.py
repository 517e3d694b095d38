"""The command line where things are odd: full disks, other encodings, binary input, arguments, refusals as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hatchway.cli.entry import main
from tests.hatchway.commanding import Command


def hatchway(
    *words: str, stdin: bytes = b"", cwd: Path | None = None, stdout: str | None = None, **env: str
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "hatchway.cli", *words]
    environment = {**os.environ, **env}
    if stdout is None:
        return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, timeout=120, env=environment)
    with open(stdout, "wb") as target:
        pipe = subprocess.PIPE
        return subprocess.run(command, input=stdin, stdout=target, stderr=pipe, cwd=cwd, timeout=120, env=environment)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "-c", "1", "--displays", "/proc/nope"), "displays cannot be saved in /proc/nope"),
        (("snapshot", "save", "-c", "1", "-o", "/nonexistent/x.snap"), "cannot write /nonexistent/x.snap"),
        (("snapshot", "record", "-c", "1", "-o", "/nonexistent/x.rec"), "cannot write /nonexistent/x.rec"),
        (("run", "."), ". is a directory"),
    ],
)
def test_a_place_that_cannot_be_used_is_said_in_one_line(command: Command, words: tuple[str, ...], said: str) -> None:
    done = command(*words)
    first, *hint = done.stderr.splitlines()
    assert said in first and len(hint) <= 1
    assert done.returncode == 2


@pytest.mark.parametrize("code", ["print(5)", "'a result'"])
def test_a_full_disk_under_stdout_is_said_in_one_line(code: str) -> None:
    done = hatchway("run", "-c", code, stdout="/dev/full")
    assert done.stderr.decode().splitlines() == ["error: cannot read or write: No space left on device"]
    assert done.returncode == 1


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_result_is_written_in_utf8_whatever_the_terminals_encoding(more: tuple[str, ...]) -> None:
    done = hatchway("run", "-c", "'grüße'", *more, PYTHONIOENCODING="ascii")
    assert "grüße".encode() in done.stdout and done.returncode == 0


def test_binary_standard_input_arrives_byte_for_byte() -> None:
    done = hatchway("run", "-c", "import sys; sys.stdin.buffer.read().hex()", stdin=bytes(range(256)))
    assert done.stdout.decode().strip() == bytes(range(256)).hex()


def test_a_file_that_cannot_be_fetched_makes_the_command_fail(command: Command, tmp_path: Path) -> None:
    done = command("run", "-c", "1", "--get", "nope.txt", cwd=tmp_path)
    assert "cannot copy nope.txt" in done.stderr and done.stdout == "1\n" and done.returncode == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("-c", "1", "-l", "ruby"), "UNSUPPORTED_FEATURE"),
        (("nowhere.py",), "INVALID_ARGUMENT"),
        (("-c", "1", "--timeout-ms", "0"), "INVALID_ARGUMENT"),
    ],
)
def test_a_refused_run_is_json_if_json_was_asked_for(command: Command, words: tuple[str, ...], code: str) -> None:
    done = command("run", "--json", *words)
    result = json.loads(done.stdout)
    assert (result["status"], result["error"]["code"]) == ("validation_error", code)
    assert (done.stderr, done.returncode) == ("", 2)


PROGRAMS = {
    "main.py": "import sys\nprint(sys.argv[1:], len(sys.argv))",
    "main.js": "console.log(JSON.stringify(process.argv.slice(2)), process.argv.length - 1)",
    "main.cjs": "console.log(JSON.stringify(process.argv.slice(2)), process.argv.length - 1)",
    "main.cts": "const words: string[] = process.argv.slice(2)\nconsole.log(JSON.stringify(words), words.length + 1)",
    "main.sh": 'for word in "$@"; do printf "%s," "$word"; done; echo $(($# + 1))',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_finds_its_arguments_whatever_stands_in_them(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(PROGRAMS[name])
    words = ["two words", "it's $HOME `x`", "--json", ""]
    done = command("run", name, "--timeout-ms", "20000", "--", *words, cwd=tmp_path)
    listed = {"py": f"{words}", "sh": ",".join(words) + ","}.get(
        name.rpartition(".")[2], json.dumps(words, separators=(",", ":"))
    )
    assert done.stdout.replace(" 5\n", "5\n") == f"{listed}5\n", done.stderr
    plain = command("run", name, "one", cwd=tmp_path)
    assert "one" in plain.stdout and "2" in plain.stdout


def test_code_on_the_command_line_has_arguments_too(command: Command) -> None:
    assert command("run", "-c", "import sys; sys.argv", "--", "a").stdout == '["-c","a"]\n'


def test_without_the_benches_the_bench_command_says_where_it_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "benches", None)
    monkeypatch.delitem(sys.modules, "benches.__main__", raising=False)
    assert main(["bench"]) == 2
    assert "hint: run it in a checkout of Hatchway" in capsys.readouterr().err
    assert main(["completion", "bash"]) == 0
