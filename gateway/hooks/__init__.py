"""Hooks: programs that are told of events, and may refuse or rewrite some of them.

In reading order: `events` (which there are, and what each may do), `specs` (what a hook is), `matchers` (when it fires),
`payloads` (what it is told), `outputs` (what it answers), `merging` (what an answer does), `firing` (the whole way, in one
function), `executors` (how hooks are run: in sandboxes, or by web services), `wasm_inspection` and `wasm_compiler` (tenants'
wasm), `hook_store` (which hooks a tenant has, and how an event reaches them), `session_hooks` (of a session's start and end, and
of the end of a turn).

Specs with mistakes are the caller's fault (`InvalidHooks`); a hook that fails is an `Error` output, decided by its `on_error`.
"""
