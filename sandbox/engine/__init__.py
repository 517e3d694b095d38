"""The engine: wasmtime, raw memory, and the clocks that end a run.

In reading order: `wasmtime` (the engine's functions), `memory` (a guest's memory and its changes), `limits` (the account of a
run), `stacks` (enough native stack), `signals` (signals while a guest computes), `cache` (compiled guests on disk), `readahead`
(loading them early).
"""
