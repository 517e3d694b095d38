"""The C interface: our declarations against wasmtime's own, and unchecked calls with guests of a few lines."""

from __future__ import annotations

import ctypes
import threading
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import wasmtime._bindings as bindings

from sandbox.engine import wasmtime
from sandbox.engine.stacks import on_large_stack
from sandbox.engine.wasmtime import Call, Engine, Instance, NativeError, Trap
from tests.sandbox import wat

ADD = """(module (memory (export "memory") 1)
  (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add))"""
I32_EDGES = [0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**32 - 1]
I64_EDGES = [0, 1, -1, 2**63 - 1, -(2**63), 2**32, -(2**32) - 1]


def kind_of(ctype: Any) -> tuple[str, int]:
    """How an argument travels: as a pointer, or as an integer of so many bytes."""
    if ctype is None:
        return "nothing", 0
    is_pointer = ctype in (ctypes.c_void_p, ctypes.c_char_p) or issubclass(ctype, (ctypes._Pointer, ctypes._CFuncPtr))
    return ("pointer" if is_pointer else "integer"), ctypes.sizeof(ctype)


UNBOUND = {"wasmtime_config_async_stack_size_set"}
"""What the library has, and its package no declaration of."""


@pytest.mark.parametrize("name", sorted(wasmtime.DECLARATIONS.keys() - UNBOUND))
def test_declaration_agrees_with_the_packages_bindings(name: str) -> None:
    result, arguments = wasmtime.DECLARATIONS[name]
    theirs = getattr(bindings, f"_{name}")
    assert kind_of(result) == kind_of(theirs.restype)
    assert [kind_of(a) for a in arguments] == [kind_of(a) for a in theirs.argtypes]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (wasmtime.HOST_FUNCTION, bindings.wasmtime_func_unchecked_callback_t),
        (wasmtime.EPOCH_CALLBACK, bindings._wasmtime_store_epoch_deadline_callback.argtypes[1]),
    ],
)
def test_callback_agrees_with_the_packages_bindings(ours: Any, theirs: Any) -> None:
    assert kind_of(ours._restype_) == kind_of(theirs._restype_)
    assert [kind_of(a) for a in ours._argtypes_] == [kind_of(a) for a in theirs._argtypes_]


def test_an_engine_that_the_declarations_were_not_compared_with_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert metadata.version("wasmtime") == wasmtime.VERSION
    monkeypatch.setattr(wasmtime, "WASMTIME_VERSION", "49")
    with pytest.raises(ImportError, match=rf"wasmtime {wasmtime.VERSION} is installed, and 49\.\* is needed"):
        wasmtime._find_package()


def test_compiled_code_is_kept_by_the_engines_whole_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch may be one of the compiler: what the release before it compiled is not used."""
    before = Engine().settings
    monkeypatch.setattr(wasmtime, "VERSION", f"{wasmtime.VERSION}.1")
    assert Engine().settings != before


@pytest.mark.parametrize("name", ["wasmtime_func", "wasmtime_memory", "wasmtime_instance"])
def test_handle_has_room_for_every_kind(name: str) -> None:
    theirs = getattr(bindings, name)
    assert ctypes.sizeof(wasmtime.Handle) >= ctypes.sizeof(theirs)
    assert ctypes.alignment(wasmtime.Handle) == ctypes.alignment(theirs)


def test_extern_is_laid_out_as_the_library_fills_it() -> None:
    theirs = bindings.wasmtime_extern
    assert wasmtime.Extern.kind.offset == theirs.kind.offset and wasmtime.Extern.kind.size == theirs.kind.size
    assert wasmtime.Extern.of.offset == theirs.of.offset and wasmtime.Extern.of.size >= theirs.of.size
    assert ctypes.sizeof(wasmtime.Extern) >= ctypes.sizeof(theirs)
    assert ctypes.alignment(wasmtime.Extern) == ctypes.alignment(theirs)


def test_byte_vector_and_raw_values_have_the_librarys_size() -> None:
    assert ctypes.sizeof(wasmtime.ByteVec) == ctypes.sizeof(bindings.wasm_byte_vec_t)
    assert ctypes.sizeof(bindings.wasmtime_val_raw) == 16  # what trampolines and Instance.call count in


@pytest.mark.parametrize("left", I32_EDGES)
@pytest.mark.parametrize("right", I32_EDGES)
def test_i32_arguments_and_results_keep_every_bit(tmp_path: Path, left: int, right: int) -> None:
    assert wat.start(tmp_path, ADD).call("add", left, right) == (left + right) & 0xFFFFFFFF


@pytest.mark.parametrize("value", I64_EDGES)
def test_host_function_sees_i64_whole_and_in_place(tmp_path: Path, value: int) -> None:
    seen: list[tuple[int, ...]] = []
    text = f"""(module
      (import "host" "mixed" (func $mixed (param i32 i64 i32) (result i32)))
      (memory (export "memory") 1)
      (func (export "go") (result i32) (call $mixed (i32.const -7) (i64.const {value}) (i32.const 2147483647))))"""

    def mixed(a: int, b: int, c: int) -> int:
        seen.append((a, b, c))
        return -5

    instance = wat.start(tmp_path, text, [("host", "mixed", "iIi", "i")], [mixed])
    assert instance.call("go") == (-5) & 0xFFFFFFFF
    a, b, c = seen[0]
    assert (a, c) == (-7, 2147483647)
    assert b & 0xFFFFFFFFFFFFFFFF == value & 0xFFFFFFFFFFFFFFFF


CALLS_OUT = """(module
  (import "host" "out" (func $out (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "go") (param i32) (result i32) (i32.add (call $out (local.get 0)) (i32.const 1)))
  (func (export "alone") (result i32) i32.const 42))"""
OUT = [("host", "out", "i", "i")]


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3), MemoryError()], ids=lambda e: type(e).__name__
)
def test_exception_of_a_host_function_comes_out_of_the_call_and_the_instance_goes_on(
    tmp_path: Path, error: BaseException
) -> None:
    def out(_: int) -> int:
        raise error

    instance = wat.start(tmp_path, CALLS_OUT, OUT, [out])
    for _ in range(3):
        with pytest.raises(type(error)) as caught:
            instance.call("go", 1)
        assert caught.value is error
        assert instance.call("alone") == 42


@pytest.mark.parametrize(
    ("body", "overflow"),
    [
        ("unreachable", False),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", False),
        ("(drop (i32.load (i32.const 65536)))", False),
        ("(call $f)", True),
    ],
)
def test_trap_is_raised_and_tells_a_stack_overflow_from_others(tmp_path: Path, body: str, overflow: bool) -> None:
    text = f"""(module (memory (export "memory") 1) (func $f (export "f") {body})
      (func (export "alone") (result i32) i32.const 42))"""

    def trap() -> None:
        instance = wat.start(tmp_path, text)
        for _ in range(3):
            with pytest.raises(Trap) as caught:
                instance.call("f")
            assert caught.value.overflow is overflow
            assert instance.call("alone") == 42

    on_large_stack(trap)


GROW = """(module (memory (export "memory") 1)
  (func (export "grow") (param i32) (result i32) local.get 0 memory.grow)
  (func (export "size") (result i32) memory.size))"""


def test_memory_grows_to_its_limit_and_not_over_it(tmp_path: Path) -> None:
    instance = wat.start(tmp_path, GROW)
    instance.limit_memory(10 * 65536)
    assert instance.call("grow", 9) == 1
    assert instance.call("grow", 1) == 0xFFFFFFFF
    assert instance.call("grow", 2**31 - 1) == 0xFFFFFFFF
    assert instance.call("size") == 10 and instance.memory_bytes == 10 * 65536
    with pytest.raises(NativeError):
        instance.grow(1)
    instance.limit_memory(11 * 65536)
    instance.grow(1)
    assert instance.call("size") == 11


def test_memory_does_not_move_when_it_grows(tmp_path: Path) -> None:
    instance = wat.start(tmp_path, GROW)
    before = instance.memory_address
    assert instance.call("grow", 4096) == 1
    assert wasmtime._lib.wasmtime_memory_data(instance._context, ctypes.byref(instance._memory)) == before


LOOP = """(module (memory (export "memory") 1) (func (export "loop") (loop $l br $l))
  (func (export "alone") (result i32) i32.const 42))"""


def test_epoch_ticks_interrupt_an_endless_loop(tmp_path: Path) -> None:
    asked = 0

    def interrupt() -> BaseException | None:
        nonlocal asked
        asked += 1
        return TimeoutError() if asked == 3 else None

    instance = wat.start(tmp_path, LOOP, interrupt=interrupt)
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.001):
            wat.ENGINE.tick()

    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        with pytest.raises(TimeoutError):
            instance.call("loop")
    finally:
        stop.set()
        ticking.join()
    assert asked == 3
    assert instance.call("alone") == 42


def test_interrupt_that_raises_ends_the_loop_too(tmp_path: Path) -> None:
    def interrupt() -> BaseException | None:
        raise LookupError

    instance = wat.start(tmp_path, LOOP, interrupt=interrupt)
    wat.ENGINE.tick()
    with pytest.raises(LookupError):
        instance.call("loop")


def test_host_function_may_call_its_own_guest_and_another(tmp_path: Path) -> None:
    inner = wat.start(tmp_path, CALLS_OUT, OUT, [lambda n: n * 100])
    depth = 0

    def out(n: int) -> int:
        nonlocal depth
        depth += 1
        if n == 0:
            return inner.call("go", 7)
        return outer.call("go", n - 1)

    outer = wat.start(tmp_path, CALLS_OUT, OUT, [out])
    assert outer.call("go", 5) == 707
    assert depth == 6


def test_exception_of_a_nested_call_that_is_handled_does_not_leak_into_the_outer_call(tmp_path: Path) -> None:
    def broken(_: int) -> int:
        raise ValueError

    inner = wat.start(tmp_path, CALLS_OUT, OUT, [broken])

    def out(n: int) -> int:
        with pytest.raises(ValueError):
            inner.call("go", n)
        return 1

    assert wat.start(tmp_path, CALLS_OUT, OUT, [out]).call("go", 0) == 2


def test_host_functions_of_two_threads_find_their_own_instance(tmp_path: Path) -> None:
    meet = threading.Barrier(2, timeout=30)
    prepared = wat.prepare(tmp_path, CALLS_OUT, OUT)
    answers: dict[int, int] = {}

    def work(mine: int) -> None:
        def out(n: int) -> int:
            meet.wait()  # both guests are in the middle of a call now
            return mine + n

        instance = Instance(prepared, Call([out], lambda: None))
        instance.watch()
        for _ in range(100):
            answers[mine] = instance.call("go", 1)

    threads = [threading.Thread(target=work, args=(n,)) for n in (1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {1000: 1002, 2000: 2002}


def test_missing_export_wrong_kind_and_invalid_module_are_native_errors(tmp_path: Path) -> None:
    instance = wat.start(tmp_path, ADD)
    assert instance.has("add") and not instance.has("absent") and not instance.has("memory")
    with pytest.raises(NativeError, match="absent"):
        instance.call("absent")
    with pytest.raises(NativeError):
        wat.ENGINE.compile(b"\0asm garbage")
    with pytest.raises(NativeError):
        wat.prepare(tmp_path, CALLS_OUT)  # an import nobody offers
    with pytest.raises(NativeError, match="memory"):
        wat.start(tmp_path, "(module)")


def test_start_function_that_traps_is_raised_when_instantiating(tmp_path: Path) -> None:
    with pytest.raises(Trap):
        wat.start(tmp_path, """(module (memory (export "memory") 1) (func $s unreachable) (start $s))""")


def test_metered_engine_counts_and_other_settings_name_other_code(tmp_path: Path) -> None:
    engine = Engine(metered=True)
    assert engine.settings != wat.ENGINE.settings
    instance = Instance(wat.prepare(tmp_path, ADD, engine=engine), Call([], lambda: None))
    instance.watch()
    instance.set_fuel(1000)
    instance.call("add", 1, 2)
    assert 0 < 1000 - instance.fuel() < 100


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    instance = wat.start(tmp_path, ADD)
    instance.close()
    instance.close()
