"""A program on a command line: its standard input as it comes, its own name and file, its folders, its lines of output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hatchway import Display
from hatchway.cli.entry import main
from hatchway.cli.run import count_unseen
from tests.hatchway.commanding import Command


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command with a pipe as its standard input that stays open until the test closes it."""
    command = [sys.executable, "-m", "hatchway.cli", "run", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    assert process.stdout is not None
    return process.wait(60), process.stdout.read()


def say(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


@pytest.mark.parametrize(("language", "code"), [("python", "print(1)"), ("javascript", "console.log(1)"), ("shell", "echo 1")])
def test_a_program_that_reads_nothing_does_not_wait_for_the_end_of_its_input(language: str, code: str) -> None:
    with running("-l", language, "-c", code) as process:
        assert told(process) == (0, b"1\n")


def test_a_program_that_reads_nothing_leaves_its_input_to_whoever_reads_next(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("one\ntwo\n")
    with open(tmp_path / "list", "rb") as lines:
        command = [sys.executable, "-m", "hatchway.cli", "run", "-c", "print(1)"]
        subprocess.run(command, stdin=lines, check=True, timeout=60, capture_output=True)
        assert os.lseek(lines.fileno(), 0, os.SEEK_CUR) == 0


def test_input_reaches_the_program_as_it_comes() -> None:
    with running("-c", "for _ in range(2): print('got', input(), flush=True)", "--timeout-ms", "60000") as process:
        assert process.stdin is not None and process.stdout is not None
        say(process, b"one\n")
        assert process.stdout.readline() == b"got one\n"
        say(process, b"two\n")
        assert told(process) == (0, b"got two\n")


def test_a_program_that_waits_for_input_is_ended_by_its_wall_clock() -> None:
    with running("-c", "input()", "--timeout-ms", "200") as process:
        assert told(process)[0] == 124


def test_a_program_that_waits_for_input_is_ended_by_ctrl_c() -> None:
    with running("-c", "print('waiting', flush=True); input()", "--timeout-ms", "60000") as process:
        assert process.stdout is not None and process.stdout.readline() == b"waiting\n"
        process.send_signal(signal.SIGINT)
        assert told(process)[0] == 130


def run(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(["run", *words]) == status
    said = capsys.readouterr()
    return said.out, said.err


@pytest.fixture(autouse=True)
def nobody_types(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("app.py", "import sys\nprint(sys.argv, open(__file__).readline().strip())", "['app.py'] import sys\n"),
        ("app.js", "console.log(process.argv[1], require('fs').readFileSync('app.js', 'utf8').length)", "app.js 81\n"),
        ("app.sh", "echo $#; head -c 4 app.sh", "0\necho"),
    ],
)
def test_a_program_finds_its_name_and_its_own_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, code: str, said: str
) -> None:
    (tmp_path / name).write_text(code)
    assert run(capsys, str(tmp_path / name)) == (said, "")


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("csv.py", 'import sys\nsys.stdout.write("a,b\\n1,2\\n")', "a,b\n1,2\n"),
        ("set.py", "print('done')\nset()", "done\n"),
        ("own.py", "result = [1]\n5", "[1]\n"),
        ("map.js", "console.log('done')\nnew Map()", "done\n"),
        ("own.ts", "globalThis.result = [1] as number[]; 5 // no newline", "[1]\n"),
    ],
)
def test_the_last_expression_of_a_file_is_no_result(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, code: str, said: str
) -> None:
    (tmp_path / name).write_text(code)
    assert run(capsys, str(tmp_path / name)) == (said, "")


def test_whoever_asks_for_json_gets_the_last_expression_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x + 1")
    out, _ = run(capsys, str(tmp_path / "app.py"), "--input", "x=4", "--json")
    assert '"result":5' in out


def test_a_mistake_at_the_end_of_a_file_is_shown_where_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("if 1:\n")
    out, said = run(capsys, str(tmp_path / "app.py"), status=1)
    assert out == "" and "line 1" in said and "pass" not in said


@pytest.mark.parametrize(("code", "status"), [("print(1); 5", 0), ("print(1); 1 / 0", 1)])
def test_output_that_nobody_takes_is_left_out(monkeypatch: pytest.MonkeyPatch, code: str, status: int) -> None:
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    assert main(["run", "-c", code]) == status


def test_a_file_that_is_copied_in_stands_in_the_programs_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("print(open('app.py').read())")
    (tmp_path / "other").write_text("another")
    assert run(capsys, str(tmp_path / "app.py"), "--file", f"{tmp_path}/other:app.py")[0] == "another\n"


def test_a_folder_is_copied_in_with_all_below_it_but_links(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "data" / "deep" / "empty").mkdir(parents=True)
    (tmp_path / "data" / "a.txt").write_text("a")
    (tmp_path / "data" / "deep" / "b.txt").write_text("b")
    (tmp_path / "data" / "link").symlink_to("/etc/hostname")
    (tmp_path / "data" / "around").symlink_to(tmp_path)
    listed = ("-l", "shell", "-c", "find . -mindepth 1 | sort; cat */deep/b.txt")
    below = ["a.txt", "deep", "deep/b.txt", "deep/empty"]
    for words, name in ((f"{tmp_path}/data", "data"), (f"{tmp_path}/data/", "data"), (f"{tmp_path}/data:in", "in")):
        out, _ = run(capsys, *listed, "--file", words)
        assert out.splitlines() == [f"./{name}", *(f"./{name}/{one}" for one in below), "b"]


def test_a_folder_that_does_not_fit_is_refused_before_the_program_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data" / "large", "wb") as large:
        large.truncate(1 << 40)
    out, said = run(capsys, "-c", "print('ran')", "--file", f"{tmp_path}/data", status=2)
    assert out == "" and "cannot write data/large in the sandbox: EFBIG" in said


def test_an_option_that_is_meant_for_the_program_is_refused_with_the_way_to_give_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text("import sys\nprint(sys.argv[1:])")
    _, said = run(capsys, str(tmp_path / "app.py"), "--verbose", status=2)
    assert "unrecognized arguments: --verbose" in said and "app.py -- --verbose" in said
    assert run(capsys, str(tmp_path / "app.py"), "--", "--verbose")[0] == "['--verbose']\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [("print('a', end=''); 5", "a\n5\n"), ("print('a'); 5", "a\n5\n"), ("5", "5\n"), ("print('a', end='')", "a")],
)
def test_a_result_stands_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str], code: str, said: str) -> None:
    assert run(capsys, "-c", code)[0] == said


def test_a_display_that_is_text_is_printed_and_a_figure_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "-c", "display('shown'); None") == ("shown\n", "")
    class_ = "class Both:\n    def _repr_mimebundle_(self): return {'text/html': '<b>x</b>', 'text/plain': 'x'}\n"
    assert run(capsys, "-c", class_ + "display(Both())") == ("x\n", "")
    image = "class Picture:\n    def _repr_svg_(self): return '<svg/>'\n"
    out, said = run(capsys, "-c", image + "display(Picture())")
    assert out == "" and "1 display(s) not shown" in said


@pytest.mark.parametrize(
    ("mimes", "unseen"),
    [
        (["text/html", "text/plain"], 0),
        (["text/plain", "text/html"], 0),
        (["image/png", "text/plain"], 1),
        (["text/html"], 1),
        (["text/html", "text/plain", "image/png", "text/html"], 2),
        ([], 0),
    ],
)
def test_what_stands_beside_a_plain_text_counts_as_shown(mimes: list[str], unseen: int) -> None:
    assert count_unseen([Display(mime, "") for mime in mimes]) == unseen


def test_files_of_a_program_that_a_limit_ended_are_there_if_asked_for(command: Command, tmp_path: Path) -> None:
    program = "open('f', 'w').write('w')\nwhile True: pass"
    out = tmp_path / "out"
    asked = ("run", "-c", program, "--timeout-ms", "1000", "--get", f"f:{out}")
    undone = command(*asked)
    assert undone.returncode == 124 and not out.exists() and "--timeout-ms N raises it" in undone.stderr
    kept = command(*asked, "--on-limit", "keep")
    assert kept.returncode == 124 and out.read_text() == "w" and "what it did until then is kept" in kept.stderr
