"""Compiling tenants' wasm modules in a process of its own.

THREAT[TM-HOOK-005]: a module of some kilobytes can take minutes and gigabytes to compile. A child with limits on CPU time and
memory, and a low priority, does it and is killed when it overruns them; one module of a tenant at a time, as many at once as
`gateway.pools.compilation` has threads: bombs neither add up nor keep others waiting.

Rules: only inspected modules are compiled, when they are stored. What the child answers is native code, trusted because our own
compiler made it; nothing else reaches the child but the module. Code is kept by the module's digest, and so are refusals.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections import OrderedDict
from typing import Final, NamedTuple

from gateway.hooks.wasm_inspection import BadModule, inspect_module
from gateway.pools import compilation
from sandbox.confinement.child import Child, ChildDied

CPU_SECONDS: Final = 8
WALL_SECONDS: Final = 16
MEMORY_BYTES: Final = 1 << 30
CODE_BYTES_MAX: Final = 64 << 20
KEPT_BYTES_MAX: Final = 128 << 20
REFUSALS_MAX: Final = 1000
_COMPILED, _REFUSED = b"+", b"-"
_Key = tuple[str, int]


class _Overdue(BadModule):
    """Too late by the wall clock: perhaps the machine's fault, so it is not remembered."""


class Bounds(NamedTuple):
    """What one compilation may take, and how much code is kept."""

    cpu_seconds: int = CPU_SECONDS
    wall_seconds: float = WALL_SECONDS
    kept_bytes: int = KEPT_BYTES_MAX


class Compiler:
    """Native code of modules, made once. Thread-safe. `compiled` counts what was really compiled."""

    def __init__(self, bounds: Bounds = Bounds()) -> None:
        self.bounds = bounds
        self.compiled = 0
        self._code: OrderedDict[_Key, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._refused: OrderedDict[_Key, str] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, module: bytes, memory_bytes: int) -> bytes | None:
        """The code, if the module was compiled before. Raises `BadModule` if it was refused."""
        key = (_digest(module), memory_bytes)
        with self._lock:
            if key in self._refused:
                raise BadModule(self._refused[key])
            if key in self._code:
                self._code.move_to_end(key)
            return self._code.get(key)

    def compile(self, module: bytes, memory_bytes: int) -> bytes:
        """Code for `sandbox.engine.wasmtime.Engine.load_code`, of a module that starts within `memory_bytes`. Raises
        `BadModule`. Blocks while it compiles."""
        code, key = self.find(module, memory_bytes), (_digest(module), memory_bytes)
        if code is not None:
            return code
        try:
            inspect_module(module, memory_bytes)
            self.compiled += 1
            code = _ask_child(module, self.bounds)
        except _Overdue:
            raise
        except BadModule as bad:
            with self._lock:
                self._refused[key] = str(bad)
                if len(self._refused) > REFUSALS_MAX:
                    self._refused.popitem(last=False)
            raise
        with self._lock:
            self._code[key] = code
            self._kept_bytes = sum(map(len, self._code.values()))
            while self._kept_bytes > self.bounds.kept_bytes and len(self._code) > 1:
                self._kept_bytes -= len(self._code.popitem(last=False)[1])
        return code


@functools.cache
def _compiler() -> Compiler:
    return Compiler()


async def compile_module(tenant: str, module: bytes, memory_bytes: int) -> bytes:
    """A tenant's module as native code, when it is the tenant's turn. Raises `BadModule`."""
    compiler = _compiler()
    code = compiler.find(module, memory_bytes)
    return code if code is not None else await compilation.run(tenant, compiler.compile, module, memory_bytes)


@functools.lru_cache(maxsize=8)
def _digest(module: bytes) -> str:
    """A hook's module is the same object from firing to firing, of which Python keeps a hash."""
    return hashlib.sha256(module).hexdigest()


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
