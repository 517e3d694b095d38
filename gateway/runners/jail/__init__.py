"""The jail of `unix-local` sessions. Standard library only, but for `handle`.

In reading order: `handle` (the gateway's end), `supervisor` (starts commands and outlives none), `command_rules` (what a command
finds and may ask for), `processes` (those of the session).
"""
