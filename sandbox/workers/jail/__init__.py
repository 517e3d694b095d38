"""The jail of worker processes.

In reading order: `jail` (the layers, in order), `system_calls` (which calls are allowed),
`cgroups` (the kernel's memory limit).
"""
