"""Providers: the kinds of places that runners offer.

In reading order: `wasm` with `command_lines` (our own sandbox), `unix_local` (jailed processes), `docker`
with `docker_api`, `ssh` with `far_end` (the program at its other end), `gateway` (a session of another gateway).
"""
