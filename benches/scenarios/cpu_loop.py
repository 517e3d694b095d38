"""CPU-bound loops of a million steps, beside the native interpreters and peers. The guests' interpreters are compiled by
wasmtime; node compiles the loop itself, and pyodide and quickjs-wasi are compiled by V8. The shell has `shell_loops`.
"""

from __future__ import annotations

from collections.abc import Callable

from benches.harness import Bench, Contender, Scenario
from benches.natives import node, node_worker
from benches.sessions import ROOMY, TITLES, open_box, ready, run

PYTHON = """
def loop(n):
    total = 0
    for i in range(n):
        total += i * 2 % 7
    return total
loop(1_000_000)
"""
JAVASCRIPT = """
function loop(n) {
  let total = 0;
  for (let i = 0; i < n; i++) total += i * 2 %% 7;
  return total;
}
%sloop(1000000)
"""
_ANSWER = 2_999_997
_CODE = {"python": PYTHON, "javascript": JAVASCRIPT % ""}


def _native_python() -> Callable[[], None]:
    body, call = PYTHON.strip().rsplit("\n", 1)
    scope: dict[str, object] = {}
    exec(body, scope)  # noqa: S102  # our own constant above
    compiled = compile(call, "<run>", "eval")

    def loop() -> None:
        if eval(compiled, scope) != _ANSWER:  # noqa: S307
            raise RuntimeError("CPython gave another answer")

    return loop


def measure(bench: Bench) -> None:
    contenders = [Contender("CPython", _native_python(), role="native", beside="Python loop")]
    worker = node_worker() if node() else None
    if worker is None:
        bench.missing("node", "node is not installed")
    else:
        compiled = Contender(
            "node", lambda: worker.ask(code=JAVASCRIPT % "return ")["ms"], role="native", reads=True, beside="JavaScript loop"
        )
        contenders.append(compiled)
    for language, code in _CODE.items():
        why = ready(language)
        if why:
            bench.missing(f"{TITLES[language]} loop", why)
            continue
        box = open_box(limits=ROOMY)
        contenders.append(
            Contender(f"{TITLES[language]} loop", lambda box=box, code=code, language=language: run(box, code, language, _ANSWER))  # type: ignore[misc]
        )
    try:
        bench.interleave(*contenders, repetitions=bench.count(15, 5), warmup=1)
    finally:
        if worker is not None:
            worker.close()
    if bench.peers is not None:
        for language, code in _CODE.items():
            ours = f"{TITLES[language]} loop (beside peers)"
            beside = [Contender(ours, one.run) for one in contenders if one.label == f"{TITLES[language]} loop"]
            bench.peers.interleave(
                bench, "run", *beside, repetitions=bench.count(8, 3), language=language, title="loop",
                fields={"code": code}, expect=str(_ANSWER), ours={language: ours},
            )  # fmt: skip


SCENARIOS = [Scenario("cpu_loop", "a loop of a million steps, beside native interpreters", measure, parts=3)]
