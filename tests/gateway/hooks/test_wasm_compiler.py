"""Hooks that are a tenant's wasm module."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from typing import Any

import pytest
import wasmtime

from gateway.hooks import wasm_compiler
from gateway.hooks.firing import Fired
from gateway.hooks.specs import from_policy
from gateway.hooks.wasm_compiler import Bounds, Compiler
from gateway.hooks.wasm_inspection import BadModule, inspect_module
from policy import HookCall
from sandbox.capabilities.registry import Capability
from sandbox.workers.interface import CallReply
from tests.gateway.hooks.stage import Stage

MEMORY = 32 << 20
WRITE = '(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))'
READ = '(import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))'
ECHO = f"""(module {WRITE} {READ} (memory (export "memory") 2)
 (func (export "_start")
  (i32.store (i32.const 0) (i32.const 100)) (i32.store (i32.const 4) (i32.const 60000))
  (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
  (i32.store (i32.const 4) (i32.load (i32.const 8)))
  (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"""
MEM = '(memory (export "memory") 1)'
ALLOC = '(func (export "host_alloc") (param i32) (result i32) unreachable)'
PLAIN = '(memory (export "memory") 1) (func (export "_start"))'


def says(text: str, after: str = "") -> str:
    """A module that prints a text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f"""(module {WRITE} (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
     (memory (export "memory") 1) (data (i32.const 16) "{escaped}")
     (func (export "_start") (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const {len(text)}))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))) {after}))"""


def build(text: str) -> bytes:
    return bytes(wasmtime.wat2wasm(text))


def fire(stage: Stage, text: str | bytes, **fields: object) -> str | None:
    stage.programs.files["user", "m.wasm"] = text if isinstance(text, bytes) else build(text)
    return stage.fire("pre_tool_use", {"executor": {"type": "wasm", "program": "m.wasm"}, "on_error": "block", **fields}).blocked


def test_a_module_answers_with_json_on_stdout(stage: Stage) -> None:
    assert fire(stage, says('{"decision":"block","reason":"wasm says no"}')) == "wasm says no"
    assert fire(stage, says("{}")) is None


def test_a_module_gets_the_payload_on_stdin(stage: Stage) -> None:
    assert fire(stage, ECHO) is None, "a payload has no decision, so it allows"
    assert stage.fire("pre_tool_use", {"executor": {"type": "wasm", "program": "m.wasm"}}).outcomes[0].decision == "allow"


def test_a_modules_exit_status_counts_when_it_says_nothing(stage: Stage) -> None:
    assert fire(stage, says("", after="(call $exit (i32.const 3))")) == "hook exited non-zero"
    assert fire(stage, says('{"decision":"allow"}', after="(call $exit (i32.const 3))")) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"(module {PLAIN[:-1]} (loop (br 0))))", "hook timed out after 200 ms"),
        (f"(module {PLAIN[:-1]} unreachable))", "the module broke off: "),
        (f"(module {PLAIN[:-1]} (call 0)))", "the module broke off: "),
        (f"(module {WRITE} {PLAIN[:-1]} (i32.store (i32.const 4) (i32.const 60000))"
         " (loop (drop (call 0 (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))) (br 0))))",
         "hook output exceeded 65536 bytes"),
        (f'(module {PLAIN[:-1]} (loop (br_if 0 (i32.ne (memory.grow (i32.const 1)) (i32.const -1))) unreachable)))',
         "the module broke off: "),
    ],
)  # fmt: skip
def test_a_module_that_misbehaves_is_the_hooks_error(stage: Stage, text: str, reason: str) -> None:
    found = fire(stage, text, timeout_ms=200 if "timed out" in reason else 30_000)
    assert found is not None and found.startswith(reason)


BAD: list[tuple[str, bytes, str]] = [
    ("nothing", b"", "cut off"),
    ("text", b"not wasm at all", "not a core WebAssembly module"),
    ("a component", b"\0asm\x0d\0\1\0", "not a core WebAssembly module"),
    ("cut off", build(f"(module {PLAIN})")[:-3], "cut off"),
    ("no memory", build('(module (func (export "_start")))'), "memory"),
    ("memory not exported", build('(module (memory 1) (func (export "_start")))'), "export its memory"),
    ("no _start", build('(module (memory (export "memory") 1))'), "export _start"),
    ("_start with a parameter", build(f"(module {MEM} (func (export \"_start\") (param i32)))"), "export _start"),
    ("_start with results", build('(module (memory (export "memory") 1) (func (export "_start") (result i32 i32 i32 i32 i32)'
                                  " i32.const 1 i32.const 1 i32.const 1 i32.const 1 i32.const 1))"), "export _start"),
    ("_start is no function", build(f"(module {MEM} (global (export \"_start\") i32 (i32.const 0)))"), "export _start"),
    ("too much memory", build('(module (memory (export "memory") 1000) (func (export "_start")))'), "MiB of memory at its start"),
    ("two memories", build('(module (memory (export "memory") 1) (memory 1) (func (export "_start")))'), "exactly one memory"),
    ("a 64-bit memory", build('(module (memory (export "memory") i64 1) (func (export "_start")))'), "64 bits"),
    ("a start function", build(f"(module {PLAIN} (func $f) (start $f))"), "start function"),
    ("an import of the host",
     build(f'(module (import "host" "call" (func (param i32 i32 i32 i32) (result i32))) {PLAIN})'), "host.call"),
    ("an imported memory",
     build('(module (import "wasi_snapshot_preview1" "m" (memory 1)) (func (export "_start")))'), "only functions"),
    ("an endless table", build(f"(module {PLAIN} (table 1 funcref))"), "without a maximum"),
    ("a huge table", build(f"(module {PLAIN} (table 1 100000000 funcref))"), "entries at most"),
    ("a type that is no function", build(f"(module (type (struct)) {PLAIN})"), "not functions"),
    ("a long count", b"\0asm\1\0\0\0\1\6\xff\xff\xff\xff\x0f\x60", "items of a kind"),
    ("an endless number", b"\0asm\1\0\0\0\1\7\x80\x80\x80\x80\x80\x80\x00", "malformed number"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "reason"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_module_that_is_not_a_plain_command_is_refused_before_it_is_compiled(module: bytes, reason: str) -> None:
    with pytest.raises(BadModule, match=reason):
        inspect_module(module, MEMORY)


def test_any_change_of_a_byte_is_refused_or_accepted_and_never_breaks_the_inspection() -> None:
    module = build(says("{}"))
    for place in range(len(module)):
        for value in (0, 1, 0x7F, 0x80, 0xFF):
            try:
                inspect_module(module[:place] + bytes([value]) + module[place + 1 :], MEMORY)
            except BadModule:
                pass


def test_a_module_with_an_unknown_function_or_invalid_code_is_refused(stage: Stage) -> None:
    unknown = f'(module (import "wasi_snapshot_preview1" "fork" (func (result i32))) {PLAIN})'
    assert "cannot be loaded" in (fire(stage, unknown) or "")
    wrong_type = f'(module (import "wasi_snapshot_preview1" "fd_write" (func (param i64))) {PLAIN})'
    assert "cannot be loaded" in (fire(stage, wrong_type) or "")
    invalid = build(f"(module {PLAIN[:-1]} (drop (i32.const 1))))").replace(b"\x41\x01\x1a", b"\x41\x01\x01")
    assert "does not compile" in (fire(stage, invalid) or "")


def slow(variables: int = 1000, depth: int = 200) -> bytes:
    """1,000 variables that every one of 200 nested loops changes: 11 KB that take most of a minute to compile."""
    names = range(variables)
    inner = " ".join(f"(local.set {n} (i32.add (local.get {n}) (local.get {(n * 7 + 1) % variables})))" for n in names)
    loops = "(loop " * depth + inner + "(br_if 0 (local.get 0)))" * depth
    return build(f'(module (memory (export "memory") 1) (func (export "_start") (local {"i32 " * variables}) {loops}))')


def test_tm_hook_005_a_compile_bomb_is_killed_and_stays_refused() -> None:
    bomb = slow()
    compiler = Compiler(Bounds(cpu_seconds=1))
    for _ in range(2):
        with pytest.raises(BadModule, match="takes more than 1 s or 1024 MiB to compile"):
            compiler.compile(bomb, MEMORY)
    assert compiler.compiled == 1


def test_tm_hook_005_bombs_of_one_tenant_keep_no_other_tenants_hooks_and_threads_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wasm_compiler, "_compiler", functools.cache(lambda: Compiler(Bounds(cpu_seconds=3))))
    bombs, module, small = [slow(1000, depth) for depth in range(200, 208)], build(says("{}")), build(says("{} "))

    async def main() -> None:
        await wasm_compiler.compile_module("victim", module, MEMORY)
        tasks = [asyncio.create_task(wasm_compiler.compile_module("flood", bomb, MEMORY)) for bomb in bombs]
        await asyncio.sleep(0.2)
        async with asyncio.timeout(2.9):
            assert await wasm_compiler.compile_module("victim", module, MEMORY), "what was compiled is found at once"
            assert await asyncio.to_thread(lambda: 1) == 1, "other work finds threads"
            assert await wasm_compiler.compile_module("victim", small, MEMORY), "a new one does not wait for the bombs"
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())


def test_a_compilation_that_is_late_by_the_wall_clock_may_be_tried_again() -> None:
    compiler, module = Compiler(Bounds(wall_seconds=0)), slow(200, 40)
    with pytest.raises(BadModule, match="takes longer than 0 s"):
        compiler.compile(module, MEMORY)
    compiler.bounds = Bounds(wall_seconds=60)
    assert compiler.compile(module, MEMORY)


def test_a_module_is_compiled_once() -> None:
    compiler = Compiler()
    first = compiler.compile(build(f"(module {PLAIN})"), MEMORY)
    assert compiler.compile(build(f"(module {PLAIN})"), MEMORY) is first and compiler.compiled == 1


def test_compiled_code_over_the_limit_is_forgotten_oldest_first() -> None:
    one, two, three = (build(f"(module {PLAIN} (func (drop (i32.const {n}))))") for n in range(3))
    compiler = Compiler()
    size = len(compiler.compile(one, MEMORY))
    compiler.bounds = Bounds(kept_bytes=size * 5 // 2)
    counted = []
    for module in (two, one, three, one, two):
        before = compiler.compiled
        compiler.compile(module, MEMORY)
        counted.append(compiler.compiled - before)
    assert counted == [1, 0, 1, 0, 1]


def test_a_module_writes_files_that_are_kept_if_it_succeeds(stage: Stage) -> None:
    program = """(module (import "wasi_snapshot_preview1" "path_create_directory" (func $mkdir (param i32 i32 i32) (result i32)))
     (memory (export "memory") 1) (data (i32.const 16) "workspace/made")
     (func (export "_start") (if (call $mkdir (i32.const 3) (i32.const 16) (i32.const 14)) (then unreachable))))"""
    stage.programs.files["user", "m.wasm"] = build(program)
    fired = stage.fire("pre_tool_use", {"executor": {"type": "wasm", "program": "m.wasm"}, "on_error": "block"})
    assert fired.blocked is None
    assert [(file.kind, file.path) for one in fired.changes for file in one.written] == [("directory", "/made")]


def calls(message: str, alloc: str = "(i32.const 4096)") -> str:
    """A module that sends a message to the host and prints the reply."""
    escaped = message.replace("\\", "\\\\").replace('"', '\\"')
    return f"""(module {WRITE} (import "host" "call" (func $host (param i32 i32 i32 i32) (result i32)))
     (memory (export "memory") 2) (data (i32.const 16) "{escaped}")
     (func $alloc (export "host_alloc") (param i32) (result i32) {alloc})
     (func (export "_start")
      (drop (call $host (i32.const 16) (i32.const {len(message)}) (i32.const 0) (i32.const 4)))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"""


def asks(stage: Stage, module: str, uses: tuple[str, ...] = ("lookup",)) -> Fired:
    stage.programs.files["policy", "m.wasm"] = build(module)
    (spec,) = from_policy([HookCall("h", "before", "wasm", "m.wasm", 2000, "block", uses)], target="db.query")
    return stage.fire("pre_tool_use", spec)


@pytest.fixture
def lookups(stage: Stage) -> Iterator[list[Any]]:
    """A capability that hooks may be granted, and the calls of it. What it answers is read as a hook's answer."""
    made: list[Any] = []

    async def answered(name: str, args: list[Any], kwargs: dict[str, Any]) -> CallReply:
        made.append((name, args, kwargs))
        return CallReply(value="x" * kwargs["long"] if "long" in kwargs else None)

    stage.tools, stage.on_call = [Capability(name="lookup")], answered
    yield made
    stage.tools, stage.on_call = [], None


def test_a_module_calls_the_capabilities_it_is_granted_and_no_others(stage: Stage, lookups: list[Any]) -> None:
    message = 'C{"name":"lookup","args":[1],"kwargs":{"a":"b"}}'
    assert asks(stage, calls(message)).blocked is None  # {"value":null} is an answer without a decision
    assert lookups == [("lookup", [1], {"a": "b"})]
    assert 'is not JSON (first 80 bytes: ["lookup"])' in str(asks(stage, calls("N")).blocked)
    assert "more than 0 calls" in str(asks(stage, calls(message), uses=()).blocked)
    assert len(lookups) == 1


@pytest.mark.parametrize(
    ("module", "made"),
    [
        (calls("D{}"), 0),
        (calls("C not JSON"), 0),
        (calls('C{"name":"lookup","args":[],"kwargs":{}}', alloc="(i32.const 0)"), 1),
        (calls('C{"name":"lookup","args":[],"kwargs":{}}', alloc="(i32.const -8)"), 1),
        (calls('C{"name":"lookup","args":[],"kwargs":{"long":200000}}'), 1),
        (
            calls(
                'C{"name":"lookup","args":[],"kwargs":{}}',
                alloc="(drop (call $host (i32.const 16) (i32.const 40) (i32.const 0) (i32.const 4))) (i32.const 4096)",
            ),
            1,
        ),
    ],
)
def test_tm_iso_reentry_a_module_that_misuses_the_way_to_capabilities_harms_nobody(
    stage: Stage, lookups: list[Any], module: str, made: int
) -> None:
    asks(stage, module)
    assert len(lookups) == made
    assert asks(stage, says('{"decision":"block","reason":"still here"}')).blocked == "still here"


@pytest.mark.parametrize(
    "module",
    [
        f'(module (import "host" "call" (func (param i32 i32 i32 i32) (result i32))) {PLAIN})',
        f'(module (import "host" "call" (func (param i32))) {PLAIN} {ALLOC})',
        f'(module (import "host" "call" (func (param i32 i32 i32 i32) (result i32))) {PLAIN} (func (export "host_alloc")))',
        f'(module (import "host" "other" (func (param i32 i32 i32 i32) (result i32))) {PLAIN})',
        f'(module (import "host" "call" (global i32)) {PLAIN})',
    ],
)
def test_a_module_with_half_a_way_to_capabilities_is_refused(module: str) -> None:
    with pytest.raises(BadModule, match="host"):
        inspect_module(build(module), MEMORY)
