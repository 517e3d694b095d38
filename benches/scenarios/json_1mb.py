"""1 MB of JSON parsed, transformed and written again, beside the native interpreters and peers. The text is made once and kept
in the session.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from benches.harness import Bench, Contender, Scenario
from benches.natives import node, node_worker
from benches.sessions import ROOMY, TITLES, open_box, ready, run

_ROWS = 12_000
PYTHON_DATA = f"""
import json
text = json.dumps([
    {{"id": i, "name": "row %d" % i, "tags": ["a", "b", "c"], "price": i * 1.5, "on": i % 2 == 0}}
    for i in range({_ROWS})
])
"""
PYTHON = """
rows = json.loads(text)
for row in rows:
    row["total"] = row["price"] * 2
len(json.dumps([row for row in rows if row["on"]]))
"""
JAVASCRIPT_DATA = f"""
var text = JSON.stringify(Array.from({{length: {_ROWS}}}, (_, i) => (
  {{id: i, name: "row " + i, tags: ["a", "b", "c"], price: i * 1.5, on: i % 2 == 0}}
)));
text.length
"""
JAVASCRIPT = """
var rows = JSON.parse(text);
for (const row of rows) row.total = row.price * 2;
%sJSON.stringify(rows.filter(row => row.on)).length
"""


def _answer(number: type[int] | type[float], **how: Any) -> int:
    """How long the text is that all must come to."""
    kept = range(0, _ROWS, 2)
    rows: list[dict[str, Any]] = [{"id": i, "name": f"row {i}", "tags": ["a", "b", "c"]} for i in kept]
    for row in rows:
        row.update(price=number(row["id"] * 1.5), on=True, total=number(row["id"] * 3))
    return len(json.dumps(rows, **how))


_ANSWERS = {"python": _answer(float), "javascript": _answer(int, separators=(",", ":"))}
"""JavaScript writes whole numbers without a fraction, and nothing after a comma."""
_DATA = {"python": PYTHON_DATA, "javascript": JAVASCRIPT_DATA}
_CODE = {"python": PYTHON, "javascript": JAVASCRIPT % ""}


def _native_python() -> Callable[[], None]:
    scope: dict[str, object] = {"json": json}
    exec(PYTHON_DATA, scope)  # noqa: S102  # our own constants above
    compiled = compile(PYTHON, "<run>", "exec")
    return lambda: exec(compiled, scope)  # noqa: S102


def measure(bench: Bench) -> None:
    contenders = [Contender("CPython", _native_python(), role="native", beside="Python, 1 MB of JSON")]
    worker = node_worker() if node() else None
    if worker is None:
        bench.missing("node", "node is not installed")
    else:
        worker.ask(code=JAVASCRIPT_DATA.replace("var text", "globalThis.text"))
        ours = "JavaScript, 1 MB of JSON"
        asked = JAVASCRIPT % "return "
        contenders.append(Contender("node", lambda: worker.ask(code=asked)["ms"], role="native", reads=True, beside=ours))
    for language, code in _CODE.items():
        why = ready(language)
        if why:
            bench.missing(f"{TITLES[language]}, 1 MB of JSON", why)
            continue
        box = open_box(limits=ROOMY)
        run(box, _DATA[language], language)
        label = f"{TITLES[language]}, 1 MB of JSON"
        contenders.append(Contender(label, partial(run, box, code, language, _ANSWERS[language])))
    try:
        bench.interleave(*contenders, repetitions=bench.count(15, 5), warmup=1)
    finally:
        if worker is not None:
            worker.close()
    if bench.peers is not None:
        for language, code in _CODE.items():
            label = f"{TITLES[language]}, 1 MB of JSON"
            beside = [Contender(f"{label} (beside peers)", one.run) for one in contenders if one.label == label]
            bench.peers.interleave(
                bench, "run", *beside, repetitions=bench.count(8, 3), language=language, title="1 MB of JSON",
                setup={"code": _DATA[language]}, fields={"code": code}, expect=str(_ANSWERS[language]),
                ours={language: f"{label} (beside peers)"},
            )  # fmt: skip


SCENARIOS = [Scenario("json_1mb", "1 MB of JSON, parsed, transformed, written", measure, parts=3)]
