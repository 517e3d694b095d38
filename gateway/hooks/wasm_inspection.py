"""Inspection: what a tenant's wasm module says about itself, read before anything compiles or runs it.

Purpose: the host calls `_start` without a check of types and limits memory only after a module has been instantiated; so both are
settled here. Accepted is what toolchains make for WASI preview 1 commands: one memory, bounded tables, imports of functions from
`wasi_snapshot_preview1`, `memory` and `_start: () -> ()` exported, nothing that runs at instantiation, no types but functions. A
module that calls capabilities imports `host.call` as well, and exports `host_alloc: (i32) -> i32`, where answers are put.

Rules: every count is bounded before it is looped over; what is not understood is refused. Whether the code is valid is the
compiler's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

PAGE_BYTES: Final = 65536
TABLE_ENTRIES_MAX: Final = 65536
_ITEMS_MAX: Final = 100_000
_CUSTOM, _TYPES, _IMPORTS, _FUNCTIONS, _TABLES, _MEMORIES, _EXPORTS, _START = 0, 1, 2, 3, 4, 5, 7, 8
_KNOWN: Final = frozenset(range(13)) - {_START}
_VALUE_TYPES: Final = frozenset({0x7F, 0x7E, 0x7D, 0x7C, 0x7B, 0x70, 0x6F})
_KIND_FUNCTION, _KIND_MEMORY = 0, 2
_Type = tuple[bytes, bytes]
"""What a function takes and gives."""
_PLAIN: Final[_Type] = (b"", b"")
_CALLS: Final[_Type] = (b"\x7f" * 4, b"\x7f")
_ALLOCATES: Final[_Type] = (b"\x7f", b"\x7f")


class BadModule(ValueError):
    """A module we do not take. Never leaves this package: it becomes the hook's error."""


class _Bytes:
    """Reads numbers and names; running out of bytes is a bad module."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)
        self._at = 0

    def byte(self) -> int:
        return self.take(1)[0]

    def take(self, count: int) -> memoryview:
        end = self._at + count
        if end > len(self._data):
            raise BadModule("the module is cut off")
        piece, self._at = self._data[self._at : end], end
        return piece

    def number(self) -> int:
        """An unsigned LEB128 number of at most 32 bits."""
        value = 0
        for shift in range(0, 35, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> 32:
                    break
                return value
        raise BadModule("the module has a malformed number")

    def count(self) -> int:
        found = self.number()
        if found > _ITEMS_MAX:
            raise BadModule(f"the module has more than {_ITEMS_MAX} items of a kind")
        return found

    def name(self) -> str:
        return bytes(self.take(self.number())).decode("utf-8", "replace")

    def sections(self) -> Iterator[tuple[int, _Bytes]]:
        while self._at < len(self._data):
            kind = self.byte()
            yield kind, _Bytes(self.take(self.number()))


def inspect_module(module: bytes, memory_bytes: int) -> None:
    """Raises `BadModule` unless this is a module that a hook may be, within `memory_bytes` at its start."""
    reader = _Bytes(module)
    if bytes(reader.take(8)) != b"\0asm\1\0\0\0":
        raise BadModule("this is not a core WebAssembly module")
    types: list[_Type] = []
    functions: list[int] = []
    exports: dict[str, int] = {}
    memories, calls_host = 0, None
    for kind, body in reader.sections():
        if kind not in _KNOWN:
            what = "a start function" if kind == _START else f"a section of the unknown kind {kind}"
            raise BadModule(f"the module has {what}")
        if kind == _TYPES:
            types += [_read_type(body) for _ in range(body.count())]
        elif kind == _IMPORTS:
            for _ in range(body.count()):
                is_host, function = _read_import(body)
                calls_host = function if is_host else calls_host
                functions.append(function)
        elif kind == _FUNCTIONS:
            functions += [body.number() for _ in range(body.count())]
        elif kind == _TABLES:
            _check_tables(body)
        elif kind == _MEMORIES:
            memories += body.count()
            if memories == 1:
                _check_memory(body, memory_bytes)
        elif kind == _EXPORTS:
            exports |= _read_exports(body)
    if memories != 1:
        raise BadModule("the module must have exactly one memory of its own")

    def type_of(name: str) -> _Type | None:
        index = exports.get(name, len(functions))
        return types[functions[index]] if index < len(functions) and functions[index] < len(types) else None

    if type_of("_start") != _PLAIN:
        raise BadModule("the module must export _start, a function without parameters and results")
    if calls_host is not None and (
        calls_host >= len(types) or types[calls_host] != _CALLS or type_of("host_alloc") != _ALLOCATES
    ):
        raise BadModule("a module that imports host.call: (i32, i32, i32, i32) -> i32 must export host_alloc: (i32) -> i32")


def _read_type(body: _Bytes) -> _Type:
    if body.byte() != 0x60:
        raise BadModule("the module has types that are not functions")
    takes, gives = (bytes([body.byte() for _ in range(body.count())]) for _ in range(2))
    if not _VALUE_TYPES.issuperset(takes + gives):
        raise BadModule("the module has functions of unknown types")
    return takes, gives


def _read_import(body: _Bytes) -> tuple[bool, int]:
    """Whether it is `host.call`, and the number of its type."""
    space, name, kind = body.name(), body.name(), body.byte()
    is_host = (space, name) == ("host", "call")
    if kind != _KIND_FUNCTION or not (is_host or space == "wasi_snapshot_preview1"):
        only = "only functions of wasi_snapshot_preview1, and host.call, are there"
        raise BadModule(f"the module imports {space[:40]}.{name[:40]}; {only}")
    return is_host, body.number()


def _check_tables(body: _Bytes) -> None:
    entries = 0
    for _ in range(body.count()):
        if body.byte() not in (0x70, 0x6F):
            raise BadModule("the module has a table of an unknown kind")
        flags, _least = body.byte(), body.number()
        if flags != 1:
            raise BadModule("the module has a table without a maximum")
        entries += body.number()
        if entries > TABLE_ENTRIES_MAX:
            raise BadModule(f"the module's tables may have {TABLE_ENTRIES_MAX} entries at most")


def _check_memory(body: _Bytes, memory_bytes: int) -> None:
    flags, least = body.byte(), body.number()
    if flags not in (0, 1):
        raise BadModule("the module's memory is shared or 64 bits wide")
    if least * PAGE_BYTES > memory_bytes:
        raise BadModule(f"the module wants {least * PAGE_BYTES >> 20} MiB of memory at its start; {memory_bytes >> 20} are there")


def _read_exports(body: _Bytes) -> dict[str, int]:
    """The numbers of the functions that are exported, by name."""
    found, has_memory = {}, False
    for _ in range(body.count()):
        name, kind, index = body.name(), body.byte(), body.number()
        if kind == _KIND_FUNCTION:
            found[name] = index
        has_memory = has_memory or (name == "memory" and kind == _KIND_MEMORY)
    if not has_memory:
        raise BadModule("the module must export its memory as memory")
    return found
