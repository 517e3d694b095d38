"""The sandbox: programs in WebAssembly guests, with limits, files, capabilities and snapshots. Knows no tenants and no policy.

In reading order: `wire` (the contract's types), `result_view` (what
a result says of itself), `languages` and `limits` (the tables of what programs are written in and may
use), `errors` (the error tree), `excerpts` (values in messages), `confinement` (what confines a process), `engine` (wasmtime,
memory, clocks), `filesystem` (a session's files), `encoding` (CBOR, compression, seals), `typescript` (erasing types), `wasi`
(the guests' system interface), `capabilities` (functions of the host), `guests` (interpreters), `sessions` (one run after
another), `packages` (wheels that programs import), `snapshots` (sessions as bytes), `workers` (sessions in jailed processes).
"""
