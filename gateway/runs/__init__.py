"""Runs: one program run, its calls, approvals, suspension, cancellation and completion.

In reading order: `runs` (the one function that shows the whole way of a run), `turn` (a run on its way), `scheduler` (which
run gets a slot), `run_hooks` (hooks around a run), `execution` (the program in its worker), `calls` (the way of a capability
call, of a program or a hook), `approvals` (an approver decides about a call or a run), `permission` (whether a run may begin),
`suspension` (a run that waits, in the store), `resumption` (a run that continues), `completion` (the run's one write, and its
answer), `cancellation` (runs under way, and how one is ended), `results` (results that the service makes), `single_runs` (a run
in a session of its own), `bound_runs` (a run in the thread that its session is bound to), `governed_commands` (the whole way of a
runner's command), `waiting_commands` (those that wait for an approval).
"""
