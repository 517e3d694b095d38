"""The jail of worker processes: `jail` (the layers, in order), `cgroups` (the kernel's memory limit)."""
