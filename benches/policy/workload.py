"""Policies and requests for the benches: the same rules for every engine.

Each capability has rules of the form "kind equals K, amount at most N, second factor present"; requests match one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policy import Catalog


def catalog(capabilities: int) -> Catalog:
    from policy import make_catalog

    schema = {
        "type": "object",
        "required": ["kind", "amount"],
        "properties": {"kind": {"type": "string"}, "amount": {"type": "integer", "minimum": 0, "maximum": 1_000_000}},
    }
    return make_catalog(
        "bench", [{"name": f"tool.c{i}", "side_effect": "read", "input_schema": schema} for i in range(capabilities)]
    )


def rules(total: int, per_capability: int) -> list[tuple[str, str, int]]:
    """(capability, kind, highest amount) for each rule."""
    return [(f"tool.c{i // per_capability}", f"k{i % per_capability}", 100 + i % per_capability) for i in range(total)]


def hatch_text(total: int, per_capability: int) -> str:
    lines = ["policy bench v 1"]
    lines += [f"allow {c} when kind == {k} and amount <= {n} and session.mfa" for c, k, n in rules(total, per_capability)]
    lines.append('test "t" { as { tenant a, session.mfa true } tool.c0 { kind k0, amount 1 } => allow }')
    return "\n".join(lines) + "\n"


def cedar_text(total: int, per_capability: int) -> str:
    return "\n".join(
        f'permit(principal, action == Action::"{c}", resource) when '
        f'{{ context.kind == "{k}" && context.amount <= {n} && context.mfa }};'
        for c, k, n in rules(total, per_capability)
    )


def rego_text(total: int, per_capability: int) -> str:
    body = "\n".join(
        f'allow if {{ input.action == "{c}"; input.kind == "{k}"; input.amount <= {n}; input.mfa }}'
        for c, k, n in rules(total, per_capability)
    )
    return f"package bench\nimport rego.v1\ndefault allow := false\n{body}\n"


def request(total: int, per_capability: int) -> tuple[str, dict[str, Any]]:
    """A request that the last rule allows."""
    capability, kind, _ = rules(total, per_capability)[-1]
    return capability, {"tenant": "a", "session.mfa": True, "kind": kind, "amount": 7}


def author_text(lines: int) -> str:
    """A policy in the manner of the sample, about `lines` lines long: scopes, rules, comments, limits, hooks, claims, tests."""
    text = [
        "policy bench.authored v 1",
        'set partners = { "api.stripe.com", "*.acme.example" }',
        "let senior = session.role in { lead, oncall } and session.mfa",
    ]
    tenant = 0
    while len(text) < lines - 1:
        t = f"t{tenant}"
        text += [
            "",
            f"# Tenant {tenant} ---------------------------------------------------",
            f"scope tenant == {t} {{",
            "  allow run when language in { python, javascript }",
            "    rate 60/min per session",
            "  limit run { cpu 2s memory 256MiB output 1MiB }",
            "  limit run when plan == free { cpu 500ms memory 64MiB output 64KiB }",
            f'  allow fs.read when path under "/data/{t}"',
            '  allow fs.write when path under "/workspace" and bytes <= 4MiB',
            "    rate 60/min per session",
            '  deny fs.* when path under "/workspace/.git"',
            '    because "history is written by the host, never by guests"',
            "  allow net.connect when host in partners and port == 443",
            "    rate 60/min per session",
            "  ask session.fork when count > 10 and senior",
            "    by operations within 15m",
            "    auto when session.risk <= 20 and count <= 100",
            f"  hook lint{tenant}x on before run when language == shell",
            '    run shell "hooks/lint.sh" timeout 200ms on_error block',
            "}",
            f'prove no fs.read when tenant == {t} and not path under "/data/{t}"',
            f'test "tenant {tenant}" {{',
            f"  as {{ tenant {t}, session.mfa true, session.role lead, session.risk 50, session.tainted false }}",
            f'  fs.read {{ path "/data/{t}/a" }} => allow',
            '  fs.read { path "/data/other" } => deny',
            "}",
        ]
        tenant += 1
    return "\n".join(text) + "\n"
