"""Compiling tenants' wasm modules in a process of its own.

THREAT[TM-HOOK-005]: a module of some kilobytes can take minutes and gigabytes to compile. A child with limits on CPU time and
memory does it and is killed when it overruns them; one compilation at a time, so that bombs do not add up.

Rules: only inspected modules are compiled. What the child answers is native code, trusted because our own compiler made it;
nothing else reaches the child but the module. Code is kept by the module's digest, and so are refusals. Does not know: what the
code is for, who runs it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Final, NamedTuple

from gateway.hooks.wasm_inspection import BadModule, inspect_module
from sandbox.confinement.child import Child, ChildDied

CPU_SECONDS: Final = 8
WALL_SECONDS: Final = 16
MEMORY_BYTES: Final = 1 << 30
CODE_BYTES_MAX: Final = 64 << 20
KEPT_BYTES_MAX: Final = 128 << 20
REFUSALS_MAX: Final = 1000
_COMPILED, _REFUSED = b"+", b"-"
_lock = threading.Lock()


class _Overdue(BadModule):
    """Too late by the wall clock: perhaps the machine's fault, so it is not remembered."""


class Bounds(NamedTuple):
    """What one compilation may take, and how much code is kept."""

    cpu_seconds: int = CPU_SECONDS
    wall_seconds: float = WALL_SECONDS
    kept_bytes: int = KEPT_BYTES_MAX


class Compiler:
    """Native code of modules, made once. Thread-safe; blocks while it compiles. `compiled` counts what was really compiled."""

    def __init__(self, bounds: Bounds = Bounds()) -> None:
        self.bounds = bounds
        self.compiled = 0
        self._code: OrderedDict[str, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._refused: OrderedDict[str, str] = OrderedDict()

    def compile(self, module: bytes, memory_bytes: int) -> bytes:
        """Code for `sandbox.engine.wasmtime.Engine.load_code`, of a module that starts within `memory_bytes`. Raises
        `BadModule`."""
        inspect_module(module, memory_bytes)
        digest = hashlib.sha256(module).hexdigest()
        with _lock:
            if digest in self._refused:
                raise BadModule(self._refused[digest])
            code = self._code.pop(digest, None)
            try:
                if code is None:
                    self.compiled += 1
                    code = _ask_child(module, self.bounds)
            except _Overdue:
                raise
            except BadModule as bad:
                self._refused[digest] = str(bad)
                if len(self._refused) > REFUSALS_MAX:
                    self._refused.popitem(last=False)
                raise
            self._keep(digest, code)
            return code

    def _keep(self, digest: str, code: bytes) -> None:
        self._code[digest] = code
        self._kept_bytes = sum(map(len, self._code.values()))
        while self._kept_bytes > self.bounds.kept_bytes and len(self._code) > 1:
            self._kept_bytes -= len(self._code.popitem(last=False)[1])


def _ask_child(module: bytes, bounds: Bounds) -> bytes:
    child = Child(f"{__name__}:answer", {"cpu": bounds.cpu_seconds, "as": MEMORY_BYTES})
    try:
        answered = child.ask(module, bounds.wall_seconds)
    except TimeoutError:
        raise _Overdue(f"the module takes longer than {bounds.wall_seconds} s to compile") from None
    except ChildDied:
        message = f"the module takes more than {bounds.cpu_seconds} s or {MEMORY_BYTES >> 20} MiB to compile"
        raise BadModule(message) from None
    finally:
        child.close()
    kind, code = answered[:1], answered[1:]
    if kind == _REFUSED:
        raise BadModule(code.decode("utf-8", "replace")[:500])
    return code


def answer(module: bytes) -> bytes:
    """What the child does: compile one module."""
    from sandbox.engine.wasmtime import Engine, NativeError

    try:
        code = Engine().compile(module)
    except NativeError as error:
        return _REFUSED + f"the module does not compile: {str(error).splitlines()[0]}".encode()
    if len(code) > CODE_BYTES_MAX:
        return _REFUSED + f"the module's code has more than {CODE_BYTES_MAX} bytes".encode()
    return _COMPILED + code
