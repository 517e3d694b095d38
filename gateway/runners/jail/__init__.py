"""The jail of `unix-local` sessions. Standard library only, but for `handle`.

In reading order: `handle` (the gateway's end), `supervisor` (starts commands and outlives none), `kept_output` (what commands
write that outlive the gateway), `command_rules` (what a command finds and may ask for), `processes` (those of the session).
"""
