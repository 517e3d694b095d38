"""The shell beside real bash: loops of 100,000 steps, and jq over 1 MB of JSON beside native jq.

bash and jq are started again for each sample, as there is no other way to use them; their start-up (about 2 ms) is part of the
sample and small beside the work. Beside peers the loops have 20,000 steps: bashkit ends a session after 100,000 commands.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from benches.harness import Bench, Contender, Promise, Scenario
from benches.natives import spawn
from benches.sessions import ROOMY, open_box, ready, run

_ARITHMETIC = "s=0; for ((i=0; i<100000; i++)); do ((s+=i)); done; [ $s = 4999950000 ]"
_TEST = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; [ $i = 100000 ]"
_JQ = "jq '[.[] | select(.on) | .price * 2] | add' data.json > answer.txt; [ $(cat answer.txt) = 107982000 ]"
_ROWS = 12_000
_PEER_PROGRAMS = {
    "(( )) loop, 20,000 steps": "s=0; for ((i=0; i<20000; i++)); do ((s+=i)); done; [ $s = 199990000 ]",
    "[ ] loop, 20,000 steps": "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; [ $i = 20000 ]",
    "jq, 1 MB, beside peers": _JQ,
}
"""What peers are asked for, and what we run beside it."""


def _data() -> str:
    return json.dumps(
        [{"id": i, "name": f"row {i}", "tags": ["a", "b", "c"], "price": i * 1.5, "on": i % 2 == 0} for i in range(_ROWS)]
    )


def measure(bench: Bench) -> None:
    why = ready("shell")
    bash, jq = shutil.which("bash"), shutil.which("jq")
    if why or bash is None:
        bench.missing("shell", why or "bash is not installed")
        return
    box = open_box(language="shell", limits=ROOMY)
    box.files.write_file("data.json", _data().encode())

    def ours(code: str) -> None:
        if run(box, code, "shell").exit_code:
            raise RuntimeError("the shell gave another answer")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data.json").write_text(_data(), "utf-8")
        contenders = []
        for title, code in (("(( )) loop", _ARITHMETIC), ("[ ] loop", _TEST), ("jq, 1 MB", _JQ)):
            if code is _JQ and jq is None:
                bench.missing("native jq", "jq is not installed")
                continue
            command, label = [bash, "-c", code], f"shell {title}"
            contenders.append(
                Contender(f"bash {title}", lambda command=command: spawn(command, cwd=folder), role="native", beside=label)  # type: ignore[misc]
            )
            contenders.append(Contender(label, lambda code=code: ours(code)))  # type: ignore[misc]
        bench.interleave(*contenders, repetitions=bench.count(11, 3), warmup=1)
    if bench.peers is not None:
        for title, code in _PEER_PROGRAMS.items():
            beside = Contender(f"shell {title}", lambda code=code: ours(code))  # type: ignore[misc]
            bench.peers.interleave(
                bench, "run", beside, repetitions=bench.count(11, 3), language="shell", title=title,
                setup={"files": {"/home/user/data.json": _data()}}, fields={"code": f"cd /home/user; {code}"},
                ours={"shell": beside.label},
            )  # fmt: skip


SCENARIOS = [
    Scenario(
        "shell_loops",
        "loops and jq in the shell, beside bash and native jq",
        measure,
        (
            Promise("100,000 arithmetic steps, of bash", 0.5, "×", of="shell (( )) loop", over="bash (( )) loop", issue=3),
            Promise("100,000 steps with [ ], of bash", 0.5, "×", of="shell [ ] loop", over="bash [ ] loop", issue=3),
            Promise("jq over 1 MB, of native jq", 1.0, "×", of="shell jq, 1 MB", over="bash jq, 1 MB", issue=3),
        ),
        parts=4,
    )
]
