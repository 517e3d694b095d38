"""Programs with the commands of notebooks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hatchway import Sandbox

LIMITS = {"wall_ms": 60_000, "cpu_ms": 20_000}


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(limits=LIMITS) as box:
        yield box


@pytest.mark.parametrize(
    ("program", "stdout"),
    [
        ("!echo one\n!echo two | tr a-z A-Z", "one\nTWO\n"),
        ("!echo first \\\n  second\nprint(3)", "first second\n3\n"),
        ("name, n = 'Ann', 2\n!echo {name} $n {n * 21} $$HOME {unknown}", "Ann 2 42 /workspace {unknown}\n"),
        ("!printf '%s\\n' a b | awk '{print $1 \"!\"}'", "a!\nb!\n"),
        ("for word in ('x', 'y'):\n    !echo {word}", "x\ny\n"),
        ("def f():\n  '''\n  !echo no\n  '''\n  !echo yes\nf()", "yes\n"),
        ("if True: !echo short", "short\n"),
        ("%cd /tmp\n!pwd", "/tmp\n/tmp\n"),
        ("%env COLOUR=blue\n!echo $COLOUR", "env: COLOUR=blue\nblue\n"),
        ("%%bash\nfor i in 1 2; do\n  echo $i\ndone", "1\n2\n"),
        ("%%sh -s word\necho 1: $1", "1: word\n"),
        ("%%javascript\nconsole.log([1, 2].map(x => x * 2))", "[ 2, 4 ]\n"),
        ("%%writefile made.txt\nhello\nthere\n", "Writing made.txt\n"),
        ("%matplotlib inline\n%load_ext autoreload\n%autoreload 2\nprint(1)", "1\n"),
        ("x, y = 1, 'a'\n%who", "x\t y\n"),
        ("x = [1, 2]\n%whos", "Variable   Type   Data/Info\n---------------------------\nx          list   [1, 2]\n"),
        ("get_ipython().run_line_magic('pwd', '')\nget_ipython().system('echo exported')", "exported\n"),
    ],
)
def test_commands_do_what_notebooks_do(box: Sandbox, program: str, stdout: str) -> None:
    result = box.run(program)
    assert (result.error, result.stdout) == (None, stdout)


@pytest.mark.parametrize(
    ("program", "value"),
    [
        ("lines = !printf 'a\\nb\\n'\nlines", ["a", "b"]),
        ("found = !printf 'a\\nb\\n'\n[found.n, found.s, _exit_code]", ["a\nb", "a b", 0]),
        ("!exit 3\n_exit_code", 3),
        ("here = %pwd\nhere", "/workspace"),
        ("%time 6 * 7", 42),
        ("%%time\nx = 20\nx + 1", 21),
        ("%%capture kept\nprint('hidden')\n5", 5),
        ("t = %timeit -n 2 -r 3 -q -o sum(range(9))\n[t.loops, t.repeat, t.average > 0]", [2, 3, True]),
        ("x = 7 %2\ny = (x\n%4)\ny", 1),
    ],
)
def test_commands_have_values(box: Sandbox, program: str, value: object) -> None:
    assert box.run(program).check().result == value


def test_capture_keeps_the_output_for_later(box: Sandbox) -> None:
    shown = box.run("%%capture kept\nimport sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert (shown.stdout, shown.stderr) == ("", "")
    assert box.run("[kept.stdout, kept.stderr]").result == ["out\n", "err\n"]
    failed = box.run("%%capture\nprint('lost')\n1 / 0")
    assert failed.stdout == "" and "ZeroDivisionError" in failed.stderr


def test_measurements_are_printed(box: Sandbox) -> None:
    assert " per loop (mean ± std. dev. of 7 runs, " in box.run("%timeit sum(range(10))").stdout
    assert "Wall time: " in box.run("%time sum(range(10))").stdout
    assert " per loop " in box.run("%%timeit -n 3 x = 5\nx * 2\nx * 3").stdout


def test_files_run_as_programs_of_their_own(box: Sandbox) -> None:
    box.files.write_file("job.py", "import sys\nprint(__name__, sys.argv)\nmade = 9\n")
    result = box.run("%run job.py one two\nmade")
    assert (result.stdout, result.result) == ("__main__ ['job.py', 'one', 'two']\n", 9)


def test_places_of_errors_are_those_of_the_program(box: Sandbox) -> None:
    failed = box.run("!true \\\n  and more\nx = !echo é\n\nif x:\n    1 / 0")
    assert failed.error is not None and failed.error.span is not None
    assert (failed.error.span.line, failed.error.span.column, failed.error.span.end_column) == (6, 5, 10)
    unknown = box.run("x = 1\n  \n%nosuch thing")
    assert unknown.error is not None and unknown.error.code == "UNSUPPORTED_FEATURE" and unknown.error.span is not None
    assert (unknown.error.span.line, unknown.error.span.end_column) == (3, 14) and "    %nosuch thing\n" in unknown.stderr
    broken = box.run("!ls\nx = (1,\n")
    assert broken.error is not None and broken.error.code == "SYNTAX_ERROR" and broken.error.span is not None
    assert broken.error.span.line == 2 and "x = (1," in broken.stderr


def test_shell_cell_that_fails_is_an_error(box: Sandbox) -> None:
    failed = box.run("%%bash\necho before\nfalse")
    assert failed.stdout == "before\n" and failed.error is not None and "exit status 1" in failed.error.message


@pytest.mark.parametrize("command", ["%pip install pandas no-such-package>=2", "!pip install -q pandas no-such-package"])
def test_installing_says_what_is_there_and_what_cannot_be(box: Sandbox, command: str) -> None:
    result = box.run(command)
    assert result.stdout.startswith("Requirement already satisfied: pandas (")
    assert result.error is not None and result.error.code == "UNSUPPORTED_FEATURE"  # no program goes on as if it were there
    assert "no-such-package cannot be installed" in result.error.message


def test_help_is_shown(box: Sandbox) -> None:
    assert "Return the number of items" in box.run("len?").stdout
    assert "Return the number of items" in box.run("?len").stdout


def test_text_that_is_neither_python_nor_commands_is_a_syntax_error(box: Sandbox) -> None:
    for program in ("x = [1,\n%foo\n]", "what is this?!", "%", "a = %"):
        error = box.run(program).error
        assert error is not None and error.code == "SYNTAX_ERROR", program
