"""What went wrong and where, as the contract's error object; the traceback goes to stderr as Python writes it."""

import builtins
import difflib
import gc
import linecache
import sys
import traceback

from _hatchway.absent import FOR_EVER, NETWORK, THREADS
from _hatchway.capabilities import ToolError
from _hatchway.surroundings import flush_streams, lift_recursion_limit, main, say

OURS = ("<hatchway", "<reactor>")
NAME_MAX = 80
OF_THE_NETWORK = frozenset(("aiohttp", "boto3", "httpx", "openai", "requests", "ssl", "_ssl", "urllib3", "websockets"))
ADVICE_ON_SITES = (
    ". Site initialization is disabled, did you forget to add the site-packages directory to sys.path or to enable your virtual "
    "environment?"
)
FOR_WANT_OF_THREADS = ("can't start new thread", FOR_EVER)
CODES = (
    (SyntaxError, "SYNTAX_ERROR"),
    (NameError, "UNKNOWN_TOOL"),
    (ImportError, "UNSUPPORTED_FEATURE"),
    (NotImplementedError, "UNSUPPORTED_FEATURE"),
    (RecursionError, "STACK_OVERFLOW"),
    (MemoryError, "MEMORY_EXCEEDED"),
)


def column_of(line, byte_offset):
    return len(line.encode()[:byte_offset].decode("utf-8", "replace")) + 1


def span_of(error, filename):
    """Where in this program: the syntax error's place, or the innermost frame's instruction."""
    if isinstance(error, SyntaxError):
        if error.filename != filename or not error.lineno:
            return None
        span = {"line": error.lineno, "column": max(1, error.offset or 1)}
        if error.end_lineno and error.end_lineno > 0 and error.end_offset and error.end_offset > 0:
            span |= {"end_line": error.end_lineno, "end_column": error.end_offset}
        return span
    found = None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == filename:
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


def without_our_frames(error):
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        step = error.__traceback__
        while step is not None and step.tb_frame.f_code.co_filename.startswith(OURS):
            step = step.tb_next
        error.__traceback__ = step
        while step is not None:
            while step.tb_next is not None and step.tb_next.tb_frame.f_code.co_filename.startswith(OURS):
                step.tb_next = step.tb_next.tb_next
            step = step.tb_next
        error = error.__cause__ or error.__context__


def hint_of(error, code):
    if code == "UNKNOWN_TOOL":
        name = getattr(error, "name", None) or ""
        known = [*vars(main), *vars(builtins)]
        near = difflib.get_close_matches(name, known, 1) if len(name) <= NAME_MAX else ()  # it takes its time
        return f"did you mean {near[0]!r}?" if near else None
    if isinstance(error, ImportError):
        if error.name is not None and error.name.partition(".")[0] in OF_THE_NETWORK:
            return NETWORK
        return "only the standard library and the bundled packages can be imported; LIMITATIONS.md lists them"
    if code == "STACK_OVERFLOW":
        return "raise limits.max_stack_depth"
    if code == "MEMORY_EXCEEDED":
        return "raise limits.memory_mb"
    return THREADS if isinstance(error, RuntimeError) and str(error) in FOR_WANT_OF_THREADS else None


def code_of(error):
    if isinstance(error, ToolError):
        return error.code
    code = next((code for kind, code in CODES if isinstance(error, kind)), "RUNTIME_ERROR")
    if code == "MEMORY_EXCEEDED" and "Parser stack" in str(error):
        return "STACK_OVERFLOW"  # the parser says MemoryError for source that is nested too deeply
    return code


def describe(error, filename):
    """The contract's error object; the traceback goes to stderr as Python writes it."""
    code = code_of(error)
    if code == "MEMORY_EXCEEDED":
        error.__traceback__ = None
        gc.collect()
        return {"code": code, "message": "the program ran out of memory", "hint": hint_of(error, code)}
    without_our_frames(error)
    lift_recursion_limit()
    flush_streams()
    try:
        if isinstance(error, SyntaxError) and error.filename == filename:
            error.__traceback__ = None  # the program never ran: its frames are the parser's
        # Python's own advice is for who starts the interpreter.
        sys.stderr.write("".join(traceback.format_exception(error, limit=-50)).replace(ADVICE_ON_SITES, ""))
    except Exception:
        say(f"{type(error).__name__}\n")
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        text = "<the exception's text cannot be shown>"
    name = type(error).__name__
    message = text if isinstance(error, (ToolError, SyntaxError)) else f"{name}: {text}" if text else name
    described = {"code": code, "message": message[:4000].encode("utf-8", "replace").decode()}
    hint, span = hint_of(error, code), span_of(error, filename)
    if hint:
        described["hint"] = hint
    if span:
        described["span"] = span
    return described
