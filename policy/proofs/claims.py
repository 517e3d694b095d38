"""What a policy promises as a whole: its `prove` claims, limits and secrets.

Each promise becomes one condition that must have no solution; a solution is shown as a concrete request, after the compiled
function has confirmed it. What cannot be settled is reported as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from policy.errors import PolicyError, UnsettledClaim
from policy.evaluation import interpreter
from policy.lowering.program import Program
from policy.model import ir
from policy.model.catalog import Capability, Catalog, Field, Scalar
from policy.model.decisions import Decision
from policy.model.settings import SETTINGS
from policy.solver.solver import solve
from policy.solver.universe import Universe
from policy.text.diagnostics import Findings
from policy.text.literals import matches_host
from policy.text.sources import Span

_TALKING = {"network", "external_system"}
Decide = Callable[[str, dict[str, Scalar]], Decision]


@dataclass(frozen=True, slots=True)
class Proof:
    """One settled claim, for `policy prove` to show."""

    text: str
    holds: bool
    method: str
    witness: ir.Request | None = None


def find_permitted(policy: ir.Policy, capability: str) -> ir.Expr:
    """Allowed or asked, and not denied."""
    rules = policy.rules_for(capability)
    granted = tuple(rule.guard for rule in rules if rule.verdict != "deny")
    if not granted:
        return ir.FALSE
    return ir.All((ir.Any(granted), *(ir.complement(rule.guard) for rule in rules if rule.verdict == "deny")))


def verdict_is(policy: ir.Policy, capability: str, verdict: ir.Verdict) -> ir.Expr:
    """Exactly the requests that get `verdict`. A session event is never refused."""
    if capability in ir.LIFECYCLE:
        return ir.TRUE if verdict == "allow" else ir.FALSE
    guards: dict[str, list[ir.Expr]] = {"allow": [], "ask": [], "deny": []}
    for rule in policy.rules_for(capability):
        guards[rule.verdict].append(rule.guard)
    stronger = guards["deny"] + (guards["ask"] if verdict == "allow" else [])
    if verdict != "deny":
        if not guards[verdict]:
            return ir.FALSE
        return ir.All((ir.Any(tuple(guards[verdict])), *(ir.complement(guard) for guard in stronger)))
    unmentioned = ir.All(tuple(ir.complement(guard) for guard in guards["ask"] + guards["allow"]))
    return ir.Any((*guards["deny"], unmentioned)) if unmentioned.items else ir.TRUE


def find_fields(catalog: Catalog, capability: str, exprs: Iterable[ir.Expr]) -> dict[str, Field]:
    """The types of all fields that some conditions about a capability mention."""
    names = {name for expr in exprs for name in ir.find_fields(expr)}
    found: dict[str, Field] = {}
    for name in sorted(names):
        field = catalog.field(capability, name)
        if field is None:
            raise PolicyError(f"the catalog does not know the field `{name}` of {capability}")
        found[name] = field
    return found


def show(request: ir.Request) -> str:
    pairs = ", ".join(f"{name} {_value(value)}" for name, value in sorted(request.attributes.items()))
    return f"{request.capability} {{ {pairs} }}"


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:_}" if isinstance(value, int) else (value if value.isidentifier() else f'"{value}"')


class Prover:
    """Settles claims about one policy; what the claims about a capability have in common is worked out once."""

    def __init__(self, program: Program, decide: Decide) -> None:
        self.program, self.decide = program, decide
        self._prepared: dict[str, tuple[ir.Expr, Universe]] = {}

    def prove(self, claim: ir.Claim) -> Proof:
        """Raises UnsettledClaim when no method can tell."""
        text, method = self.program.claim_texts[claim.id], "box"
        for capability in claim.capabilities:
            may, universe = self._prepare(capability)
            answer = solve(ir.All((may, claim.guard)), universe, self.program.effort)
            method = max(method, answer.method, key=["box", "enumeration", "z3"].index)
            if answer.witness is not None:
                request = ir.Request(capability, answer.witness)
                if not self.decide(capability, answer.witness).permitted:
                    raise PolicyError(f"spurious witness for `{text}`: {show(request)}")
                return Proof(text, False, answer.method, request)
        return Proof(text, True, method)

    def _prepare(self, capability: str) -> tuple[ir.Expr, Universe]:
        if capability not in self._prepared:
            policy = self.program.ir
            may = find_permitted(policy, capability)
            exprs = [may, *(claim.guard for claim in policy.claims if capability in claim.capabilities)]
            fields = {field.name: field for field in policy.reads[capability]}
            fields.update(find_fields(self.program.catalog, capability, exprs))
            self._prepared[capability] = (may, Universe(fields, exprs, self.program.effort))
        return self._prepared[capability]


def check_claims(program: Program, decide: Decide, findings: Findings) -> list[Proof]:
    proofs: list[Proof] = []
    prover = Prover(program, decide)
    for claim in program.ir.claims:
        span = program.spans[claim.id]
        try:
            proof = prover.prove(claim)
        except UnsettledClaim as error:
            findings.add("HP083", f"`{program.claim_texts[claim.id]}` could not be settled: {error}", span)
            proofs.append(Proof(program.claim_texts[claim.id], False, "unsettled"))
            continue
        proofs.append(proof)
        if proof.witness is not None:
            decision = decide(proof.witness.capability, proof.witness.attributes)
            message = f"not so: {decision.verdict} by `{decision.rule}`"
            findings.add("HP080", message, span, None, [f"for example {show(proof.witness)}"])
    return proofs


def check_limits(program: Program, findings: Findings) -> None:
    """Capabilities that need limits are never permitted without them."""
    for capability in program.catalog.capabilities.values():
        name, may = capability.name, find_permitted(program.ir, capability.name)
        for need in capability.needs:
            wire = SETTINGS[need].wire if need in SETTINGS else need
            limits = [limit for limit in program.ir.limits if name in limit.capabilities and wire in dict(limit.settings)]
            unbound = ir.All((may, *(ir.complement(limit.guard) for limit in limits)))
            fields = find_fields(program.catalog, name, [unbound])
            fields.update({field.name: field for field in program.ir.reads.get(name, ())})
            witness = _refute(unbound, fields, program, name, f"`every {name} has a `{need}` limit`", findings)
            if witness is not None:
                hint = f"add `limit {name} {{ {need} … }}`"
                example = f"for example {show(ir.Request(name, witness))}"
                where = _find_first_grant(program, name)
                findings.add("HP060", f"{name} is permitted without a `{need}` limit", where, hint, [example])
                break


def check_secrets(program: Program, findings: Findings) -> None:
    """No caller can both use a secret and talk to hosts other than the secret's own."""
    policy, catalog = program.ir, program.catalog
    may_use, may_connect = find_permitted(policy, "secret.use"), find_permitted(policy, "net.connect")
    fields = {**find_fields(catalog, "secret.use", [may_use]), **find_fields(catalog, "net.connect", [may_connect])}
    for name in ("secret.use", "net.connect"):
        fields.update(catalog.capabilities[name].fields)
    # Guest code, which comes last, reaches whatever net.connect permits to the same caller.
    callers = [(capability.name, capability) for capability in catalog.capabilities.values()]
    for secret, hosts in catalog.secrets.items():
        for name, caller in (*callers, ("run", None)):
            used = ir.conj((may_use, ir.Lit("name", "in", (secret,)), ir.Lit("caller", "in", (name,))))
            elsewhere = _find_elsewhere(caller, hosts) if caller is not None else ""
            if caller is None:
                used = ir.conj((used, may_connect, ir.Lit("host", "host", hosts, True)))
            elif elsewhere is None:
                continue
            witness = _refute(used, fields, program, "secret.use", f"whether `{secret}` stays with its hosts", findings)
            if witness is not None:
                message = f"{name} may use `{secret}` and talk to {elsewhere or witness.get('host')}"
                where = _find_first_grant(program, "secret.use", witness)
                findings.add("HP070", message, where, "the secret is meant for " + ", ".join(hosts))


def _find_elsewhere(caller: Capability, hosts: tuple[str, ...]) -> str | None:
    """Where a tool may talk to besides `hosts`; a tool that talks and does not say to whom may talk to every host."""
    if not caller.egress and not caller.builtin and _TALKING & set(caller.effects):
        return "any host: its `egress` is not declared"
    return next((host for host in caller.egress if not _host_within(host, hosts)), None)


def _host_within(host: str, allowed: tuple[str, ...]) -> bool:
    if host.startswith("*."):
        return any(a.startswith("*.") and (host[1:] == a[1:] or host[1:].endswith(a[1:])) for a in allowed)
    return matches_host(host, allowed)


def _find_first_grant(program: Program, capability: str, witness: Mapping[str, object] | None = None) -> Span:
    """The first rule that permits anything, or that permits `witness`."""
    for rule in program.ir.rules_for(capability):
        if rule.verdict != "deny" and (witness is None or interpreter.holds(rule.guard, witness)):
            return program.spans[rule.id]
    return Span(program.source, 0, 0)


def _refute(
    condition: ir.Expr, fields: dict[str, Field], program: Program, capability: str, text: str, findings: Findings
) -> dict[str, Scalar] | None:
    """A request for which `condition` holds; none, after reporting, where that cannot be settled."""
    try:
        return solve(condition, Universe(fields, [condition], program.effort), program.effort).witness
    except UnsettledClaim as error:
        findings.add("HP083", f"{text} could not be settled: {error}", _find_first_grant(program, capability))
        return None
