"""Schema trials: a server's schemas are compiled in a child that can be killed, before they are compiled here.

Rules: THREAT[TM-CAP-SCHEMA]: a schema of a few kilobytes can take minutes and gigabytes to compile, with the interpreter's lock
held. One that takes more than a moment of CPU, or more memory than a child has, is refused; so is all that comes when the time
for one server is over. Schemas of the operator's own file are not tried.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from sandbox.capabilities.schemas import compile_schema
from sandbox.confinement.child import Child, ChildDied
from sandbox.errors import RequestError

CPU_SECONDS_MAX: Final = 0.1
MEMORY_BYTES: Final = 512 << 20
SCHEMA_SECONDS: Final = 5.0
SERVER_SECONDS: Final = 20.0


def try_schemas(capabilities: Iterable[tuple[Any, Any]]) -> list[str]:
    """For each pair of an input and an output schema why it is refused; empty if it is not. Waits for the child."""
    until_s = time.monotonic() + SERVER_SECONDS
    with contextlib.closing(Child(f"{__name__}:answer", {"data": MEMORY_BYTES})) as child:
        return [_try(child, schemas, min(SCHEMA_SECONDS, until_s - time.monotonic())) for schemas in capabilities]


def _try(child: Child, schemas: tuple[Any, Any], seconds: float) -> str:
    try:
        request = msgspec.json.encode(schemas)
        return child.ask(request, seconds).decode() if seconds > 0 else "there was no time left to check its schemas"
    except (TypeError, ValueError, RecursionError) as error:
        return f"its schemas are not plain JSON: {error}"
    except TimeoutError:
        return "its schemas take too long to compile"
    except ChildDied:
        return "its schemas take too much memory to compile"


def answer(request: bytes) -> bytes:
    """In the child."""
    compile_schema({"type": "object"}, "")  # what is loaded for the first one is not its fault
    began_s = time.process_time()
    try:
        for what, schema in zip(("input_schema", "output_schema"), msgspec.json.decode(request), strict=True):
            compile_schema(schema, what)
    except RequestError as refused:
        return refused.error.message.encode()
    return b"its schemas take too long to compile" if time.process_time() - began_s > CPU_SECONDS_MAX else b""
