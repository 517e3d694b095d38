"""The command line as people use it: real guests, and real processes where a process is what is tested."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hatchway.commanding import Command


def hatchway(*words: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hatchway.cli", *words], input=stdin, capture_output=True, text=True, cwd=cwd, timeout=120
    )


def test_run_prints_what_the_program_prints() -> None:
    done = hatchway("run", "-c", "import pandas as pd; print(pd.Series([1,2,3]).sum())")
    assert (done.stdout, done.stderr, done.returncode) == ("6\n", "", 0)


def test_run_prints_the_result_of_the_last_expression(command: Command) -> None:
    assert command("run", "-c", "[1, 'é']").stdout == '[1,"é"]\n'
    assert command("run", "-c", "'plain text'").stdout == "plain text\n"


def test_run_speaks_shell(command: Command) -> None:
    assert command("run", "-c", "echo hi | tr a-z A-Z", "--language", "shell").stdout == "HI\n"


def test_run_tells_the_language_from_the_file(command: Command, tmp_path: Path) -> None:
    program = tmp_path / "app.ts"
    program.write_text("const twice = (x: number): number => x * 2;\nconsole.log(twice(21));\n")
    assert command("run", str(program)).stdout == "42\n"
    program = tmp_path / "app.py"
    program.write_text("raise SystemExit(3)\n")
    assert command("run", str(program)).returncode == 3


def test_run_gives_standard_input_to_the_program() -> None:
    assert hatchway("run", "-c", "print(input()[::-1])", stdin="abc\n").stdout == "cba\n"


def test_run_reads_the_program_from_standard_input() -> None:
    assert hatchway("run", "-", stdin="print('from stdin')").stdout == "from stdin\n"


def test_run_copies_files_in_and_out(command: Command, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("data")
    code = "open('out.txt', 'w').write(open('in.txt').read().upper())"
    done = command("run", "-c", code, "--file", "in.txt", "--get", "out.txt", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "out.txt").read_text() == "DATA"


def test_run_saves_displays(command: Command, tmp_path: Path) -> None:
    command("run", "-c", "import matplotlib.pyplot as plt; plt.plot([1, 2])", "--displays", str(tmp_path))
    assert (tmp_path / "display-1.png").read_bytes().startswith(b"\x89PNG")


def test_run_json_is_the_whole_result(command: Command) -> None:
    done = command("run", "-c", "print('a'); x * 2", "--input", "x=21", "--json")
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
        (["-c", "1", "word"], 2, "stands behind --"),
    ],
)
def test_run_says_what_went_wrong(command: Command, words: list[str], status: int, said: str) -> None:
    done = command("run", *words)
    assert said in done.stderr
    assert "Traceback" not in done.stderr or "ZeroDivisionError" in said
    assert "hatchway/" not in done.stderr
    assert done.returncode == status


def test_invalid_utf8_in_a_program_is_refused(command: Command, tmp_path: Path) -> None:
    program = tmp_path / "bad.py"
    program.write_bytes(b"x = '\xff'")
    done = command("run", str(program))
    assert "INVALID_ARGUMENT" in done.stderr and "byte 5" in done.stderr
    assert done.returncode == 1


def test_doctor_finds_every_guest_compiled(command: Command) -> None:
    findings = {finding["what"]: finding for finding in json.loads(command("doctor", "--json").stdout)}
    for guest in ("python guest", "javascript guest", "shell guest"):
        assert findings[guest]["state"] == "good"


def test_nothing_is_coloured_when_it_is_not_a_terminal() -> None:
    done = hatchway("run", "-c", "oops")
    assert "\x1b" not in done.stdout + done.stderr


def test_completion_knows_every_command_and_option(command: Command) -> None:
    for shell in ("bash", "zsh", "fish"):
        text = command("completion", shell).stdout
        for word in ("run", "doctor", "images", "--timeout-ms", "--json", "serve", "--database-url", "remote", "mcp", "audit"):
            assert word in text, f"{word} is missing for {shell}"


COMPLETED = {
    "": ("run remote policy bench", "README.md"),
    "re": ("remote", "run"),
    "policy ": ("check explain lsp", "README.md run"),
    "policy check --": ("--sarif --catalog", "--timeout-ms"),
    "policy check R": ("README.md", ""),
    "bench --c": ("--compare", "--catalog"),
    "remote to": ("tokens", "tenants"),
    "remote --json tokens ": ("list create revoke --tenant", "README.md run"),
    "remote --url http://x policy deploy --": ("--shadow --main --tenant", "--role"),
    "remote run --": ("--session --timeout-ms --input", "--shadow"),
    "remote tokens create ci --role ": ("runner admin", "--user README.md"),
    "remote decide a ": ("approve reject_always", "--collect"),
    "snapshot save --": ("--label", "--shadow"),
}
"""What bash offers after these words, and what it does not."""
COMPLETING = """
. ./script
while IFS= read -r line; do
  read -ra typed <<< "$line"
  [ "$line" = "${line% }" ] || typed+=("")
  COMP_WORDS=(hatchway "${typed[@]}") COMP_CWORD=${#typed[@]}
  _hatchway
  echo "${COMPREPLY[*]}"
done
"""


def test_completion_offers_what_fits_where_the_cursor_is(command: Command, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(command("completion", "bash").stdout)
    (tmp_path / "README.md").touch()
    lines = "".join(f"{typed or ' '}\n" for typed in COMPLETED)
    asking = ["bash", "--norc", "-c", COMPLETING]
    done = subprocess.run(asking, input=lines, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.stderr == ""
    for (typed, (offered, not_offered)), answer in zip(COMPLETED.items(), done.stdout.splitlines(), strict=True):
        words = set(answer.split())
        assert set(offered.split()) <= words and words.isdisjoint(not_offered.split()), f"{typed!r}: {answer}"


def test_every_command_is_in_the_readme_or_teaches_by_itself(command: Command) -> None:
    for name in ("run", "doctor", "images", "completion", "serve", "remote", "mcp", "audit", "hook"):
        done = command(name, "--help")
        assert done.returncode == 0 and "usage: hatchway" in done.stdout
