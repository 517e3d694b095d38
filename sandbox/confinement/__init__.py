"""What confines a process of this machine. Standard library only; policies are data of the caller.

In reading order: `privileges` (rlimits, capabilities, prctl), `namespaces` (users, mounts, processes, network: what is there at
all), `landlock` (files, ports, signals), `seccomp` (system calls), `child` (a process that answers requests and is killed when
it overruns).
"""
