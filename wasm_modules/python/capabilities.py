"""`tools`: capabilities of the host, called like functions."""

import ast
import builtins
import inspect

import _host
from _hatchway.plain import decode, encode


class ToolError(Exception):
    """A capability refused or failed. `code` says how."""

    __module__ = "builtins"

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


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
