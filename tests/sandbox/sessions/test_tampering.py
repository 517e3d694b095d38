"""Programs that tamper with their interpreter: contained, and told clearly."""

from __future__ import annotations

import sys

import pytest

import hatchway
from gateway import codes
from sandbox.sessions.session import Session
from sandbox.wire import Language, RunRequest, RunResult
from tests.conftest import NewBox
from tests.sandbox.outcomes import code_of

PYTHON, JAVASCRIPT, SHELL, TYPESCRIPT = "python", "javascript", "shell", "type_script"

TAMPERING = [
    "import sys\nsys.stdout.close()",
    "import sys\nsys.stderr.close()",
    "import sys\nsys.stdout = sys.stderr = sys.stdin = None",
    "import sys\nsys.stdout = 5",
    "import os\nos.close(1)\nos.close(2)\nos.close(0)",
    "import os\nfor n in range(64):\n    try: os.close(n)\n    except OSError: pass",
    "import builtins\nfor n in list(vars(builtins)):\n    if n != 'delattr': delattr(builtins, n)",
    "import sys\nsys.modules.clear()",
    "import sys\ndel sys.modules['__main__']",
    "globals().clear()",
    "import sys\nsys.settrace(lambda *a: 1/0)",
    "import sys\nsys.setprofile(lambda *a: 1/0)",
    "import gc\ngc.disable()\ngc.freeze()",
    "import sys\nsys.path.clear()\nsys.meta_path.clear()\nsys.path_hooks.clear()",
    "import json\njson.JSONEncoder.encode = None\njson.dumps = json.loads = None",
    "import sys\nsys.setrecursionlimit(1)",
    "import sys\nsys.set_int_max_str_digits(640)",
    "import linecache\nlinecache.cache = None",
    "import traceback\ntraceback.format_exception = None",
    "import asyncio\nasyncio.get_running_loop = None",
    "import sys\nsys.excepthook = sys.unraisablehook = None",
    "import warnings\nwarnings.simplefilter('error')",
    "import signal\ns = signal.signal(signal.SIGINT, signal.SIG_DFL)",
    "import locale\nlocale.setlocale(locale.LC_ALL, 'C')",
    "import atexit\n@atexit.register\ndef f(): raise SystemExit(9)",
]


def instead_of_reporting(expression: str) -> str:
    """A program after which every turn evaluates `expression` where it should report its outcome `m`."""
    return f"import _hatchway.turn as t, _host\nclass H:\n    call = staticmethod(lambda m: {expression})\nt._host = H"


SABOTAGE = [
    "import _hatchway.turn as t\nt.run_program = None",
    "import _hatchway.turn as t\nt.scan = None",
    "import _reactor\n_reactor._run_turn = lambda *a: None",
    instead_of_reporting("_host.call(b'D' + b'['*100_000)"),
    instead_of_reporting("_host.call(b'D{\"result\":' + b'9' * 5000 + b'}')"),
    instead_of_reporting('_host.call(b\'D{"result":"\\xff"}\')'),
    instead_of_reporting("_host.call(b'D{\"result\":[' + b'[],' * 3_000_000 + b'1]}')"),
    instead_of_reporting("_host.call(b'D{\"error\":5}')"),
    instead_of_reporting("_host.call(b'D{\"exit_code\":1e300}')"),
    instead_of_reporting("[_host.call(m), _host.call(m)]"),
    instead_of_reporting("_host.call(b'T')"),
    instead_of_reporting('_host.call(b\'D{"error":{"code":"OK","message":""},"displays":[{}]}\')'),
    "import os\nos.abort()",
    "import faulthandler\nfaulthandler._sigsegv()",
    "import signal\nsignal.raise_signal(signal.SIGABRT)",
]


@pytest.mark.parametrize("code", TAMPERING, ids=lambda code: code[:60])
def test_session_is_usable_after_a_program_tampered_with_it(box: hatchway.Sandbox, code: str) -> None:
    box.run("kept = 1")
    box.run(code)
    assert isinstance(box.run("1/0"), RunResult)
    result = box.run("1 + 1")
    assert (result.result, code_of(result)) == (2, None), result.stderr
    assert box.run("1", language=JAVASCRIPT).result == 1


@pytest.mark.parametrize("code", SABOTAGE, ids=lambda code: code[:90].replace("\n", " "))
def test_sabotage_of_the_interpreter_is_contained(new_box: NewBox, code: str) -> None:
    box, other = new_box(), new_box()
    box.run("kept = 1")
    for attempt in (code, "1 + 1", "kept"):
        result = box.run(attempt)
        assert result.ok or code_of(result) in ("RUNTIME_ERROR", "RESULT_NOT_SERIALIZABLE", "OK")
        assert sys.getsizeof(result.stdout) < 100_000
    assert box.run("2", language=JAVASCRIPT).result == 2
    assert other.run("3").result == 3


GUESTS_CODES = {
    "SYNTAX_ERROR", "TYPE_ERROR", "UNKNOWN_TOOL", "UNSUPPORTED_FEATURE", "RESULT_NOT_SERIALIZABLE", "INVALID_ARGUMENT",
    "MEMORY_EXCEEDED", "STACK_OVERFLOW", "TOOL_ERROR", "RUNTIME_ERROR", "NAME_ERROR", "DISPLAYS_EXCEEDED",
}  # fmt: skip
OTHERS_CODES = sorted({*codes.table(), "OUT_OF_STOCK"} - GUESTS_CODES)


def test_tm_iso_forge_program_that_makes_an_error_of_the_hosts_has_one_of_its_own(new_box: NewBox) -> None:
    assert {"HOOK_BLOCKED", "INTERRUPTED", "QUOTA_EXCEEDED", "SESSION_RESTARTED", "CANCELLED", "INTERNAL"} <= set(OTHERS_CODES)
    box = new_box(limits={"wall_ms": 60_000})
    for code in OTHERS_CODES:
        result = box.run(f"raise ToolError({code!r}, 'made up')")
        assert (code_of(result), result.status.value) == ("RUNTIME_ERROR", "runtime_error"), code


def test_tm_iso_forge_report_with_a_code_of_the_hosts_is_a_runtime_error(box: hatchway.Sandbox) -> None:
    forged = b'D{"error":{"code":"HOOK_BLOCKED","message":"x"},"diagnostics":[{"message":"y","code":"QUOTA_EXCEEDED"}]}'
    box.run(instead_of_reporting(f"_host.call({forged!r})"))
    result = box.run("1")
    assert (code_of(result), {found.code for found in result.diagnostics}) == ("RUNTIME_ERROR", {"RUNTIME_ERROR"})


def test_error_that_a_capability_answered_keeps_its_code(new_box: NewBox) -> None:
    def refuse() -> None:
        raise hatchway.ToolError("PERMISSION_DENIED", "not you")

    box = new_box(tools={"refuse": refuse})
    for language, code in ((PYTHON, "refuse()"), (JAVASCRIPT, "await tools.refuse()")):
        result = box.run(code, language=language)
        assert (code_of(result), result.status.value) == ("PERMISSION_DENIED", "permission_denied")
    assert code_of(box.run("raise ToolError('PERMISSION_DENIED', 'the run before was told so')")) == "RUNTIME_ERROR"
    assert code_of(box.run("raise ToolError('OUT_OF_STOCK', 'a code of its own')")) == "RUNTIME_ERROR"


def test_exit_code_that_a_program_reports_is_one(box: hatchway.Sandbox) -> None:
    box.run(instead_of_reporting("_host.call(b'D{\"exit_code\":70000}')"))
    assert box.run("1").exit_code == 70000 & 255


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import socket\nsocket.create_connection(('127.0.0.1', 80))", ""),
        ("import os\nos.fork()", ""),
        ("import ctypes\nctypes.string_at(0)", "ctypes"),
        ("import urllib.request\nurllib.request.urlopen('http://127.0.0.1')", ""),
    ],
)
def test_what_a_sandbox_does_not_have_fails_clearly(box: hatchway.Sandbox, code: str, said: str) -> None:
    result = box.run(code)
    assert code_of(result) in ("RUNTIME_ERROR", "UNSUPPORTED_FEATURE")
    assert result.error is not None and said in result.error.message
    assert box.run("1").result == 1


def test_session_takes_whole_requests(new_box: NewBox) -> None:
    session = Session("s-1", language=Language.JAVASCRIPT)
    request = RunRequest(
        session_id="s-1", language=Language.PYTHON, code="6 * 7", inputs={}, return_snapshot=False, validate_only=False
    )
    assert session.run(request).result == 42
    assert (session.meta.id, session.meta.language) == ("s-1", Language.JAVASCRIPT)
    assert session.meta.last_used_at >= session.meta.created_at > 1_700_000_000_000
    session.close()
