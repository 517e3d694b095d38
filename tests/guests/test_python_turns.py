"""What only several turns show of the Python guest: its streams, where errors are placed, and what a turn leaves to the next."""

from __future__ import annotations

import base64
import io
import json
import tarfile
import zipfile

import pytest

from hatchway import RunResult, Sandbox
from tests.sandbox.outcomes import warning_of


def place_of(result: RunResult) -> tuple[int, int] | None:
    assert result.error is not None
    span = result.error.span
    return (span.line, span.column) if span else None


# Streams


CLOSING_INPUT = ["open(0).read()", "import os; os.close(0)", "import sys; sys.stdin.close()"]


@pytest.mark.parametrize("closing", CLOSING_INPUT)
def test_closed_input_is_there_again_in_the_next_turn(box: Sandbox, closing: str) -> None:
    assert box.run(closing, stdin="1").error is None
    assert box.run("1 + 1").result == 2
    assert box.run("input()", stdin="two").result == "two"
    assert box.run("try: input()\nexcept EOFError: result = 'nothing'").result == "nothing"


@pytest.mark.parametrize("closing", CLOSING_INPUT)
def test_input_closed_where_there_was_none_is_empty_in_the_next_turn(box: Sandbox, closing: str) -> None:
    assert box.run(closing).error is None
    assert box.run("try: input()\nexcept EOFError: result = 'nothing'").result == "nothing"


@pytest.mark.parametrize(
    "closing",
    [
        "with open(1, 'w') as f: f.write('')",
        "import os; os.close(1)",
        "import sys; sys.stdout.close()",
        "import sys; del sys.stdout",
    ],
)
def test_closed_output_is_there_again_in_the_next_turn(box: Sandbox, closing: str) -> None:
    assert box.run(closing).error is None
    assert box.run("print('é')").stdout == "é\n"


@pytest.mark.parametrize("closing", ["open(2, 'w').close()", "import os; os.close(2)", "import sys; sys.stderr.close()"])
def test_closed_stderr_is_there_again_in_the_next_turn(box: Sandbox, closing: str) -> None:
    assert box.run(closing).error is None
    assert "ZeroDivisionError" in box.run("1/0").stderr


def test_text_that_could_not_be_written_does_not_come_out_in_the_next_turn(box: Sandbox) -> None:
    assert box.run("import os; os.close(1)\ntry: print('lost')\nexcept OSError: pass").stdout == ""
    assert box.run("print('here')").stdout == "here\n"


@pytest.mark.parametrize("closing", ["import sys; sys.stderr.close(); 1/0", "import os; os.close(1); print('x'); 1/0"])
def test_traceback_is_shown_by_a_program_that_closed_a_stream(box: Sandbox, closing: str) -> None:
    shown = box.run(closing).stderr
    assert shown.startswith("Traceback") and closing in shown


def test_stream_of_the_programs_own_stays_in_its_place(box: Sandbox) -> None:
    box.run("import io, sys\nsys.stdout = io.StringIO()")
    assert box.run("print('held')\nsys.stdout.getvalue()").result == "held\n"


# Where errors are placed


@pytest.mark.parametrize("filename", [None, "app.py"])
def test_error_in_an_earlier_turns_function_is_placed_where_this_program_called_it(box: Sandbox, filename: str | None) -> None:
    box.run("def divide(n):\n\n\n    return 1 / n", filename=filename)
    failed = box.run("n = 0\n  \nx = divide(n)", filename=filename)
    assert place_of(failed) == (3, 5)


def test_lines_of_an_earlier_program_of_the_same_name_are_not_shown_from_this_one(box: Sandbox) -> None:
    box.run("def divide(n):\n    return 1 / n", filename="app.py")
    failed = box.run("'first'\n'second'\ndivide(0)", filename="app.py")
    assert "divide(0)" in failed.stderr and "'second'" not in failed.stderr and "line 2, in divide" in failed.stderr


def test_lines_are_shown_however_often_programs_had_the_same_name(box: Sandbox) -> None:
    for _ in range(600):
        failed = box.run("x = 1\nx / 0", filename="app.py")
    assert "    x / 0\n    ~~^~~\n" in failed.stderr
    assert failed.error is not None and failed.error.span is not None and failed.error.span.end_column == 6


def test_lines_of_long_programs_take_little_of_the_sessions_memory(box: Sandbox) -> None:
    for number in range(100):
        box.run(f"text = '{str(number) * 400_000}'", filename=f"{number}.py")
    failed = box.run("len(text) / 0")
    assert failed.error is not None and failed.error.code == "RUNTIME_ERROR" and "    len(text) / 0\n" in failed.stderr
    assert failed.metrics.memory_peak_bytes < 24 << 20


def test_traceback_and_warning_of_a_programs_own_show_their_lines(box: Sandbox) -> None:
    shown = box.run(
        "import traceback, warnings\ntry: 1 / 0\nexcept ZeroDivisionError: traceback.print_exc()\nwarnings.warn('old')"
    )
    assert "    try: 1 / 0\n         ~~^~~\n" in shown.stderr
    assert "UserWarning: old\n  warnings.warn('old')\n" in shown.stderr


def test_traceback_of_a_program_that_awaits_begins_with_the_program(box: Sandbox) -> None:
    failed = box.run("async def fail(): raise ValueError('x')\nawait fail()")
    assert failed.stderr.splitlines()[1] == '  File "<run 1>", line 2, in <module>'
    assert "asyncio" not in failed.stderr


@pytest.mark.parametrize("character", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_line_ends_of_the_language_end_a_line(box: Sandbox, character: str) -> None:
    failed = box.run(f"text = 'é{character}'\nlong = 'é' + 1")
    assert place_of(failed) == (2, 8)
    assert "    long = 'é' + 1\n" in failed.stderr


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_of_the_language_ends_a_line(box: Sandbox, end: str) -> None:
    failed = box.run(f"x = 1{end}y = 'é' + x")
    assert place_of(failed) == (2, 5) and "y = 'é' + x\n" in failed.stderr


def test_syntax_error_in_evaluated_text_is_placed_at_its_evaluation(box: Sandbox) -> None:
    failed = box.run("text = '1 +'\neval(text)")
    assert place_of(failed) == (2, 1)
    assert failed.error is not None and failed.error.code == "SYNTAX_ERROR" and "<string>, line 1" in failed.error.message


def test_syntax_error_in_an_imported_file_names_it(box: Sandbox) -> None:
    box.files.write_file("/workspace/broken.py", b"x = 1\ny = (\n")
    failed = box.run("x = 1\nimport broken")
    assert place_of(failed) == (2, 1)
    assert failed.error is not None and "broken.py, line 2" in failed.error.message


def test_errors_of_the_compiler_show_their_line(box: Sandbox) -> None:
    failed = box.run("x = 1\n'é'; return x")
    assert place_of(failed) == (2, 6)
    assert "    'é'; return x\n         ^^^^^^^^\n" in failed.stderr


def test_columns_of_an_indented_expression_count_from_where_the_line_begins(box: Sandbox) -> None:
    failed = box.run("   [1 / 0]  # never")
    assert place_of(failed) == (1, 5) and "    [1 / 0]  # never\n     ~~^~~\n" in failed.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("from math import squrt", "did you mean 'sqrt'?"),
        ("import helpers", "the session's own files"),
        ("import requests", "no network"),
        ("import IPython", "no notebook"),
        ("pip install httpx", "nothing can be installed"),
    ],
)
def test_failure_is_answered_with_what_there_is(box: Sandbox, code: str, said: str) -> None:
    failed = box.run(code)
    assert failed.error is not None and failed.error.hint is not None and said in failed.error.hint


# Results and displays


def test_deleting_result_is_no_result(box: Sandbox) -> None:
    assert box.run("result = 1").result == 1
    deleted = box.run("del result")
    assert deleted.error is None and deleted.result is None


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("{1}", "{1}"),
        ("import numpy as np; np.arange(3)", "array([0, 1, 2])"),
        ("{1: 2}", "{1: 2}"),
        ("class Odd:\n    def __repr__(self): return 1 / 0\nOdd()", "<Odd: ZeroDivisionError in its repr>"),
        ("{'x' * 20_000}", "{'" + "x" * 9_998 + "…"),
    ],
)
def test_value_that_is_no_json_can_be_looked_at(box: Sandbox, code: str, shown: str) -> None:
    looked_at = box.run(code)
    warning = warning_of(looked_at)
    assert warning.code == "RESULT_NOT_SERIALIZABLE" and warning.hint is not None and '.to_dict("records")' in warning.hint
    assert [(one.mime, one.data) for one in looked_at.displays] == [("text/plain", shown)]


def test_coroutine_that_is_not_awaited_is_told_with_advice(box: Sandbox) -> None:
    forgotten = box.run("async def answer(): return 42\nanswer()")
    hint = warning_of(forgotten).hint
    assert forgotten.result is None and forgotten.stderr == "" and hint is not None and "await" in hint
    assert box.run("await answer()").result == 42


def test_html_is_followed_by_plain_text(box: Sandbox) -> None:
    shown = box.run("class Note:\n    def _repr_html_(self): return '<b>n</b>'\n    def __repr__(self): return 'n'\nNote()")
    assert [(one.mime, one.data) for one in shown.displays] == [("text/html", "<b>n</b>"), ("text/plain", "n")]


def test_form_of_an_object_that_fails_is_left_out(box: Sandbox) -> None:
    shown = box.run(
        "class Odd:\n"
        "    def _repr_html_(self): raise ValueError('not today')\n"
        "    def _repr_markdown_(self): return 5\n"
        "    def _repr_latex_(self): return '$x$'\n"
        "    def __repr__(self): return 'odd'\n"
        "Odd()"
    )
    assert shown.error is None
    assert [(one.mime, one.data) for one in shown.displays] == [("text/latex", "$x$"), ("text/plain", "odd")]
    assert "Odd._repr_html_ failed: ValueError: not today" in shown.stderr


# Files


def test_files_in_archives_made_here_can_be_read_elsewhere(box: Sandbox) -> None:
    made = box.run(
        "import base64, os, shutil, tarfile, zipfile\n"
        "os.makedirs('top/inner'); open('top/inner/a.txt', 'w').write('a'); os.symlink('a.txt', 'top/inner/link')\n"
        "with tarfile.open('/tmp/a.tar', 'w') as t: t.add('top')\n"
        "with zipfile.ZipFile('/tmp/a.zip', 'w') as z: z.write('top/inner/a.txt')\n"
        "[base64.b64encode(open(p, 'rb').read()).decode() for p in ('/tmp/a.tar', '/tmp/a.zip')]"
    )
    tarred, zipped = (io.BytesIO(base64.b64decode(text)) for text in made.result)
    with tarfile.open(fileobj=tarred) as archive:
        modes = {member.name: oct(member.mode) for member in archive}
    assert modes == {"top": "0o755", "top/inner": "0o755", "top/inner/a.txt": "0o644", "top/inner/link": "0o777"}
    with zipfile.ZipFile(zipped) as entries:
        assert oct(entries.infolist()[0].external_attr >> 16) == "0o100644"


def test_every_way_to_look_at_a_file_knows_its_permissions(box: Sandbox) -> None:
    looked = box.run(
        "import os, pathlib\n"
        "open('a', 'w').close(); os.symlink('a', 'link')\n"
        "with open('a') as f: modes = [os.fstat(f.fileno()).st_mode]\n"
        "with os.scandir() as found: entries = sorted(found, key=lambda one: one.name)\n"
        "modes += [one.stat(follow_symlinks=False).st_mode for one in entries]\n"
        "modes += [os.stat('link').st_mode, os.lstat('link').st_mode, pathlib.Path('/tmp').stat().st_mode]\n"
        "[oct(mode) for mode in modes]"
    )
    assert looked.result == ["0o100644", "0o100644", "0o120777", "0o100644", "0o120777", "0o41777"]


def test_value_that_could_not_be_written_can_be_when_it_is_mended(box: Sandbox) -> None:
    assert box.run("d = {'k': [object()]}\nd").result == {"k": [None]}
    assert box.run("d['k'] = [1]\nd").result == {"k": [1]}


def test_value_that_contains_itself_is_cut_there(box: Sandbox) -> None:
    cyclic = box.run("d = []\nd.append(d)\nd")
    assert cyclic.result == [None] and "ircular" in warning_of(cyclic).message


def test_value_of_more_than_a_result_holds_is_cut_and_its_memory_is_not_taken(box: Sandbox) -> None:
    large = box.run("import numpy as np\nnp.zeros(5_000_000)")
    assert large.result[:2] == [0.0, 0.0] and "the beginning" in warning_of(large).message
    assert len(json.dumps(large.result)) < 1 << 20
    text = box.run("'é' * (4 << 20)")
    assert set(text.result) == {"é"} and "8,388,622 bytes" in warning_of(text).message


def test_displays_of_more_than_the_host_takes_are_left_out(box: Sandbox) -> None:
    shown = box.run("for _ in range(3): display('y' * (5 << 20))\n7")
    assert shown.result == 7 and len(shown.displays) == 2 and warning_of(shown).code == "DISPLAYS_EXCEEDED"


def test_source_that_could_not_be_read_is_invalid_and_what_ran_is_not(box: Sandbox) -> None:
    assert box.run("ran = 1\nx = (").status.value == "validation_error"
    assert box.run("'ran' in globals()").result is False
    for code in (
        "ran = 1\neval('1 +')",
        "ran = 1\nimport not_there",
        "ran = 1\ntools.missing()",
        "ran = 1\nraise NotImplementedError",
    ):
        assert box.run(code).status.value == "runtime_error"
    assert box.run("ran").result == 1


# What a program finds around it


def test_empty_path_names_no_file(box: Sandbox) -> None:
    looked = box.run(
        "import os\nfailed = []\n"
        "for look in (os.stat, os.lstat, os.listdir, os.scandir):\n"
        "    try: look('')\n    except FileNotFoundError: failed.append(look.__name__)\n"
        "[failed, os.path.exists(''), os.listdir()]"
    )
    assert looked.result == [["stat", "lstat", "listdir", "scandir"], False, []]


def test_recursion_limit_beyond_the_sessions_is_told(box: Sandbox) -> None:
    raised = box.run("import sys; sys.setrecursionlimit(5000); sys.getrecursionlimit()")
    assert raised.result == 1000 and "stays at 1000" in raised.stderr and "max_stack_depth" in raised.stderr
    assert box.run("sys.setrecursionlimit(100); sys.getrecursionlimit()").stderr == ""


def test_program_knows_its_user_and_interpreter(box: Sandbox) -> None:
    found = box.run("import os, sys\n[os.getuid(), os.getegid(), sys.executable]")
    assert found.result == [1000, 1000, "/usr/bin/python3"]


def test_ssl_can_be_imported_and_connects_to_nothing(box: Sandbox) -> None:
    assert box.run("import ssl, smtplib, asyncio.sslproto\nissubclass(ssl.SSLError, OSError)").result is True
    refused = box.run("ssl.create_default_context().wrap_socket(None)")
    assert refused.error is not None and "no network" in refused.error.message


def test_lazy_import_of_a_name_that_is_missing_is_an_import_error(box: Sandbox) -> None:
    box.files.write_file("later.py", "value = 3\n")
    assert box.run("lazy from later import value\nlazy import later as module\nvalue + module.value").check().result == 6
    failed = box.run("lazy from later import nothing\nnothing").error
    assert failed is not None and failed.code == "UNSUPPORTED_FEATURE" and "cannot import name 'nothing'" in failed.message


def test_imports_show_no_frame_of_ours_to_programs(box: Sandbox) -> None:
    box.files.write_file("warner.py", "import warnings\nwarnings.warn('at import', UserWarning, stacklevel=2)\n")
    box.files.write_file("broken.py", "async def f():\n    await g()\nx = (\n")
    assert box.run("import warner").stderr == "<run 1>:1: UserWarning: at import\n  import warner\n"
    shown = box.run("import traceback\ntry: import broken\nexcept SyntaxError: print(traceback.format_exc())").stdout
    assert "importlib" not in shown and "hatchway" not in shown and "broken.py" in shown


def test_deque_that_takes_all_memory_is_told_and_undone() -> None:
    with Sandbox(limits={"wall_ms": 60_000, "cpu_ms": 60_000}) as patient:
        patient.run("x = 1")
        taken = patient.run("x = 2\nimport collections, itertools\ncollections.deque(itertools.repeat(0))")
        assert taken.error is not None and taken.error.code == "MEMORY_EXCEEDED"
        assert patient.run("x").result == 1


@pytest.mark.parametrize(
    "program",
    ["import statsmodels.api as sm\nsm.datasets.spector.load_pandas()", "import sklearn.datasets as d\nd.load_sample_images()"],
)
def test_data_that_is_not_bundled_is_told_as_such(box: Sandbox, program: str) -> None:
    error = box.run(program, limits={"wall_ms": 60_000, "cpu_ms": 60_000}).error
    assert error is not None and error.hint is not None and "does not come with the sandbox" in error.hint


def test_locked_database_says_what_to_do(box: Sandbox) -> None:
    code = """
import sqlite3
first, second = sqlite3.connect("x.db"), sqlite3.connect("x.db", timeout=0)
first.executescript("create table t (a); insert into t values (1), (2)")
reading = first.execute("select a from t")
reading.fetchone()
second.execute("insert into t values (3)")
second.commit()
"""
    refused = box.run(code).error
    assert refused is not None and "database is locked" in refused.message and "fetchall" in (refused.hint or "")
