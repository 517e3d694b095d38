"""The command line as people use it: real processes, real guests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def hatchway(*words: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hatchway.cli", *words], input=stdin, capture_output=True, text=True, cwd=cwd, timeout=120
    )


def test_run_prints_what_the_program_prints() -> None:
    done = hatchway("run", "-c", "import pandas as pd; print(pd.Series([1,2,3]).sum())")
    assert (done.stdout, done.stderr, done.returncode) == ("6\n", "", 0)


def test_run_prints_the_result_of_the_last_expression() -> None:
    assert hatchway("run", "-c", "[1, 'é']").stdout == '[1,"é"]\n'
    assert hatchway("run", "-c", "'plain text'").stdout == "plain text\n"


def test_run_speaks_shell() -> None:
    assert hatchway("run", "-c", "echo hi | tr a-z A-Z", "--language", "shell").stdout == "HI\n"


def test_run_tells_the_language_from_the_file(tmp_path: Path) -> None:
    program = tmp_path / "app.ts"
    program.write_text("const twice = (x: number): number => x * 2;\nconsole.log(twice(21));\n")
    assert hatchway("run", str(program)).stdout == "42\n"
    program = tmp_path / "app.py"
    program.write_text("raise SystemExit(3)\n")
    assert hatchway("run", str(program)).returncode == 3


def test_run_gives_standard_input_to_the_program() -> None:
    assert hatchway("run", "-c", "print(input()[::-1])", stdin="abc\n").stdout == "cba\n"


def test_run_reads_the_program_from_standard_input() -> None:
    assert hatchway("run", "-", stdin="print('from stdin')").stdout == "from stdin\n"


def test_run_copies_files_in_and_out(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("data")
    code = "open('out.txt', 'w').write(open('in.txt').read().upper())"
    done = hatchway("run", "-c", code, "--file", "in.txt", "--get", "out.txt", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "out.txt").read_text() == "DATA"


def test_run_saves_displays(tmp_path: Path) -> None:
    hatchway("run", "-c", "import matplotlib.pyplot as plt; plt.plot([1, 2])", "--displays", str(tmp_path))
    assert (tmp_path / "display-1.png").read_bytes().startswith(b"\x89PNG")


def test_run_json_is_the_whole_result() -> None:
    done = hatchway("run", "-c", "print('a'); x * 2", "--input", "x=21", "--json")
    result = json.loads(done.stdout)
    assert (result["status"], result["result"], result["stdout"]) == ("ok", 42, "a\n")
    assert result["metrics"]["external_calls_count"] == 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["-c", "1/0"], 1, "ZeroDivisionError"),
        (["-c", "while True: pass", "--timeout-ms", "50"], 124, "TIMEOUT_WALL"),
        (["-c", "x = ' ' * 10**9", "--memory-mb", "1"], 137, "MEMORY_EXCEEDED"),
        (["-c", "x = (", "--check"], 1, "SYNTAX_ERROR"),
        (["-c", "1", "--language", "cobol"], 2, "'cobol' is not known"),
        (["-c", "1", "--input", "x"], 2, "has no value"),
        (["-c", "1", "--cpu-ms", "0"], 2, "limits.cpu_ms"),
        (["-c", "1", "--file", "/does/not/exist"], 2, "cannot copy"),
        (["nowhere.py"], 2, "cannot read nowhere.py"),
        (["README"], 2, "cannot tell the language"),
        ([], 2, "give a FILE or -c CODE"),
    ],
)
def test_run_says_what_went_wrong(words: list[str], status: int, said: str) -> None:
    done = hatchway("run", *words)
    assert said in done.stderr
    assert "Traceback" not in done.stderr or "ZeroDivisionError" in said
    assert "hatchway/" not in done.stderr
    assert done.returncode == status


def test_invalid_utf8_in_a_program_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "bad.py"
    program.write_bytes(b"x = '\xff'")
    done = hatchway("run", str(program))
    assert "INVALID_ARGUMENT" in done.stderr and "byte 5" in done.stderr
    assert done.returncode == 1


def test_doctor_finds_every_guest_compiled() -> None:
    findings = {finding["what"]: finding for finding in json.loads(hatchway("doctor", "--json").stdout)}
    for guest in ("python guest", "javascript guest", "shell guest"):
        assert findings[guest]["state"] == "good"


def test_nothing_is_coloured_when_it_is_not_a_terminal() -> None:
    done = hatchway("run", "-c", "oops")
    assert "\x1b" not in done.stdout + done.stderr


def test_completion_knows_every_command_and_option() -> None:
    for shell in ("bash", "zsh", "fish"):
        text = hatchway("completion", shell).stdout
        for word in ("run", "doctor", "images", "--timeout-ms", "--json", "serve", "--database-url", "remote", "mcp", "audit"):
            assert word in text, f"{word} is missing for {shell}"


def test_every_command_is_in_the_readme_or_teaches_by_itself() -> None:
    for command in ("run", "doctor", "images", "completion", "serve", "remote", "mcp", "audit", "hook"):
        done = hatchway(command, "--help")
        assert done.returncode == 0 and "usage: hatchway" in done.stdout
