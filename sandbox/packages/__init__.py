"""Packages: pure Python wheels, unpacked once and shown to any number of sessions.

In reading order: `locks` (which wheels a lock file names), `wheels` (what an archive holds, read without trust), `unpacking`
(in a child), `mounting` (the filesystem of sessions that have some), `layers` (a wheel's files on this machine, with bytecode).
"""
