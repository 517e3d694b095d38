"""WASI: the system interface of guests, over a session's filesystem.

In reading order: `wasi` (all functions, and the process), `path_calls` (by name), `file_calls` (by descriptor),
`transfer_calls` (reading and writing), `abi` (layouts and numbers).
"""
