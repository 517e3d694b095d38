"""`hatchway mcp`: a gateway as an MCP server, for agents.

In reading order: `command` (the command and the tools), `thread_commands` (tools of a connection that is bound to a thread),
`tool_arguments` (tools that refuse unknown arguments), `http` (the server over HTTP, on localhost).
"""
