"""Capabilities: functions of the host that programs call.

In reading order: `registry` (capabilities and the calls of a run), `declarations` (what a declaration may say), `schemas`
(arguments and answers), `schema_costs` (schemas that would take too long), `plain_json` (values both sides understand),
`rate_limits` (how often), `idempotency` (one effect for one key), `call_threads` (where functions run).
"""
