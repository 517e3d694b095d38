"""The Python guest's side of the guest interface (ABI.md): runs programs in the session's `__main__`.

Runs inside the sandbox, once, when the image is made; it is then part of the frozen interpreter. `take_turn` replaces the function of
the artifact's own driver that runs a turn's source, so that a turn's bytes are our JSON request.

Rules: nothing here is a security boundary; limits are the host's. Frames of this file are left out of tracebacks. Names in `__main__` are the
program's alone: what the prelude offers (`tools`, `display`) stands in `builtins`.
"""

import _frozen_importlib
import _host
import _reactor
import ast
import asyncio
import base64
import builtins
import dis
import gc
import inspect
import io
import json
import linecache
import math
import os
import random
import sys
import traceback
import types

FILE = "<hatchway>"
FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
FRAMES_BELOW = 12  # ours and the driver's, under a program's first frame
FRAMES_FOR_IMPORTS = 2000
PRELOADED = (  # part of the image: importing them in a session costs nothing, neither time nor memory
    "numpy pandas matplotlib.pyplot scipy.stats scipy.optimize scipy.signal scipy.interpolate scipy.integrate scipy.sparse.linalg "
    "sklearn.linear_model sklearn.ensemble sklearn.cluster sklearn.model_selection sklearn.metrics sklearn.preprocessing sklearn.pipeline "
    "sklearn.decomposition sklearn.neighbors sklearn.svm sklearn.tree sklearn.datasets statsmodels.api statsmodels.formula.api seaborn sympy "
    "networkx PIL.Image PIL.ImageDraw bs4 lxml.etree lxml.html openpyxl xlsxwriter yaml jinja2 sqlite3 pypdf reportlab.pdfgen.canvas regex html5lib "
    "tabulate tqdm attrs dateutil.parser dateutil.relativedelta decimal fractions statistics datetime csv hashlib uuid tempfile zipfile tarfile "
    "unittest logging urllib.parse urllib.request http.client xml.etree.ElementTree xml.dom.minidom concurrent.futures email.message html "
    "pickle shelve heapq bisect typing dataclasses pathlib shutil glob fnmatch argparse textwrap string secrets zoneinfo calendar configparser "
    "tomllib contextlib functools itertools collections copy pprint timeit queue threading doctest gzip bz2 lzma struct numbers cmath weakref"
).split()
SOURCES_KEPT = 512
MISSING = object()
CODES = (
    (SyntaxError, "SYNTAX_ERROR"),
    (NameError, "UNKNOWN_TOOL"),
    (ImportError, "UNSUPPORTED_FEATURE"),
    (NotImplementedError, "UNSUPPORTED_FEATURE"),
    (RecursionError, "STACK_OVERFLOW"),
    (MemoryError, "MEMORY_EXCEEDED"),
)

encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
decode = json.JSONDecoder().decode
displays = []
sources = []
count = 0
depth_limit = 256
set_recursion_limit = sys.setrecursionlimit


class ToolError(Exception):
    """A capability refused or failed. `code` says how."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class NotSerializable(Exception):
    pass


# --- capabilities -----------------------------------------------------------------------------------------------------------------


class Tool:
    """One capability, called like a function."""

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args, **kwargs):
        try:
            body = encode({"name": self.__name__, "args": args, "kwargs": kwargs})
        except (TypeError, ValueError) as error:
            raise ToolError("INVALID_ARGUMENT", f"arguments of {self.__name__} must be plain JSON: {error}") from None
        answer = decode(_host.call(b"C" + body.encode()).decode())
        if "error" in answer:
            raise ToolError(answer["error"]["code"], answer["error"]["message"])
        return answer["value"]

    def __repr__(self):
        return f"<capability {self.__name__}>"


class Tools:
    """`tools.name(...)` calls a capability; `dir(tools)` lists them. `await tools.name(...)` works too."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Tool(name)

    def __dir__(self):
        return decode(_host.call(b"N").decode())

    def __repr__(self):
        return f"<tools: {', '.join(dir(self)) or 'none'}>"


async def awaited(value):
    return await value if inspect.isawaitable(value) else value


class AwaitTools(ast.NodeTransformer):
    """`await tools.f()` awaits a value that is already there; everything else is left as it is."""

    def visit_Await(self, node):
        self.generic_visit(node)
        root = node.value.func if isinstance(node.value, ast.Call) else None
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id == "tools":
            wrapped = ast.Call(ast.Name("__hatchway_awaited__", ast.Load()), [node.value], [])
            node.value = ast.fix_missing_locations(ast.copy_location(wrapped, node.value))
        return node


def offer(names):
    """Registered capabilities are also plain functions, under names that nothing else has."""
    for name in [n for n, value in vars(builtins).items() if isinstance(value, Tool)]:
        delattr(builtins, name)
    for name in names:
        if not hasattr(builtins, name):
            setattr(builtins, name, Tool(name))


# --- asyncio without sockets or threads ---------------------------------------------------------------------------------------------


class Sleeper:
    """Stands where the event loop expects a selector: with no sockets, waiting for events is sleeping."""

    def select(self, timeout):
        if timeout is None:
            raise RuntimeError("nothing is left that could wake the event loop")
        if timeout > 0:
            import time

            time.sleep(timeout)
        return ()

    def close(self):
        pass


class Loop(asyncio.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = Sleeper()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass

    def run_in_executor(self, executor, function, *args):
        """There are no threads: the call happens now."""
        future = self.create_future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    async def shutdown_default_executor(self, timeout=None):
        pass


session_loop = None


def run_coroutine(coroutine):
    """Top-level await: one loop for the whole session, so that tasks go on in the next run."""
    global session_loop
    if session_loop is None or session_loop.is_closed():
        session_loop = Loop()
        asyncio.set_event_loop(session_loop)
    return session_loop.run_until_complete(coroutine)


# --- displays ---------------------------------------------------------------------------------------------------------------------------

RICH = (
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_latex_", "text/latex"),
)


def add_display(mime, data):
    if isinstance(data, bytes):
        data = base64.b64encode(data).decode()
    displays.append({"mime": mime, "data": data})


def show_rich(value):
    """Adds what the object knows to show of itself; False if that is nothing."""
    if isinstance(value, type):
        return False
    bundle = getattr(value, "_repr_mimebundle_", None)
    if callable(bundle):
        data = bundle()
        data = data[0] if isinstance(data, tuple) else data
        for mime, item in data.items():
            add_display(mime, item if isinstance(item, (str, bytes)) else encode(item))
        return bool(data)
    shown = False
    for name, mime in RICH:
        method = getattr(value, name, None)
        data = method() if callable(method) else None
        if data is not None:
            add_display(mime, data[0] if isinstance(data, tuple) else data)
            shown = True
    return shown


def display(*values):
    """Shows figures, tables, images and the like beside the program's output."""
    for value in values:
        if is_figure(value):
            add_figure(value)
        elif not show_rich(value):
            add_display("text/plain", value if isinstance(value, str) else repr(value))


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def add_figure(figure):
    target = io.BytesIO()
    figure.savefig(target, format="png", bbox_inches="tight")
    add_display("image/png", target.getvalue())


def show_figures(*args, **kwargs):
    """What `plt.show()` does, and what happens to figures still open when a program ends."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and pyplot._pylab_helpers.Gcf.figs:
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            if figure.axes or figure.texts or figure.images:
                add_figure(figure)
        pyplot.close("all")


def backend(name):
    """A matplotlib backend, made when matplotlib asks for it."""
    if name not in ("FigureCanvas", "FigureManager"):
        raise AttributeError(name)
    from matplotlib.backends.backend_agg import FigureCanvasAgg, FigureManagerBase

    class Manager(FigureManagerBase):
        pyplot_show = staticmethod(show_figures)

    class Canvas(FigureCanvasAgg):
        manager_class = Manager

    module = sys.modules["_hatchway_backend"]
    module.FigureCanvas, module.FigureManager = Canvas, Manager
    return getattr(module, name)


def is_artist(value):
    """What plotting calls return: not a result anyone wants as JSON."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return type(value).__module__.startswith(("matplotlib.", "seaborn."))


# --- results and errors ---------------------------------------------------------------------------------------------------------------


def check_plain(value):
    """Plain JSON only: string keys, finite floats, no cycles."""
    pending, seen = [value], 0
    while pending:
        item = pending.pop()
        seen += 1
        kind = type(item)
        if kind in (str, int, bool, type(None)):
            continue
        if kind is float:
            if not math.isfinite(item):
                raise NotSerializable(f"a result cannot hold {item!r}")
        elif kind is dict:
            for key in item:
                if type(key) is not str:
                    raise NotSerializable(f"a result's keys must be strings, not {type(key).__name__}")
            pending.extend(item.values())
        elif kind in (list, tuple):
            pending.extend(item)
        else:
            raise NotSerializable(f"a result cannot hold an object of type {kind.__name__}")
        if seen > 5_000_000:
            raise NotSerializable("a result must be a tree of fewer than 5,000,000 values, without cycles")


def encode_result(value):
    if type(value) is int or value is None or type(value) is bool:
        return b"D" + encode({"result": value}).encode()
    check_plain(value)
    try:
        return b"D" + encode({"result": value}).encode()
    except UnicodeEncodeError:
        raise NotSerializable("a result's text must be valid Unicode") from None
    except RecursionError:
        raise NotSerializable("a result is nested too deeply") from None
    except ValueError as error:
        raise NotSerializable(f"a result {error}") from None


def stores_result(code):
    """Does the program itself assign `result`?"""
    if "result" not in code.co_names:
        return False
    return any(i.argval == "result" and i.opname.startswith(("STORE_NAME", "STORE_GLOBAL")) for i in dis.get_instructions(code))


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
        ours = (FILE, "<reactor>")
        while step is not None and step.tb_frame.f_code.co_filename in ours:
            step = step.tb_next
        error.__traceback__ = step
        while step is not None:
            while step.tb_next is not None and step.tb_next.tb_frame.f_code.co_filename in ours:
                step.tb_next = step.tb_next.tb_next
            step = step.tb_next
        error = error.__cause__ or error.__context__


def hint_of(error, code):
    if code == "UNKNOWN_TOOL":
        name = getattr(error, "name", None) or ""
        known = [*vars(sys.modules["__main__"]), *vars(builtins)]
        import difflib

        near = difflib.get_close_matches(name, known, 1)
        return f"did you mean {near[0]!r}?" if near else None
    if isinstance(error, ImportError):
        return "only the standard library and the bundled packages can be imported; LIMITATIONS.md lists them"
    if code == "STACK_OVERFLOW":
        return "raise limits.max_stack_depth"
    if code == "MEMORY_EXCEEDED":
        return "raise limits.memory_mb"
    return None


def describe(error, filename):
    """The contract's error object; the traceback goes to stderr as Python writes it."""
    code = error.code if isinstance(error, ToolError) else next((c for kind, c in CODES if isinstance(error, kind)), "RUNTIME_ERROR")
    if code == "MEMORY_EXCEEDED":
        error.__traceback__ = None
        gc.collect()
        return {"code": code, "message": "the program ran out of memory", "hint": hint_of(error, code)}
    without_our_frames(error)
    set_recursion_limit(FRAMES_FOR_IMPORTS)
    try:
        sys.stdout.flush()
        if isinstance(error, SyntaxError) and error.filename == filename:
            error.__traceback__ = None  # the program never ran: its frames are the parser's
        sys.stderr.write("".join(traceback.format_exception(error, limit=-50)))
    except Exception:
        sys.stderr.write(f"{type(error).__name__}\n")
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


# --- a turn -----------------------------------------------------------------------------------------------------------------------------


def compile_program(text, filename):
    """The program as (statements, last expression): code objects, either may be None."""
    if "\n" not in text and "await" not in text:
        try:
            return None, compile(text.strip(), filename, "eval")
        except SyntaxError:
            pass
    tree = ast.parse(text, filename, "exec")
    if "await" in text:
        tree = AwaitTools().visit(tree)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = compile(ast.Expression(tree.body.pop().value), filename, "eval", FLAGS)
    return (compile(tree, filename, "exec", FLAGS) if tree.body else None), last


def remember(text, filename):
    """Tracebacks show source lines, also of functions that an earlier run defined."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    sources.append(filename)
    if len(sources) > SOURCES_KEPT:
        linecache.cache.pop(sources.pop(0), None)


def evaluate(code, names):
    value = eval(code, names)
    return run_coroutine(value) if code.co_flags & inspect.CO_COROUTINE else value


def run_program(request, filename):
    """Runs a program and gives the encoded outcome."""
    names = sys.modules["__main__"].__dict__
    statements, last = compile_program(request["code"], filename)
    if request.get("validate_only"):
        return b'D{"result":null}'
    inputs = request.get("inputs")
    if inputs:
        names.update(inputs)
    before = names.get("result", MISSING)
    if statements is not None:
        evaluate(statements, names)
    value = evaluate(last, names) if last is not None else None
    after = names.get("result", MISSING)
    explicit = after is not before or (after is not MISSING and statements is not None and stores_result(statements))
    if explicit:
        value = after
    elif value is not None:
        if is_figure(value) or is_artist(value) or (type(value).__module__ != "builtins" and show_rich(value)):
            value = None
    show_figures()
    if displays:
        encode_result(value)
        return b"D" + encode({"result": value, "displays": displays}).encode()
    return encode_result(value)


def exit_code_of(error):
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 255
    sys.stderr.write(f"{error.code}\n")
    return 1


def report(outcome):
    if displays:
        outcome["displays"] = displays
    return b"D" + encode(outcome).encode("utf-8", "replace")


def take_turn(text, name):
    global count, depth_limit
    request = decode(text)
    count += 1
    filename = request.get("filename") or f"<run {count}>"
    displays.clear()
    if "seed" in request:
        reseed(request["seed"])
    if "tools" in request:
        offer(request["tools"])
    if "env" in request:
        os.environ.update(request["env"])
    remember(request["code"], filename)
    depth_limit = request.get("max_stack_depth", 256)
    set_recursion_limit(depth_limit + FRAMES_BELOW)
    try:
        outcome = run_program(request, filename)
    except SystemExit as error:
        outcome = report({"exit_code": exit_code_of(error)})
    except NotSerializable as error:
        hint = "return plain JSON: None, booleans, numbers, strings, lists, and dicts with string keys (numpy and pandas: use .tolist() or .to_dict())"
        outcome = report({"error": {"code": "RESULT_NOT_SERIALIZABLE", "message": str(error), "hint": hint}, "exit_code": 1})
    except BaseException as error:
        outcome = report({"error": describe(error, filename), "exit_code": 1})
    set_recursion_limit(FRAMES_FOR_IMPORTS)
    sys.stdout.flush()
    sys.stderr.flush()
    _host.call(outcome)


def reseed(seed):
    """A forked image shares its generators' state: every session gets its own."""
    number = int(seed, 16)
    random.seed(number)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(number & 0xFFFFFFFF)


def limited_recursion(limit):
    """`sys.setrecursionlimit` for programs: up to the session's limit."""
    if limit < 1:
        raise ValueError("recursion limit must be greater or equal than 1")
    set_recursion_limit(min(limit, depth_limit) + FRAMES_BELOW)


find_and_load = _frozen_importlib._find_and_load


def find_and_load_deeply(name, import_):
    """Imports nest deeper than programs do: a module's own imports are not the program's recursion."""
    limit = sys.getrecursionlimit()
    set_recursion_limit(max(limit, FRAMES_FOR_IMPORTS))
    try:
        return find_and_load(name, import_)
    finally:
        set_recursion_limit(limit)


def preload():
    import importlib

    for name in PRELOADED:
        importlib.import_module(name)


def settle():
    """The last thing before the image is frozen: forget the warm-up."""
    global count, session_loop
    count, session_loop = -1, None  # one more warm-up turn follows
    for filename in sources:
        linecache.cache.pop(filename, None)
    sources.clear()
    gc.collect()
    gc.freeze()


def install():
    builtins.tools = Tools()
    builtins.display = display
    builtins.__hatchway_awaited__ = awaited
    builtins.ToolError = ToolError
    sys.setrecursionlimit = limited_recursion
    _frozen_importlib._find_and_load = find_and_load_deeply
    asyncio.events.new_event_loop = Loop
    asyncio.new_event_loop = Loop
    asyncio.runners.events.new_event_loop = Loop
    canvas = types.ModuleType("_hatchway_backend")
    canvas.__getattr__ = backend
    sys.modules["_hatchway_backend"] = canvas
    sys.path.insert(0, "")
    os.makedirs("/workspace", exist_ok=True)
    os.chdir("/workspace")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    _reactor._run_turn = take_turn


install()
