"""Runners: places where commands run, all behind one interface (`gateway.runners.interface`), with the contract's types (`wire`).

In reading order: `wire`, `interface` (providers and the life of sessions), `command_life`, `workspace_files` and
`runner_session` (what all sessions do), `session_state` (what a session persists), `pool` (sessions by thread), `runners`
(the verbs of the HTTP layer), `provider_table` (which providers there are), `stored_runners` (what the store remembers),
`thread_files` (the files of a session that is bound to a thread), `command_output`, `bindings` (which directories a session may
use), `beneath` (paths held by the kernel), `artifacts`, `secret_refs`, `preview_tickets` (ports that may be seen),
`port_preview`, `proxied_network` (one port out of a jail), `errors`, `mounts/`, `providers/`, `jail/`.

Imports nothing here: the supervisor of a jail starts from this package, and must start fast.
"""
