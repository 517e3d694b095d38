"""Tiny guests written as WebAssembly text, for tests of what lies below the interpreters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import wasmtime

from sandbox.engine.wasmtime import Call, Engine, Instance, Prepared

Import = tuple[str, str, str, str]
ENGINE = Engine()


def prepare(folder: Path, text: str, imports: Sequence[Import] = (), engine: Engine = ENGINE) -> Prepared:
    """Compile a module; `imports` are (module, name, parameters, results) as in `native.Prepared`."""
    path = folder / f"{abs(hash(text)):x}.cwasm"
    path.write_bytes(engine.compile(bytes(wasmtime.wat2wasm(text))))
    return Prepared(engine.load(path), imports)


def start(
    folder: Path,
    text: str,
    imports: Sequence[Import] = (),
    functions: Sequence[Callable[..., int | None]] = (),
    interrupt: Callable[[], BaseException | None] = lambda: None,
) -> Instance:
    instance = Instance(prepare(folder, text, imports), Call(functions, interrupt))
    instance.watch()
    return instance
