"""The jail of worker processes.

In reading order: `jail` (the layers, in order), `layer` (one layer as found), `system_calls` (which calls are allowed),
`cgroups` (the kernel's memory limit).
"""
