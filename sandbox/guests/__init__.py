"""Guests: the interpreters that run programs.

In reading order: `images` (compiled and started once), `cpython` (its thread in a guest's memory), `sqlite` (its locks),
`guest` (one turn after another), `memory_use` (what turns write), `state` (a guest at rest), `interrupts` (asking one to end by
itself), `host_inputs` (clocks, randomness, standard input), `tape` (recording and replaying a run).
"""
