"""From files to a judged policy, every finding collected on the way.

    load and parse  →  lower (names, types)  →  analyse (rules)  →  compile  →  claims, base, limits, secrets, tests

Claims and tests wait until every statement is understood: a misspelt deny must not be reported a second time as a false claim.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policy.evaluation.evaluator import Evaluator
from policy.lowering.loading import Base, Library, Loaded, Unit, load
from policy.lowering.lowering import lower
from policy.lowering.program import Program
from policy.model import ir
from policy.model.catalog import Catalog, builtin_catalog
from policy.proofs.claims import Proof, check_claims, check_limits, check_secrets
from policy.proofs.narrowing import check_narrows
from policy.proofs.policy_tests import Result, check_coverage, check_tests
from policy.proofs.rule_analysis import analyse, check_budget, check_hook_cycles
from policy.syntax import tree as s
from policy.text.diagnostics import Diagnostic, Findings
from policy.text.sources import Source, Span

_EFFECTFUL = {"write", "network", "database", "external_system"}


@dataclass(frozen=True, slots=True)
class Checked:
    """A judged policy. `evaluator` is there whenever every statement was understood, even if a claim failed."""

    program: Program
    loaded: Loaded
    diagnostics: tuple[Diagnostic, ...]
    evaluator: Evaluator | None = None
    proofs: list[Proof] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(d.severity != "error" for d in self.diagnostics)


def check(path: str, library: Library, catalog: Catalog | None = None, bases: Base | None = None) -> Checked:
    """Judge the policy at `path`. Never raises for anything a text can contain."""
    findings = Findings()
    loaded = Loaded((Unit(Source(path, ""), s.File(None, ()), path),), catalog or builtin_catalog(), None, True, library)
    try:
        loaded = load(path, library, findings, catalog, bases)
        return _check(loaded, findings)
    except Exception as error:
        # INVARIANT: our own failure refuses the policy like any other finding; tests hold that no text brings us here.
        findings.add("HP099", f"{type(error).__name__}: {error}"[:300], Span(loaded.main.source, 0, 0))
        return Checked(Program(ir.EMPTY, loaded.catalog, loaded.main.source, clean=False), loaded, findings.sort())


def _check(loaded: Loaded, findings: Findings) -> Checked:
    readable = findings.errors == 0
    program = lower(loaded, findings)
    analyse(program, findings)
    check_hook_cycles(program, findings)
    check_budget(program, findings)
    _warn(program, loaded, findings)
    if not (readable and program.clean):
        return Checked(program, loaded, findings.sort())
    try:
        evaluator = Evaluator(program.ir)
    except (RecursionError, MemoryError, ValueError) as error:
        findings.add("HP047", f"the policy cannot be compiled: {error}", Span(program.source, 0, 0), "make it smaller")
        return Checked(program, loaded, findings.sort())
    proofs = check_claims(program, evaluator.decide, findings)
    check_limits(program, findings)
    check_secrets(program, findings)
    _check_base(_bind(program, loaded.library, findings), loaded, evaluator, findings)
    results = check_tests(program, evaluator.decide, findings)
    if program.tests:
        check_coverage(program, findings)
    return Checked(program, loaded, findings.sort(), evaluator, proofs, results)


def _bind(program: Program, library: Library, findings: Findings) -> Program:
    """The policy with its hooks bound to the programs that the library has. One that is bound to another is a mistake.

    THREAT[TM-POL-012]: what hooks run is compared by content; a file under the same name may hold another program.
    """
    bound = program.ir.bind(library.read)
    for hook, found in zip(program.ir.hooks, bound.hooks, strict=True):
        if hook.sha256 and found.sha256 != hook.sha256:
            message = f"the program `{hook.program}` is not the one that the hook `{hook.name}` is bound to"
            findings.add("HP055", message, program.spans[f"hook:{hook.name}"], f"its digest is sha256:{found.sha256}")
    return replace(program, ir=bound)


def _check_base(program: Program, loaded: Loaded, evaluator: Evaluator, findings: Findings) -> None:
    header = loaded.main.tree.header
    if loaded.base is None or header is None or header.narrows is None:
        return
    span = Span(loaded.main.source, *s.offsets(header.narrows))
    inner = Findings()
    base = _bind(lower(loaded.base, inner), loaded.base.library, inner)
    if inner.errors:
        first = next(d for d in inner.sort() if d.severity == "error")
        findings.add("HP012", f"the base does not compile: {first.message}", span, f"see {first.location()}")
        return
    check_narrows(program, base, evaluator.decide, span, findings)


def _warn(program: Program, loaded: Loaded, findings: Findings) -> None:
    catalog = program.catalog
    mentioned = {name for rule in program.ir.rules for name in rule.capabilities}
    header = loaded.main.tree.header
    span = Span(program.source, *s.offsets(header.name)) if header else Span(program.source, 0, 0)
    if program.clean:
        for capability in catalog.capabilities.values():
            if capability.name not in mentioned and not capability.builtin:
                findings.add(
                    "HP103", f"no rule mentions {capability.name}", span, "it is denied; say so with a deny if that is meant"
                )
    for rule in program.ir.rules:
        effects = {effect for name in rule.capabilities for effect in catalog.capabilities[name].effects}
        if rule.verdict == "allow" and rule.rate is None and effects & _EFFECTFUL:
            findings.add(
                "HP102",
                f"{rule.capabilities[0]} is allowed without a rate",
                program.spans[rule.id],
                "add `rate 60/min per session`",
            )
