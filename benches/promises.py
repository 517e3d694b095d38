"""What was promised: every number of the project's plan, in its own words, and what holds it.

The plan has eight parts before the one about measuring. `PROMISED` lists the numbers of each part as they were asked for. A
number that a bench can measure names its scenario and promise; one that only a test, a campaign or an examination can show
names that. A test holds this list, the scenarios and SPECIFICATION.md together: a promise without a scenario fails it.
"""

from __future__ import annotations

from dataclasses import dataclass

PARTS = {
    1: "the sandbox", 2: "the shell", 3: "snapshots and forks", 4: "the policy language", 5: "sessions that last",
    6: "capabilities, approvals and hooks", 7: "the gateway", 8: "runners and the registry", 9: "measured beside others",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Promised:
    """`limit` is the number asked for, in the unit of the scenario's promise. `held_by` is used where no scenario can be: a test
    (`file::name`), a command, or an examination that is not ours to run."""

    part: int
    words: str
    limit: float = 0.0
    scenario: str = ""
    promise: str = ""
    held_by: str = ""


def _bench(part: int, words: str, limit: float, scenario: str, promise: str) -> Promised:
    return Promised(part, words, limit, scenario, promise)


def _test(part: int, words: str, held_by: str) -> Promised:
    return Promised(part, words, held_by=held_by)


PROMISED: tuple[Promised, ...] = (
    _bench(
        1,
        "new Python session to first result ≤ 0.2 × python3 -c",
        0.2,
        "new_session",
        "new Python session to first result, of python3 -c",
    ),
    _bench(1, "new JavaScript session to first result ≤ 1 ms", 1, "new_session", "new JavaScript session to first result"),
    _bench(1, "warm 1+1 in Python ≤ 0.1 ms", 0.1, "warm_call", "warm Python 1+1"),
    _bench(1, "warm 1+1 in JavaScript ≤ 0.05 ms", 0.05, "warm_call", "warm JavaScript 1+1"),
    _bench(1, "hatchway run -c 1+1 from a cold process ≤ 250 ms", 250, "cold_start", "hatchway run -c 1+1 from a cold process"),
    _bench(
        1, "private memory of an idle Python session ≤ 1.3 MB", 1.3, "idle_memory", "private memory of an idle Python session"
    ),
    _bench(1, "two sessions on two cores ≥ 1.7 × one", 1.7, "two_cores", "two sessions on two cores"),
    _bench(1, "deadlines at most 10 ms late at the median", 10, "deadlines", "a deadline is kept, median over all attacks"),
    _bench(1, "deadlines at most 30 ms late at the worst", 30, "deadlines", "a deadline is kept, the worst of all attacks"),
    _bench(1, "cancel stops a run within 20 ms", 20, "cancelling", "a run is cancelled, the worst of all attacks"),
    _test(1, "make test green from a fresh clone, the second run under 5 minutes", "make test"),
    _test(1, "each of six limits holds in each language", "tests/sandbox/test_attacks.py"),
    _bench(2, "fresh shell session to echo hi ≤ 0.3 ms", 0.3, "new_session", "new shell session to echo hi"),
    _bench(2, "warm echo hi ≤ 60 µs", 0.06, "warm_call", "warm shell echo hi"),
    _bench(
        2, "100,000 arithmetic iterations in at most half of bash's time", 0.5, "shell_loops", "100,000 arithmetic steps, of bash"
    ),
    _bench(2, "jq over 1 MB not slower than native jq", 1, "shell_loops", "jq over 1 MB, of native jq"),
    _bench(2, "private memory of an idle shell session ≤ 150 KB", 0.15, "idle_memory", "private memory of an idle shell session"),
    _test(2, "97 % of some 1,700 public cases agree with bash", "an independent examination; ours: tests/guests/test_cases.py"),
    _bench(3, "fork from a template ≤ 0.6 ms, Python with pandas", 0.6, "forks", "fork of a template, Python with pandas"),
    _bench(3, "private memory per fork ≤ 1.5 MB, plain Python", 1.5, "fork_memory", "private memory per fork, plain Python"),
    _bench(3, "fork of a live small Python session ≤ 5 ms", 5, "forks", "fork of a live small Python session"),
    _bench(3, "save ≤ 15 ms with json, re and 100,000 integers", 15, "snapshots", "save: Python with 100,000 integers"),
    _bench(3, "at most 1 MB", 1000, "snapshots", "size: Python with 100,000 integers"),
    _bench(3, "restore to first result ≤ 10 ms", 10, "snapshots", "restore to first result: Python with 100,000 integers"),
    _bench(3, "JavaScript save ≤ 2 ms", 2, "snapshots", "save: JavaScript session"),
    _bench(3, "JavaScript restore ≤ 2 ms", 2, "snapshots", "restore to first result: JavaScript session"),
    _bench(3, "shell save ≤ 2 ms", 2, "snapshots", "save: shell session"),
    _bench(3, "shell restore ≤ 2 ms", 2, "snapshots", "restore to first result: shell session"),
    _bench(3, "recording costs ≤ 5 % on a CPU-bound run", 1.05, "recording", "a recorded CPU-bound run"),
    _bench(3, "fork latency up to 5,000 live forks, as a chart", 2, "fork_density", "fork with 5,000 alive"),
    _test(
        3,
        "1,000 forks answer correctly and differ in random.random()",
        "tests/sandbox/guests/test_state.py::test_a_thousand_forks_answer_correctly_and_differ_in_their_random_numbers",
    ),
    _bench(4, "a decision ≤ 1 µs at 10 rules", 1, "policy_decisions", "a decision among 10 rules"),
    _bench(4, "a decision ≤ 1 µs at 100 rules", 1, "policy_decisions", "a decision among 100 rules"),
    _bench(4, "a decision ≤ 1 µs at 1,000 rules", 1, "policy_decisions", "a decision among 1,000 rules"),
    _bench(
        4, "≤ 2 µs when 1,000 rules share one capability", 2, "policy_decisions", "a decision among 1,000 rules on one capability"
    ),
    _bench(4, "at least 50 × faster than cedarpy at 10 rules", 50, "policy_decisions", "faster than cedarpy at 10 rules"),
    _bench(4, "1,000 lines parse, check and compile in ≤ 150 ms", 150, "policy_compiling", "1,000 lines compiled"),
    _bench(4, "diff of two 50-rule policies ≤ 1 s", 1000, "policy_tools", "diff of two policies of 50 rules"),
    _bench(4, "explain ≤ 1 ms", 1, "policy_tools", "explain"),
    _test(4, "generated function, interpreter and z3 agree on random triples", "tests/policy/test_policy_equivalence.py"),
    _bench(5, "write + read of a 4 KB file ≤ 2 ms, durable on SQLite", 2, "stores", "write + read of a 4 KB file, durable"),
    _bench(5, "thaw of an evicted Python session ≤ 15 ms", 15, "thaw", "thaw of an evicted Python session"),
    _bench(
        5,
        "10,000 sessions stored with 500 live in ≤ 2 GB",
        2000,
        "gateway_memory",
        "10,000 sessions stored, 500 live, the whole gateway",
    ),
    _test(5, "kill -9 at random instants loses nothing acknowledged", "tests/gateway/lifecycle/test_crash_recovery.py"),
    _bench(6, "a shell hook on a fresh fork ≤ 0.6 ms", 0.6, "hook_firing", "a shell hook on a fresh fork"),
    _bench(6, "1,000 shell hooks a second on two cores", 1000, "hook_firing", "shell hooks per second on two cores"),
    _bench(
        6,
        "a capability call from Python ≤ 60 µs of overhead",
        60,
        "capability_calls",
        "overhead of a capability call from Python",
    ),
    _bench(6, "1,000 calls in one script ≤ 60 ms", 60, "capability_calls", "1,000 capability calls in one script"),
    _bench(6, "policy + audit add ≤ 100 µs to a run", 100, "run_path", "policy and audit, added to a run"),
    _bench(7, "a warm Python run over HTTP ≤ 4 ms", 4, "gateway_latency", "warm Python run over HTTP"),
    _bench(7, "≥ 500 runs a second over HTTP", 500, "gateway_latency", "runs over HTTP a second"),
    _bench(7, "a new session over HTTP ≤ 10 ms", 10, "gateway_latency", "new session over HTTP"),
    _bench(7, "10 × overload keeps ≥ 80 % of peak goodput", 0.8, "gateway_overload", "goodput at ten times the load"),
    _bench(
        8,
        "wasm runner command ≤ 1 ms over the sandbox's own time",
        1,
        "runner_commands",
        "wasm runner, shell command, over the sandbox",
    ),
    _bench(8, "unix-local ≤ 10 ms over fork+exec", 10, "runner_commands", "unix-local command, over fork and exec"),
    _bench(8, "create ≤ 5 ms (wasm)", 5, "runner_commands", "new session of the wasm runner"),
    _bench(8, "fork of a runner session ≤ 5 ms", 5, "runner_commands", "fork of a session of the wasm runner"),
    _bench(8, "registry lookup over 10,000 workers ≤ 1 ms", 1, "registry", "registry lookup over 10,000 workers"),
    _bench(8, "registry list page ≤ 5 ms", 5, "registry", "registry list page of 200 over 10,000 workers"),
)
