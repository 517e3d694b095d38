"""Runners: places where commands run, all behind one interface (`gateway.runners.interface`), with the contract's types (`wire`).

Reading order: `wire`, `interface`, `pool` (sessions by id), `runners` (the verbs of the HTTP layer), `providers/`.

Imports nothing here: the supervisor of a jail starts from this package, and must start fast.
"""
