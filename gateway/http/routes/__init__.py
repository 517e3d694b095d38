"""The operations of the service, one file for each noun. Each has `operations(service, …) -> list[Operation]`.

Rules: a handler here translates and nothing more: from a call to a method of the service, from what comes back to an answer. One
that only passes arguments on is a lambda in its row, with a `name`. Who may call is the operation's `audience`.

In reading order: `sessions`, `runs`, `files`, `values`, `snapshots`, `capabilities`, `hooks`, `approvals`, `policies`, `audit`,
`registry`, `runners`, `runner_commands`, `runner_files`, `tenants`.
"""
