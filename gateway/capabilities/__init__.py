"""Capabilities of the service: where they come from, who holds them, and the way of a call.

In reading order: `sources` (what a source is), `catalogue` (what a tenant can call), `invocation` (the way of a call), then the
sources: `functions`, `endpoints`, `builtins`, `session_files`, `mcp_servers` with `mcp_connections` and `schema_trials`;
`secret_headers` (secrets that headers refer to), `operator_sources` (what the operator's file declares), `policy_gates` (the
policy's word on connections and secrets).
"""
