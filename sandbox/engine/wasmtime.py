"""wasmtime's C interface, the few functions we use, called directly.

The *unchecked* calls of the C API cost 2 µs into a guest and half a microsecond out of it, against 29 and 11 through the
ordinary Python wrappers. Importing wasmtime's own package takes 50 ms of every cold start, so its shared library is opened
without it; a test compares each declaration below with the package's own bindings.

Rules: pointers never leave this file except as opaque integers held by the classes here. A `Store` must outlive every use
of its memory (`sandbox.engine.memory` keeps a reference). A host function that raises ends the guest's call: the exception
travels in `Call.raised` and is raised again by `Instance.call`. INVARIANT: unchecked calls trust argument counts and types,
so functions are declared from one table of signatures and called with the same table.
"""

from __future__ import annotations

import ctypes
import importlib.util
import threading
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, byref, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint8, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WASMTIME_VERSION = "50"
"""The release that the declarations below were compared with."""
MAX_WASM_STACK_BYTES = 28 << 20
"""Native stack a guest may use: so much that CPython, which measures its own stack in the guest's memory, notices first.
`sandbox.engine.stacks` sees to it that a guest runs on no smaller one than this and the host need."""


class ByteVec(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("data", c_void_p)]


class Handle(ctypes.Structure):
    """wasmtime_func_t, wasmtime_memory_t and wasmtime_instance_t are all small structs passed by pointer."""

    _fields_ = [("store_id", c_uint64), ("private", c_uint64 * 2)]


class Extern(ctypes.Structure):
    _fields_ = [("kind", c_uint8), ("of", c_uint64 * 4)]


HOST_FUNCTION = ctypes.CFUNCTYPE(c_size_t, c_void_p, c_void_p, POINTER(c_int32), c_size_t)
EPOCH_CALLBACK = ctypes.CFUNCTYPE(c_size_t, c_void_p, c_void_p, POINTER(c_uint64), POINTER(c_uint8))
FINALIZER = ctypes.CFUNCTYPE(None, c_void_p)

DECLARATIONS: dict[str, tuple[Any, list[Any]]] = {
    "wasm_config_new": (c_void_p, []),
    "wasmtime_config_epoch_interruption_set": (None, [c_void_p, c_bool]),
    "wasmtime_config_consume_fuel_set": (None, [c_void_p, c_bool]),
    "wasmtime_config_async_stack_size_set": (None, [c_void_p, c_uint64]),
    "wasmtime_config_max_wasm_stack_set": (None, [c_void_p, c_size_t]),
    "wasmtime_config_native_unwind_info_set": (None, [c_void_p, c_bool]),
    "wasm_engine_new_with_config": (c_void_p, [c_void_p]),
    "wasmtime_engine_increment_epoch": (None, [c_void_p]),
    "wasmtime_module_new": (c_void_p, [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)]),
    "wasmtime_module_serialize": (c_void_p, [c_void_p, POINTER(ByteVec)]),
    "wasmtime_module_deserialize": (c_void_p, [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)]),
    "wasmtime_module_deserialize_file": (c_void_p, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "wasmtime_module_delete": (None, [c_void_p]),
    "wasm_byte_vec_delete": (None, [POINTER(ByteVec)]),
    "wasmtime_store_new": (c_void_p, [c_void_p, c_void_p, FINALIZER]),
    "wasmtime_store_context": (c_void_p, [c_void_p]),
    "wasmtime_store_limiter": (None, [c_void_p, c_int64, c_int64, c_int64, c_int64, c_int64]),
    "wasmtime_store_epoch_deadline_callback": (None, [c_void_p, EPOCH_CALLBACK, c_void_p, FINALIZER]),
    "wasmtime_store_delete": (None, [c_void_p]),
    "wasmtime_context_set_epoch_deadline": (None, [c_void_p, c_uint64]),
    "wasmtime_context_set_fuel": (c_void_p, [c_void_p, c_uint64]),
    "wasmtime_context_get_fuel": (c_void_p, [c_void_p, POINTER(c_uint64)]),
    "wasm_valtype_new": (c_void_p, [c_uint8]),
    "wasm_functype_new": (c_void_p, [POINTER(ByteVec), POINTER(ByteVec)]),
    "wasm_functype_delete": (None, [c_void_p]),
    "wasm_valtype_vec_new": (None, [POINTER(ByteVec), c_size_t, POINTER(c_void_p)]),
    "wasmtime_linker_new": (c_void_p, [c_void_p]),
    "wasmtime_linker_define_func_unchecked": (
        c_void_p,
        [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, c_void_p, HOST_FUNCTION, c_void_p, FINALIZER],
    ),
    "wasmtime_linker_instantiate_pre": (c_void_p, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "wasmtime_instance_pre_instantiate": (c_void_p, [c_void_p, c_void_p, POINTER(Handle), POINTER(c_void_p)]),
    "wasmtime_instance_export_get": (c_bool, [c_void_p, POINTER(Handle), c_char_p, c_size_t, POINTER(Extern)]),
    "wasmtime_func_call_unchecked": (c_void_p, [c_void_p, POINTER(Handle), c_void_p, c_size_t, POINTER(c_void_p)]),
    "wasmtime_memory_data": (c_void_p, [c_void_p, POINTER(Handle)]),
    "wasmtime_memory_data_size": (c_size_t, [c_void_p, POINTER(Handle)]),
    "wasmtime_memory_grow": (c_void_p, [c_void_p, POINTER(Handle), c_uint64, POINTER(c_uint64)]),
    "wasmtime_error_new": (c_void_p, [c_char_p]),
    "wasmtime_error_message": (None, [c_void_p, POINTER(ByteVec)]),
    "wasmtime_error_delete": (None, [c_void_p]),
    "wasmtime_trap_new": (c_void_p, [c_char_p, c_size_t]),
    "wasmtime_trap_code": (c_bool, [c_void_p, POINTER(c_uint8)]),
    "wasm_trap_message": (None, [c_void_p, POINTER(ByteVec)]),
    "wasm_trap_delete": (None, [c_void_p]),
}

_VALTYPES = {"i": 0, "I": 1}
_EXTERN_FUNC, _EXTERN_MEMORY = 0, 3
_TRAP_STACK_OVERFLOW = 0


def _find_package() -> tuple[Path, str]:
    """Its folder and its whole version. INVARIANT: unchecked calls go only to a release that they were declared for."""
    spec = importlib.util.find_spec("wasmtime")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"the wasmtime package is missing; install it with: pip install 'wasmtime=={WASMTIME_VERSION}.*'")
    folder = Path(spec.submodule_search_locations[0])
    named = [found.name.removesuffix(".dist-info") for found in folder.parent.glob("wasmtime-*.dist-info")]
    version = named[0].partition("-")[2] if named else ""
    if version.partition(".")[0] != WASMTIME_VERSION:
        raise ImportError(f"wasmtime {version or '?'} is installed, and {WASMTIME_VERSION}.* is needed")
    return folder, version


def _library() -> ctypes.CDLL:
    for found in sorted(_folder.glob("*/_libwasmtime.*")):
        library = ctypes.CDLL(str(found))
        for name, (result, arguments) in DECLARATIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        return library
    raise ImportError("wasmtime's shared library is missing from its package on this platform")


_folder, VERSION = _find_package()
_lib = _library()
_call_unchecked = _lib["wasmtime_func_call_unchecked"]
"""Takes arguments that are converted already: those of an instance's calls stay the same, and to convert them costs as much as to
call."""
_call_unchecked.restype, _call_parameters = DECLARATIONS["wasmtime_func_call_unchecked"]


class NativeError(Exception):
    """wasmtime refused something: a module that does not validate, an instance that does not fit."""


class Trap(Exception):
    """A guest's call ended by a trap. `overflow` tells the native stack ran out."""

    def __init__(self, message: str, overflow: bool = False) -> None:
        super().__init__(message)
        self.overflow = overflow


def _take(vec: ByteVec) -> bytes:
    data = ctypes.string_at(vec.data, vec.size) if vec.data else b""
    _lib.wasm_byte_vec_delete(byref(vec))
    return data


def _check(error: int | None) -> None:
    if error:
        vec = ByteVec()
        _lib.wasmtime_error_message(error, byref(vec))
        _lib.wasmtime_error_delete(error)
        raise NativeError(_take(vec).decode("utf-8", "replace").rstrip("\0"))


class Engine:
    """A compiler and its settings. Lives as long as the process: engines are few and never freed."""

    def __init__(self, *, metered: bool = False) -> None:
        config = _lib.wasm_config_new()
        _lib.wasmtime_config_epoch_interruption_set(config, True)
        _lib.wasmtime_config_consume_fuel_set(config, metered)
        _lib.wasmtime_config_async_stack_size_set(config, MAX_WASM_STACK_BYTES)  # nothing uses it, but it must not be less
        _lib.wasmtime_config_max_wasm_stack_set(config, MAX_WASM_STACK_BYTES)
        _lib.wasmtime_config_native_unwind_info_set(config, False)
        self.metered = metered
        self._pointer = _lib.wasm_engine_new_with_config(config)

    @property
    def settings(self) -> str:
        """What compiled code depends on, besides the wasm itself: part of every cache key. A patch may be one of the compiler, so
        it is the whole version. The stack's size is none of it: code is told where its stack ends when it is called."""
        return f"wasmtime-{VERSION} epochs fuel={int(self.metered)} unwind=0"

    def tick(self) -> None:
        _lib.wasmtime_engine_increment_epoch(self._pointer)

    def compile(self, wasm: bytes) -> bytes:
        """Native code for `wasm`, as bytes that only `load` of the same settings understands. Releases the GIL."""
        module = c_void_p()
        _check(_lib.wasmtime_module_new(self._pointer, wasm, len(wasm), byref(module)))
        vec = ByteVec()
        try:
            _check(_lib.wasmtime_module_serialize(module, byref(vec)))
        finally:
            _lib.wasmtime_module_delete(module)
        return _take(vec)

    def load(self, path: Path) -> Module:
        """Map compiled code. THREAT[TM-ISO-CODE]: the caller has authenticated the file; a wrong byte here is native code."""
        module = c_void_p()
        _check(_lib.wasmtime_module_deserialize_file(self._pointer, str(path).encode(), byref(module)))
        return Module(self, module.value or 0)

    def load_code(self, code: bytes) -> Module:
        """The same from memory: in a jail no file can be opened, not even one without a name. Under the same condition."""
        module = c_void_p()
        _check(_lib.wasmtime_module_deserialize(self._pointer, code, len(code), byref(module)))
        return Module(self, module.value or 0)


class Module:
    """Loaded code. Like engines, modules are few and live as long as the process."""

    def __init__(self, engine: Engine, pointer: int) -> None:
        self.engine = engine
        self._pointer = pointer


class _Current(threading.local):
    """The call that runs on this thread: host functions find their instance here."""

    call: Call = None  # type: ignore[assignment]  # it is read during calls only


_current = _Current()


def is_calling() -> bool:
    """Is there a guest on this thread's stack?"""
    return _current.call is not None


Functions = Sequence[Callable[..., int | None]] | Mapping[int, Callable[..., int]]
"""Python functions by their place in the table of imports."""


@dataclass(slots=True, eq=False)
class Call:
    """What one instance's host functions need: Python functions in table order. `interrupt` is asked at every tick at which the
    guest computes; it returns an exception to stop the guest with, or None. `raised` carries one out through its frames."""

    functions: Functions
    interrupt: Callable[[], BaseException | None]
    raised: BaseException | None = None


_CLOSED = Call((), lambda: None)


def _fail(error: BaseException) -> int:
    _current.call.raised = error
    return _lib.wasmtime_trap_new(b"host", 4) or 0


def _trampoline(index: int, parameters: str, results: str) -> Any:
    """A C callback for the host function at `index`: reads the raw 16-byte slots, calls, stores the result. Built as text once
    per import, because a loop over the slots at every host call costs as much as the call itself."""
    reads = []
    for slot, kind in enumerate(parameters):
        low = slot * 4
        reads.append(f"a[{low}]" if kind == "i" else f"(a[{low}] & 0xFFFFFFFF | a[{low + 1}] << 32)")
    call = f"current.call.functions[{index}]({', '.join(reads)})"
    source = (
        "def host(env, caller, a, n):\n"
        "    try:\n"
        f"        {'a[0] = ' if results else ''}{call}\n"
        "        return 0\n"
        "    except BaseException as error:\n"
        "        return fail(error)\n"
    )
    scope: dict[str, Any] = {"current": _current, "fail": _fail}
    exec(source, scope)
    return HOST_FUNCTION(scope["host"])


def _ask_interrupt(context: int, data: int, delta: Any, kind: Any) -> int:
    try:
        stop = _current.call.interrupt()
    except BaseException as error:
        stop = error
    if stop is None:
        delta[0] = 1
        kind[0] = 0
        return 0
    _current.call.raised = stop
    return _lib.wasmtime_error_new(b"interrupted") or 0


_on_epoch = EPOCH_CALLBACK(_ask_interrupt)
_NO_FINALIZER = FINALIZER()
_SLOTS, _SLOT_WORDS = 4, 2
"""Of the raw values of a call, and words of each."""


class Prepared:
    """A module with its imports resolved: instances are made from it."""

    def __init__(self, module: Module, imports: Sequence[tuple[str, str, str, str]]) -> None:
        """`imports` is (module, name, parameters, results) in the order of `Call.functions`; kinds are 'i' (i32), 'I' (i64)."""
        self.module = module
        linker = _lib.wasmtime_linker_new(module.engine._pointer)
        self._callbacks = []
        for index, (space, name, parameters, results) in enumerate(imports):
            callback = _trampoline(index, parameters, results)
            self._callbacks.append(callback)
            kind = _functype(parameters, results)
            s, n = space.encode(), name.encode()
            _check(_lib.wasmtime_linker_define_func_unchecked(linker, s, len(s), n, len(n), kind, callback, None, _NO_FINALIZER))
            _lib.wasm_functype_delete(kind)
        pre = c_void_p()
        _check(_lib.wasmtime_linker_instantiate_pre(linker, module._pointer, byref(pre)))
        self._pointer = pre.value or 0


def _functype(parameters: str, results: str) -> int:
    vecs = []
    for kinds in (parameters, results):
        vec = ByteVec()
        types = (c_void_p * max(1, len(kinds)))(*[_lib.wasm_valtype_new(_VALTYPES[k]) for k in kinds])
        _lib.wasm_valtype_vec_new(byref(vec), len(kinds), ctypes.cast(types, POINTER(c_void_p)))
        vecs.append(vec)
    return int(_lib.wasm_functype_new(byref(vecs[0]), byref(vecs[1])))


class Instance:
    """One guest: a store with one instance and one memory in it. Not thread-safe; one call at a time."""

    def __init__(self, prepared: Prepared, call: Call) -> None:
        self.prepared = prepared
        self._call = call
        self._store: int | None = _lib.wasmtime_store_new(prepared.module.engine._pointer, None, _NO_FINALIZER)
        self._context = _lib.wasmtime_store_context(self._store)
        _lib.wasmtime_store_epoch_deadline_callback(self._store, _on_epoch, None, _NO_FINALIZER)
        if prepared.module.engine.metered:
            self.set_fuel((1 << 63) - 1)
        handle, trap = Handle(), c_void_p()
        outer = _current.call
        _current.call = call
        try:
            error = _lib.wasmtime_instance_pre_instantiate(prepared._pointer, self._context, byref(handle), byref(trap))
            if error or trap.value:
                self._finish(error, trap)
        finally:
            _current.call = outer
        self._handle = handle
        self._memory = self._export("memory", _EXTERN_MEMORY)
        self._functions: dict[str, list[Any]] = {}
        self._arguments = (c_int64 * (_SLOTS * _SLOT_WORDS))()
        self._trap = c_void_p()
        context, _, slots, count, trap = _call_parameters
        self._given = (
            context.from_param(self._context),
            [slots.from_param(ctypes.addressof(self._arguments)), count.from_param(_SLOTS), trap.from_param(self._trap)],
        )
        """What `_call_unchecked` takes before and after the function."""
        self.memory_address: int = _lib.wasmtime_memory_data(self._context, byref(self._memory))

    def _export(self, name: str, kind: int) -> Handle:
        extern = Extern()
        encoded = name.encode()
        if not _lib.wasmtime_instance_export_get(self._context, byref(self._handle), encoded, len(encoded), byref(extern)):
            raise NativeError(f"the module has no export {name!r}")
        if extern.kind != kind:
            raise NativeError(f"the module's export {name!r} is of the wrong kind")
        return Handle.from_buffer(extern, Extern.of.offset)

    def has(self, name: str) -> bool:
        try:
            self._find(name)
        except NativeError:
            return False
        return True

    def _find(self, name: str) -> list[Any]:
        """What `_call_unchecked` takes for an exported function."""
        context, others = self._given
        found = self._functions[name] = [context, _call_parameters[1].from_param(self._export(name, _EXTERN_FUNC)), *others]
        return found

    def call(self, name: str, first: int = 0, second: int = 0) -> int:
        """Call an exported function of at most two i32 parameters and one i32 result. Raises what a host function raised, or
        Trap."""
        function = self._functions.get(name) or self._find(name)
        slots = self._arguments
        slots[0], slots[_SLOT_WORDS] = first, second
        outer = _current.call
        _current.call = self._call
        try:
            error = _call_unchecked(*function)
        finally:
            _current.call = outer
        if error or self._trap.value:
            self._finish(error, self._trap)
        return slots[0] & 0xFFFFFFFF

    def _finish(self, error: int | None, trap: c_void_p) -> None:
        raised, self._call.raised = self._call.raised, None
        message, overflow = "", False
        if trap.value:
            vec, code = ByteVec(), c_uint8(255)
            overflow = bool(_lib.wasmtime_trap_code(trap, byref(code))) and code.value == _TRAP_STACK_OVERFLOW
            _lib.wasm_trap_message(trap, byref(vec))
            message = _take(vec).decode("utf-8", "replace").rstrip("\0")
            _lib.wasm_trap_delete(trap)
            trap.value = None
        if error:
            try:
                _check(error)
            except NativeError as native:
                if raised is None:
                    raise
                message = str(native)
        if raised is not None:
            raise raised
        if message:
            raise Trap(message, overflow)

    @property
    def memory_bytes(self) -> int:
        return int(_lib.wasmtime_memory_data_size(self._context, byref(self._memory)))

    def grow(self, pages: int) -> None:
        _check(_lib.wasmtime_memory_grow(self._context, byref(self._memory), pages, byref(c_uint64())))

    def limit_memory(self, memory_bytes: int) -> None:
        _lib.wasmtime_store_limiter(self._store, memory_bytes, -1, 1, -1, 1)

    def watch(self) -> None:
        """Ask `Call.interrupt` at the next tick, and at each one from then on."""
        _lib.wasmtime_context_set_epoch_deadline(self._context, 1)

    def set_fuel(self, fuel: int) -> None:
        _check(_lib.wasmtime_context_set_fuel(self._context, fuel))

    def fuel(self) -> int:
        left = c_uint64()
        _check(_lib.wasmtime_context_get_fuel(self._context, byref(left)))
        return left.value

    def close(self) -> None:
        """Free the store. Every address into its memory is dead from here on. Functions are let go of too: they hold the guest,
        which holds this, and memory of a size like that must not wait until a collector finds the circle."""
        store, self._store = self._store, None
        if store is not None:
            self._call = _CLOSED
            _lib.wasmtime_store_delete(store)

    def __del__(self) -> None:
        self.close()
