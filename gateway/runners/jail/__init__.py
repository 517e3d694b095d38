"""The jail of `unix-local` sessions. Standard library only, but for `handle`.

In reading order: `handle` (the gateway's end), `supervisor` (starts commands and outlives none), `command_rules` (what a command
gives up), `processes` (everything below the supervisor).
"""
