"""`tools`: capabilities of the host, called like functions.

A call is made where it stands and gives a plain value. Programs that await the value, or hand it to asyncio as they would a
coroutine, get it too: `awaitable` knows what came from a capability. Calls that stand among the arguments of `asyncio.gather` and
its like are made when asyncio comes to them, so that it is asyncio that is told of failures.
"""

import _frozen_importlib
import _frozen_importlib_external
import ast
import builtins
import difflib
import sys

import _host
from _hatchway.plain import decode, encode

ANSWERS_MIN = 4
JSON_TYPES = frozenset((type(None), bool, int, float, str, list, dict))
LARGE_BYTES = 4096
NAME_MAX = 80
TAKES_COROUTINES = frozenset(("as_completed", "create_task", "ensure_future", "gather", "run", "shield", "wait_for"))

answers = {}
"""What capabilities answered, by identity: as long as the program has it, and a few more."""
answers_max = ANSWERS_MIN
known = frozenset()
made = {}


class ToolError(Exception):
    """A capability refused or failed. `code` says how."""

    __module__ = "builtins"

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class UnknownTool(ToolError, AttributeError):
    """`hasattr` is told of it as of any missing attribute. Programs know it by the name they can catch it by."""

    __module__ = "builtins"
    __qualname__ = "ToolError"

    def __init__(self, name, names):
        near = difflib.get_close_matches(name, names, 1) if len(name) <= NAME_MAX else ()  # it takes its time
        advice = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__("UNKNOWN_TOOL", f"there is no capability {name[:NAME_MAX]!r}{advice}")
        self.name = ""  # or tracebacks would give their own advice next to ours


class Tool:
    """One capability, called like a function. Its name is an identifier: as JSON it is written as it is."""

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name
        self._head = f'C{{"name":"{name}","args":'

    def __call__(self, *args, **kwargs):
        try:
            message = f'{self._head}{encode(args)},"kwargs":{encode(kwargs) if kwargs else "{}"}}}'.encode()
        except (TypeError, ValueError) as error:
            raise ToolError("INVALID_ARGUMENT", f"arguments of {self.__name__} must be plain JSON: {error}") from None
        reply = _host.call(message)
        answer = decode(reply.decode())
        if "error" in answer:
            raise ToolError(answer["error"]["code"], answer["error"]["message"])
        value = answer["value"]
        remember(value, len(reply))
        return value

    def __repr__(self):
        return f"<capability {self.__name__}>"


class Tools:
    """`tools.name(...)` calls a capability; `dir(tools)` lists them. `await tools.name(...)` works too."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in known and name not in (names := dir(self)):
            raise UnknownTool(name, names)
        tool = made.get(name)
        if tool is None:
            tool = made[name] = Tool(name)
        return tool

    def __dir__(self):
        return decode(_host.call(b"N").decode())

    def __repr__(self):
        return f"<tools: {', '.join(dir(self)) or 'none'}>"


def holders(identity):
    return sys.getrefcount(answers[identity])


answers[0] = object()
ALONE = holders(0)
del answers[0]


def remember(value, size_bytes):
    """Keeps an answer. Those the program has dropped are dropped here too, whenever a large one comes or twice as many have come
    as were left last time."""
    global answers_max
    answers[id(value)] = value
    if len(answers) > answers_max or size_bytes > LARGE_BYTES:
        for identity in [one for one in answers if holders(one) <= ALONE]:
            del answers[identity]
        answers_max = max(ANSWERS_MIN, 2 * len(answers))


async def at_once(value):
    return value


def awaitable(value):
    """What a capability answered, as something to await; everything else as it is."""
    return at_once(value) if type(value) in JSON_TYPES and id(value) in answers else value


async def call_later(tool, args, kwargs):
    return tool(*args, **kwargs)


def later(function, /, *args, **kwargs):
    """A call for asyncio: of a capability as a coroutine, of anything else as it is."""
    return call_later(function, args, kwargs) if type(function) is Tool else function(*args, **kwargs)


class AwaitAnswers(ast.NodeTransformer):
    """`await tools.f()` awaits a value that is already there. What cannot be awaited fails as ever: `await` says so itself."""

    def visit_Await(self, node):
        self.generic_visit(node)
        node.value = calling("__hatchway_awaitable__", node.value, [node.value], [])
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(ast.Name("asyncio"), name) if name in TAKES_COROUTINES:
                node.args = [deferred(argument) for argument in node.args]
        return node


def deferred(node):
    """The calls that an expression gives, as calls of `later`."""
    match node:
        case ast.Call():
            return calling("__hatchway_later__", node, [node.func, *node.args], node.keywords)
        case ast.Starred():
            node.value = deferred(node.value)
        case ast.List() | ast.Tuple():
            node.elts = [deferred(element) for element in node.elts]
        case ast.ListComp() | ast.GeneratorExp():
            node.elt = deferred(node.elt)
    return node


def calling(name, place, args, keywords):
    return ast.fix_missing_locations(ast.copy_location(ast.Call(ast.Name(name, ast.Load()), args, keywords), place))


source_to_code = _frozen_importlib_external.SourceLoader.source_to_code


def compile_module(loader, data, path, *args, **kwargs):
    """A program's own modules may await capabilities as it does."""
    if type(data) is bytes and b"await" in data:
        tree = _frozen_importlib._call_with_frames_removed(compile, data, path, "exec", ast.PyCF_ONLY_AST, True)
        data = AwaitAnswers().visit(tree)
    return source_to_code(loader, data, path, *args, **kwargs)


def offer(names):
    """Registered capabilities are also plain functions, under names that nothing else has."""
    global known
    known = frozenset(names)
    for name in [n for n, value in vars(builtins).items() if isinstance(value, Tool)]:
        delattr(builtins, name)
    for name in names:
        if not hasattr(builtins, name):
            setattr(builtins, name, Tool(name))
