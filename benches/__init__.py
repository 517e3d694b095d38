"""The benchmark harness: every number Hatchway promises, measured next to a baseline in the same run.

In reading order: `harness` (what a scenario, a promise and a sample are), `estimates` (medians and their confidence intervals),
`plan` (how long everything may take), `rounds` (each round of a scenario in a process of its own), `measuring` (the plan
carried out), `results` and `publishing` (what is kept and written), `comparison` and `differences` (is it a change or is it
noise), `machine` (where it was measured), `natives`, `peers` and `environments` (what stands beside us), `standings` and
`reasons` (who is faster, and why), `load` (HTTP clients), `report`, `page`, `bars`, `curves`, `pictures` and `specification`
(what people read), `profiles` and `profiling` (where the time goes), `scenarios/` and `policy/` (one small file each).

To add a scenario, put a module into any package under `benches/` with a list `SCENARIOS`; it is found by name,
nothing else registers it.
"""
