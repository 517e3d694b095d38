"""`hatchway mcp`: a gateway as an MCP server, for agents.

In reading order: `command` (the command and the tools), `arguments` (tools that refuse unknown arguments), `http` (the server
over HTTP, on localhost).
"""
