"""What went wrong and where, as the contract's error object; the traceback goes to stderr as Python writes it.

A span points into this turn's program, never into an earlier one's that had the same file name: what counts is whose code runs.
"""

import builtins
import difflib
import gc
import linecache
import sqlite3
import sys
import traceback
import types

from _hatchway.absent import NETWORK
from _hatchway.capabilities import ToolError
from _hatchway.surroundings import flush_streams, lift_recursion_limit, main, mend_streams, say
from _hatchway.threads import FOR_EVER, THREADS

OURS = ("<hatchway", "<reactor>", "<frozen importlib.")
EVENT_LOOP = "/asyncio/base_events.py"
NAME_MAX = 80
OF_THE_NETWORK = frozenset(("aiohttp", "boto3", "httpx", "openai", "requests", "ssl", "_ssl", "urllib3", "websockets"))
ADVICE_ON_SITES = (
    ". Site initialization is disabled, did you forget to add the site-packages directory to sys.path or to enable your virtual "
    "environment?"
)
IMPORTABLE = (
    "the standard library, the bundled packages that LIMITATIONS.md lists, and the session's own files can be imported; "
    "nothing can be installed"
)
NOTEBOOK = "this is no notebook, and needs none: display() is there, and figures are shown when the program ends"
INSTALLERS = ("pip ", "pip3 ", "python -m pip ", "python3 -m pip ", "conda ", "mamba ", "uv ", "apt ", "apt-get ")
NOT_BUNDLED = "this data does not come with the sandbox: give it to the session as a file, and read it from there"
LOCKED = "database is locked"
ONE_CONNECTION = (
    "one connection writes at a time, and none commits while another has read some rows of a statement but not all: fetch all "
    "(fetchall) and commit there before this one goes on, or use one connection for both; there is no journal_mode=WAL"
)
LIBRARY = "/usr/local/lib/python315.zip/"
DATA = "sklearn.datasets."
NATIVE_OVERFLOW = "Stack overflow (used"
WITHOUT_EXCEPTION = "returned NULL without setting an exception"
CODES = (
    (SyntaxError, "SYNTAX_ERROR"),
    (NameError, "NAME_ERROR"),
    (ImportError, "UNSUPPORTED_FEATURE"),
    (NotImplementedError, "UNSUPPORTED_FEATURE"),
    (RecursionError, "STACK_OVERFLOW"),
    (MemoryError, "MEMORY_EXCEEDED"),
)


def column_of(line, byte_offset):
    return len(line.rstrip("\n").encode()[:byte_offset].decode("utf-8", "replace")) + 1


def codes_of(program):
    """The program's code objects, those of its functions and classes too, by identity."""
    pending = [code for code in program if code is not None]
    found = {}
    while pending:
        code = pending.pop()
        found[id(code)] = code
        pending.extend(constant for constant in code.co_consts if type(constant) is types.CodeType)
    return found


def span_of_source(error):
    """The place of a syntax error in the program itself."""
    if not error.lineno:
        return None
    span = {"line": error.lineno, "column": max(1, error.offset or 1)}
    if error.end_lineno and error.end_lineno > 0 and error.end_offset and error.end_offset > 0:
        span |= {"end_line": error.end_lineno, "end_column": error.end_offset}
    return span


def span_of(error, filename, codes):
    """Where in this program: the instruction of the innermost frame that runs its code."""
    found = None
    step = error.__traceback__
    while step is not None:
        if id(step.tb_frame.f_code) in codes:
            found = step
        step = step.tb_next
    if found is None:
        return None
    positions = list(found.tb_frame.f_code.co_positions())
    line, end_line, column, end_column = positions[found.tb_lasti // 2]
    if line is None or column is None:
        return {"line": found.tb_lineno, "column": 1}
    lines = linecache.getlines(filename)
    if not 0 < line <= len(lines) or not 0 < end_line <= len(lines):
        return {"line": line, "column": column + 1}
    return {
        "line": line,
        "column": column_of(lines[line - 1], column),
        "end_line": end_line,
        "end_column": column_of(lines[end_line - 1], end_column),
    }


def complete_source(error, filename):
    """What the compiler finds after parsing comes without the line, and with columns in bytes."""
    lines = linecache.getlines(filename)
    if error.text is None and error.lineno and 0 < error.lineno <= len(lines):
        error.text = line = lines[error.lineno - 1]
        error.offset = column_of(line, max(0, (error.offset or 1) - 1))
        if error.end_lineno and 0 < error.end_lineno <= len(lines) and error.end_offset and error.end_offset > 0:
            error.end_offset = column_of(lines[error.end_lineno - 1], max(0, error.end_offset - 1))


def without_stale_lines(shown, filename, codes):
    """An earlier program of the same file name had other lines than those which are remembered now."""
    pending, seen = [shown], set()
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        for frame in one.stack:
            if frame.filename == filename and id(frame._code) not in codes:
                frame._lines = ""
        pending += [one.__cause__, one.__context__, *(one.exceptions or ())]
    return shown


def is_below_programs(frame):
    """Does the frame stand under a program's first one? The event loop does where a program awaits at its top level."""
    name = frame.f_code.co_filename
    return name.startswith(OURS) or name.endswith(EVENT_LOOP)


def without_our_frames(error):
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        step = error.__traceback__
        while step is not None and is_below_programs(step.tb_frame):
            step = step.tb_next
        error.__traceback__ = step
        while step is not None:
            while step.tb_next is not None and step.tb_next.tb_frame.f_code.co_filename.startswith(OURS):
                step.tb_next = step.tb_next.tb_next
            step = step.tb_next
        error = error.__cause__ or error.__context__


def hint_of_import(error):
    name = error.name if type(error.name) is str else ""
    top, _, below = name.partition(".")
    if top in OF_THE_NETWORK:
        return NETWORK
    if top == "IPython":
        return NOTEBOOK
    if name.startswith(DATA):
        return NOT_BUNDLED
    if isinstance(error, ModuleNotFoundError):
        return None if below and top in sys.modules else IMPORTABLE
    module, wanted = sys.modules.get(name), getattr(error, "name_from", None)
    if type(module) is not types.ModuleType or type(wanted) is not str or len(wanted) > NAME_MAX:
        return None
    near = difflib.get_close_matches(wanted, vars(module), 1)
    return f"did you mean {near[0]!r}?" if near else None


def hint_of_source(error):
    """A shell's commands are no Python."""
    line = error.text.strip() if type(error.text) is str else ""
    return IMPORTABLE if line.startswith(INSTALLERS) else None


def hint_of(error, code):
    if code == "NAME_ERROR":
        name = getattr(error, "name", None) or ""
        known = [*vars(main), *vars(builtins)]
        near = difflib.get_close_matches(name, known, 1) if len(name) <= NAME_MAX else ()  # it takes its time
        return f"did you mean {near[0]!r}?" if near else None
    if isinstance(error, ImportError):
        return hint_of_import(error)
    if code == "STACK_OVERFLOW":
        is_native = str(error).startswith(NATIVE_OVERFLOW) or isinstance(error, MemoryError)
        return "nest calls through C code, or source, less deeply" if is_native else None
    if isinstance(error, SyntaxError):
        return hint_of_source(error)
    if isinstance(error, FileNotFoundError):
        return NOT_BUNDLED if LIBRARY in str(error) else None
    return (
        {FOR_EVER: THREADS, LOCKED: ONE_CONNECTION}.get(str(error))
        if type(error) in (RuntimeError, sqlite3.OperationalError)
        else None
    )


def code_of(error):
    if isinstance(error, ToolError):
        return error.code
    code = next((code for kind, code in CODES if isinstance(error, kind)), "RUNTIME_ERROR")
    if code == "MEMORY_EXCEEDED" and "Parser stack" in str(error):
        return "STACK_OVERFLOW"  # the parser says MemoryError for source that is nested too deeply
    if isinstance(error, SystemError) and str(error).endswith(WITHOUT_EXCEPTION):
        return "MEMORY_EXCEEDED"  # some functions in C, a deque's among them, do not say why there is no result
    return code


def show(error, filename, codes):
    """The traceback, to stderr."""
    lift_recursion_limit()
    flush_streams()
    try:
        mend_streams()
        shown = without_stale_lines(traceback.TracebackException.from_exception(error, limit=-50), filename, codes)
        # Python's own advice is for who starts the interpreter.
        sys.stderr.write("".join(shown.format()).replace(ADVICE_ON_SITES, ""))
    except Exception:
        say(f"{type(error).__name__}\n")


def describe(error, filename, program):
    """The contract's error object for what the program raised, or for why it could not be compiled (then `program` is empty)."""
    code = code_of(error)
    if code == "MEMORY_EXCEEDED":
        error.__traceback__ = None
        gc.collect()
        return {"code": code, "message": "the program ran out of memory"}
    without_our_frames(error)
    codes = codes_of(program)
    is_of_source = isinstance(error, SyntaxError) and not program
    if is_of_source:
        error.__traceback__ = None  # the program never ran: its frames are the parser's
        complete_source(error, filename)
    show(error, filename, codes)
    try:
        text = error.msg if is_of_source else str(error)
    except Exception:
        text = "<the exception's text cannot be shown>"
    name = type(error).__name__
    message = text if isinstance(error, (ToolError, SyntaxError)) else f"{name}: {text}" if text else name
    described = {"code": code, "message": message[:4000].encode("utf-8", "replace").decode()}
    hint, span = hint_of(error, code), span_of_source(error) if is_of_source else span_of(error, filename, codes)
    if hint:
        described["hint"] = hint
    if span:
        described["span"] = span
    return described
