"""WASI: the system interface of guests, over a session's filesystem.

In reading order: `wasi` (all functions, and the process), `path_calls` (by name), `file_calls` (by descriptor), `abi`
(layouts and numbers).
"""
