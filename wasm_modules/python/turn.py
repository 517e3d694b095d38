"""A turn: runs one program in the session's `__main__` and reports its outcome.

`take_turn` stands where the artifact's own driver runs a turn's source, so that a turn's bytes are our JSON request.

The shortest programs are as long as what surrounds them, so the way of a plain one is short: whatever only some turns need
stands behind one test.
"""

import ast
import dis
import inspect
import linecache
import os
import random
import sys
from types import CodeType

import _host
from _hatchway import surroundings
from _hatchway.capabilities import AwaitAnswers, offer
from _hatchway.displays import bound_displays, displays, show_figures, show_left_figures, show_plotted, show_rich, show_text
from _hatchway.failures import describe
from _hatchway.loop import run_coroutine
from _hatchway.magics import rewrite
from _hatchway.nearest import simplify
from _hatchway.notebook import notebook
from _hatchway.plain import AWAIT_HINT, SCALARS, NotSerializable, encode, encode_result, scan
from _hatchway.surroundings import flush_streams, lift_recursion_limit, limit_recursion, main, mend_streams, renew_stdin, say
from _hatchway.threads import end_program, waiting

BYTE_ORDER_MARK = "\ufeff"
FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
SOURCES_KEPT = 512
SOURCES_CHARS = 1 << 20  # of the session's own memory
STATEMENTS = frozenset(("import", "from", "def", "class", "for", "while", "if", "with", "try", "del", "raise", "assert", "async"))
MISSING = object()
NO_MEMORY = (  # made beforehand: when it is needed, there is no room to make it
    b'D{"error":{"code":"MEMORY_EXCEEDED","message":"the program ran out of memory"},"exit_code":1}'
)

PLAIN_FIELDS = 2  # a program and how deep it may recurse
NAMES = tuple(sys.intern(f"<run {number}>") for number in range(4096))  # to intern one takes time, and is part of compiling

names = main.__dict__
sources = {}
"""How long the texts are whose lines are remembered, by file name, the longest unused first."""
kept_chars = 0
count = 0
program = ()
"""The running turn's statements and last expression, once they are compiled."""


class LimitReached(BaseException):
    """Raised in a program by the host when a limit is reached of a run whose work is to be kept."""


LimitReached.__module__ = "builtins"
INTERRUPTIBLE = b"K\1" + id(LimitReached).to_bytes(4, "little")


def stores_result(code):
    """Does the program itself assign `result`?"""
    if "result" not in code.co_names:
        return False
    return any(i.argval == "result" and i.opname.startswith(("STORE_NAME", "STORE_GLOBAL")) for i in dis.get_instructions(code))


def is_statement(text):
    """Does the line begin as no expression does? It may be none for other reasons too."""
    if "=" in text:
        name, _, value = text.partition("=")
        if value[:1] != "=":
            return name.strip().isidentifier()
    return text.partition(" ")[0] in STATEMENTS


def compile_expression(text, filename):
    """The code of a program that is one expression in one line, which may be indented; None if it is anything else."""
    if not text or "\n" in text or "await" in text or is_statement(text):
        return None
    try:
        if text[0].isspace():
            compile(text.strip(), filename, "eval", 0, True)  # what stands in the parentheses is no more than an expression
            text = f"({text[1:]}\n)"  # columns count from where the line begins
        return compile(text, filename, "eval", 0, True)
    except SyntaxError:
        return None


def parse(text, filename):
    """The syntax tree of a program, which may have the commands of notebooks."""
    try:
        return ast.parse(text, filename, "exec")
    except SyntaxError:
        rewritten = rewrite(text)
        if rewritten == text:
            raise
    try:
        return ast.parse(rewritten, filename, "exec")
    except SyntaxError as error:
        error.text = None  # the program's own line is shown
        raise


def compile_statements(text, filename):
    """Any program as (statements, last expression): code objects, either may be None."""
    tree = parse(text.removeprefix(BYTE_ORDER_MARK), filename)
    if "await" in text:
        tree = AwaitAnswers().visit(tree)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = compile(ast.Expression(tree.body.pop().value), filename, "eval", FLAGS)
    return (compile(tree, filename, "exec", FLAGS) if tree.body else None), last


def has_code(code):
    """Does the expression define something that may run later: a lambda, a generator?"""
    for constant in code.co_consts:  # noqa: SIM110 (a generator costs more than what it looks at)
        if type(constant) is CodeType:
            return True
    return False


def remember(text, filename):
    """Tracebacks and warnings show source lines, also of functions that an earlier run defined."""
    global kept_chars
    text = text.removeprefix(BYTE_ORDER_MARK)
    if type(linecache.cache) is not dict:
        linecache.cache = {}
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    linecache.cache[filename] = (len(text), None, [f"{line}\n" for line in lines], filename)
    kept_chars += len(text) - sources.pop(filename, 0)
    sources[filename] = len(text)
    while len(sources) > SOURCES_KEPT or (kept_chars > SOURCES_CHARS and len(sources) > 1):
        oldest = next(iter(sources))
        kept_chars -= sources.pop(oldest)
        linecache.cache.pop(oldest, None)


def evaluate(statements, last):
    """Runs the statements, then gives the last expression's value."""
    flags = (statements.co_flags if statements is not None else 0) | (last.co_flags if last is not None else 0)
    try:
        if flags & inspect.CO_COROUTINE:
            return run_coroutine(evaluate_awaiting(statements, last))
        if statements is not None:
            eval(statements, names)  # noqa: S307
        return eval(last, names) if last is not None else None  # noqa: S307
    finally:
        if notebook.endings:
            notebook.end()


async def evaluate_awaiting(statements, last):
    """A program that awaits somewhere runs inside the event loop from its first line."""
    value = None
    for code in (statements, last):
        if code is not None:
            value = eval(code, names)  # noqa: S307
            if code.co_flags & inspect.CO_COROUTINE:
                value = await value
    return value if last is not None else None


def is_shown(value):
    """Is the value something to look at? Then it has been shown."""
    return show_plotted(value) or (type(value).__module__ != "builtins" and show_rich(value))


def run_program(request, filename):
    """Runs a program and gives the encoded outcome."""
    global program
    text, statements = request["code"], None
    last = line = compile_expression(text, filename)
    if line is None:
        statements, last = compile_statements(text, filename)
    program = (statements, last)
    if len(request) > PLAIN_FIELDS:
        if request.get("validate_only"):
            return b'D{"result":null}'
        if "inputs" in request:
            names.update(request["inputs"])
    if statements is not None or (last is not None and has_code(last)):
        remember(text, filename)
    before = names.get("result", MISSING)
    value = eval(line, names) if line is not None else evaluate(statements, last)  # noqa: S307
    if waiting:
        end_program()
    after = names.get("result", MISSING)
    if after is not MISSING and (after is not before or (statements is not None and stores_result(statements))):
        value = after
    elif type(value) not in SCALARS and is_shown(value):
        value = None  # shown instead
    show_figures()
    try:
        encoded = encode_result(value)
    except NotSerializable as refused:
        return report_nearest(value, refused)
    return report({"result": value}) if displays else encoded


def report_nearest(value, refused):
    """The outcome of a program whose last value is no JSON: it ran, and says how near `result` is to that value."""
    lift_recursion_limit()
    try:
        plain, is_cut = simplify(value)
    except MemoryError:
        plain, is_cut = None, False
    show_text(plain if is_cut else value)  # the whole of it would be written out, and cut then
    if refused.hint is AWAIT_HINT:
        told = "it was not awaited, so nothing of it ran"
    elif plain is None:
        told = "it is shown as text"
    else:
        told = "`result` is the beginning of it" if is_cut else "`result` is the JSON that comes nearest"
    warning = {
        "severity": "warning",
        "code": "RESULT_NOT_SERIALIZABLE",
        "message": f"the last value is not plain JSON: {refused}; {told}",
    }
    return report({"result": plain, "diagnostics": [{**warning, "hint": refused.hint}]})


def exit_code_of(error):
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 255
    say(f"{error.code}\n")
    return 1


def report(outcome):
    if displays:
        warning = bound_displays()
        outcome["displays"] = displays
        if warning is not None:
            outcome["diagnostics"] = [*outcome.get("diagnostics", ()), warning]
    return b"D" + encode(outcome).encode("utf-8", "replace")


def take_turn(source):
    """Called by the driver with the bytes of a request, or None if there was no memory for them."""
    global count, program
    if source is None:
        _host.call(NO_MEMORY)
        return
    request = scan(source.decode(), 0)[0]
    count += 1
    filename = NAMES[count] if count < len(NAMES) else f"<run {count}>"
    if displays:
        displays.clear()
    try:
        if len(request) > PLAIN_FIELDS or surroundings.stdin_was_given or surroundings.lost_streams:
            filename = make_ready(request) or filename
        limit_recursion(request.get("max_stack_depth", 256))
        outcome = run_program(request, filename)
    except BaseException as error:
        outcome = report_failure(error, request["code"], filename)
    program = ()  # kept any longer, it would have to be saved with the session
    lift_recursion_limit()
    flush_streams()
    _host.call(outcome)


def make_ready(request):
    """Whatever a request may have besides its code, and what the turn before it has broken. The program's file, if it has one."""
    mend_streams()
    renew_stdin("stdin" in request)
    if "seed" in request:
        reseed(request["seed"])
    if "tools" in request:
        offer(request["tools"])
    if "env" in request:
        os.environ.update(request["env"])
    filename = request.get("filename")
    if filename:
        name_program(filename)
    if "interruptible" in request:
        _host.call(INTERRUPTIBLE)
    return filename


def name_program(filename):
    """The program finds the name of its file; words behind it were given to it beforehand."""
    main.__file__ = os.path.abspath(filename)
    words = getattr(sys, "argv", None)
    if type(words) is not list or len(words) < 2:
        sys.argv = [filename]


def report_failure(error, text, filename):
    """The encoded outcome of a program that left or failed."""
    try:
        remember(text, filename)
        if waiting and not isinstance(error, LimitReached):
            end_program()
        if isinstance(error, SystemExit):
            outcome = {"exit_code": exit_code_of(error)}
            show_left_figures()
            return report(outcome)
        outcome = {"error": describe(error, filename, program), "exit_code": 1}
        if not program:
            outcome["ran"] = False
        show_left_figures()
        return report(outcome)
    except MemoryError:
        return NO_MEMORY


def reseed(seed):
    """A forked image shares its generators' state: every session gets its own."""
    number = int(seed, 16)
    random.seed(number)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(number & 0xFFFFFFFF)
