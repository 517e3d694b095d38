"""The benchmark harness: every number Hatchway promises, measured next to a baseline in the same run.

In reading order: `harness` (what a scenario, a promise and a sample are), `estimates` (medians and their confidence
intervals), `rounds` (each round of a scenario in a process of its own), `comparison` (is it a change or is it noise),
`machine` (where it was measured), `peers` and `natives` (what stands beside us), `report`, `page` and `specification` (what
people read), `scenarios/` (one small file each).

To add a scenario, put a module into any package under `benches/` with a list `SCENARIOS`; it is found by name,
nothing else registers it.
"""
