"""regopy: Rego with a bundle built beforehand, ten rules, a hundred decisions per sample."""

import regopy
from _loop import check, serve

CALLS = 100
RULES = "package bench\nimport rego.v1\ndefault allow := false\n" + "\n".join(
    f'allow if {{ input.action == "tool.c0"; input.kind == "k{i}"; input.amount <= {100 + i}; input.mfa }}' for i in range(10)
)
engine = regopy.Interpreter()
engine.add_module("bench", RULES)
bundle = engine.build("x = data.bench.allow")
request = {"action": "tool.c0", "kind": "k9", "amount": 7, "mfa": True}


def decision() -> None:
    for _ in range(CALLS):
        engine.set_input(request)
        answer = engine.query_bundle(bundle)
    check('"x":true' in str(answer).replace(" ", ""), answer)


serve(decision=decision)
