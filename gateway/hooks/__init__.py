"""Hooks: programs that are told of events, and may refuse or rewrite some of them.

In reading order: `events` (which there are, and what each may do), `specs` (what a hook is), `matchers` (when it fires),
`payloads` (what it is told), `outputs` (what it answers), `merging` (what an answer does), `firing` (the one function that
shows the whole way), `executors` (how hooks are run), `jobs` (the port to sandboxes, which `gateway.hooks.worker_jobs`
fills), `inspection` and `compiling` (tenants' wasm).

Errors of this package:

    InvalidHooks(Unprocessable)   the caller's fault: specs with mistakes, all of them listed
    (nothing else)                a hook that fails is an `Error` output, decided by its `on_error`
"""
