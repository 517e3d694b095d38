"""Capabilities of the service: where they come from, who holds them, and the way of a call.

Reading order: `sources` (what a source is), `catalogue` (what a tenant can call), `invocation` (the way of a call), then the
sources: `functions`, `endpoints`, `servers` (MCP), `builtins`; `secrets` is what headers may refer to.
"""
