"""What a result says of itself: one property to test, an exception to raise, a line and a page to look at."""

from __future__ import annotations

import pytest

import hatchway


@pytest.mark.parametrize(
    ("language", "code", "exit_code"),
    [
        ("python", "import sys; sys.exit(3)", 3),
        ("shell", "exit 5", 5),
        ("shell", "set -e; false; echo no", 1),
        ("python", "1/0", 1),
    ],
)
def test_ok_and_exit_code_agree(box: hatchway.Sandbox, language: str, code: str, exit_code: int) -> None:
    result = box.run(code, language=language)
    assert (result.ok, result.exit_code) == (False, exit_code)
    with pytest.raises(hatchway.RunFailed) as raised:
        result.check()
    assert raised.value.result is result


def test_check_gives_the_result_of_a_run_that_ended_well(box: hatchway.Sandbox) -> None:
    assert box.run("6 * 7").check().result == 42


def test_failure_says_what_happened_where_and_what_to_do(box: hatchway.Sandbox) -> None:
    with pytest.raises(hatchway.RunFailed) as raised:
        box.run("x = 1\nprnt(x)").check()
    told = str(raised.value)
    assert told.startswith("runtime_error: NameError: name 'prnt' is not defined (line 2, column 1) [NAME_ERROR]")
    assert "hint: did you mean 'print'?" in told and "Traceback" in told


def test_status_prints_as_the_wire_has_it(box: hatchway.Sandbox) -> None:
    late = box.run("while True: pass", timeout_ms=50)
    assert f"{late.status}" == str(late.status) == "timeout" and late.status is hatchway.RunStatus.TIMEOUT


def test_repr_is_one_short_line(box: hatchway.Sandbox) -> None:
    shown = repr(box.run("print('a' * 10_000)\n[1] * 1000"))
    assert shown.startswith("<RunResult ok, result=[1, 1") and len(shown) < 250 and "\n" not in shown


def test_page_shows_output_and_runs_no_script_of_a_program(box: hatchway.Sandbox) -> None:
    page = box.run(
        "print('<script>1</script>')\nclass R:\n    def _repr_html_(self): return '<script>2</script>'\nR()"
    )._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;1" in page and '<iframe sandbox=""' in page


def test_public_names_are_listed() -> None:
    assert {"Sandbox", "Client", "RunResult", "RunFailed", "Policy"} <= set(dir(hatchway))
