"""Compiling policies that tenants send, in processes of its own.

Purpose: THREAT[TM-POL-STALL]: a hostile text can take seconds to compile. Here that costs others no more than a turn: a child
process (`gateway.children`) compiles, one text of a tenant at a time, and tenants take turns; when it takes too long or too much
memory it is killed. What is asked of a policy besides single decisions (`explain`, `replay`) is computed so, too. It answers with
the canonical form (`ir.Policy`), from which a policy is built here in microseconds per rule.
A request that needs a stored policy never waits for texts.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from gateway.children import Children, Overrun, run_in_child
from gateway.errors import Unprocessable
from gateway.policies.decision_log import Decided
from gateway.pools import CORES, Pool, policies
from gateway.records import Record
from policy.model import ir
from policy.model.catalog import Catalog, load_catalog
from policy.model.decisions import Decision
from policy.policies import Policy
from policy.text.diagnostics import Diagnostic
from policy.tools.replay import replay

TIMEOUT_SECONDS: Final = 20.0
MEMORY_BYTES: Final = 2 << 30
SOURCES_BYTES_MAX: Final = 8 << 20
FOLDER: Final = ".base/"
"""Where the operator's base lies among the sources of a tenant's policy."""
BASE_CATALOG: Final = "deployed.catalog.json"
_WAITING_MAX: Final = 15
"""Of one tenant, besides the text that is compiled."""
_LOADS_MAX: Final = 4096
RULES_FEW: Final = 100
"""THREAT[TM-POL-STALL]: a policy of more rules is built, and folded for a session, on a thread, in its tenant's turn."""


class Place(Record, frozen=True, kw_only=True):
    """1-based."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class Finding(Record, frozen=True, kw_only=True):
    code: str
    severity: Literal["error", "warning"]
    message: str
    hint: str | None = None
    place: Place | None = None


class Compiled(Record, frozen=True, kw_only=True):
    """What came of a text. `policy` is there if every check passed."""

    findings: list[Finding]
    policy: ir.Policy | None = None
    catalog: Catalog | None = None
    tests: int = 0
    proofs: dict[str, str] = {}


class Changed(Record, frozen=True, kw_only=True):
    """One class of requests whose answer changes, with one of them. `loosens`: more is permitted than before."""

    capability: str
    what: str
    loosens: bool
    attributes: dict[str, Any]
    before: str
    after: str


class Explained(Record, frozen=True, kw_only=True):
    """What a policy decides, and why."""

    verdict: str
    rule: str
    because: str | None
    text: str
    limits: dict[str, int]


class Replayed(Record, frozen=True, kw_only=True):
    """Recent decisions put to a new policy. `loosened` are those that would have been refused before and not now."""

    total: int
    changed: int
    loosened: int
    not_replayable: int
    examples: list[dict[str, Any]]


class RefusedPolicy(Unprocessable):
    """A policy that may not be put in force. `findings` says why."""

    def __init__(self, findings: list[Finding]) -> None:
        errors = [finding for finding in findings if finding.severity == "error"]
        first = f"{errors[0].code}: {errors[0].message}" if errors else "the policy is refused"
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__("POLICY_REFUSED", first + more, errors[0].hint if errors else None)
        self.findings = findings


class Compiler:
    """Each tenant has one text in line, however many it sends. Policies that are in the store have a child of their own."""

    def __init__(self, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        checks = Pool("policy-checks", max(2, CORES - 1), waiting_max=_WAITING_MAX)
        self._checking = Children(checks, timeout_seconds, MEMORY_BYTES)
        self._loading = Children(Pool("policy-loads", 1, waiting_max=_LOADS_MAX), timeout_seconds, MEMORY_BYTES)

    async def compile(
        self, sources: Mapping[str, str], main: str, catalog: Catalog | None = None, *, tenant: str = ""
    ) -> Compiled:
        """A text that a caller sent."""
        with _refuse_overruns():
            return await self._checking.run(tenant, _compile, *_check_text(sources, main, catalog))

    async def load(self, sources: Mapping[str, str], main: str, catalog: Catalog | None = None) -> Compiled:
        """A stored policy."""
        with _refuse_overruns():
            return await self._loading.run("", _compile, *_check_text(sources, main, catalog))

    async def diff(
        self, old: Policy, old_files: Mapping[str, bytes], new: Policy, new_files: Mapping[str, bytes], *, tenant: str = ""
    ) -> list[Changed]:
        """Hooks are compared by the programs they run, which are among the files."""
        before, after = old.ir.bind(old_files.get), new.ir.bind(new_files.get)
        with _refuse_overruns():
            return await self._checking.run(tenant, _diff, (before, old.catalog), (after, new.catalog))

    async def explain(self, policy: Policy, event: str, attributes: dict[str, Any], *, tenant: str) -> Explained:
        with _refuse_overruns():
            return await run_in_child(tenant, _explain, (policy.ir, policy.catalog), event, attributes)

    async def replay(self, policy: Policy, recent: Sequence[Decided], *, tenant: str) -> Replayed:
        """Recent decisions, put to another policy. Those with masked fields cannot be."""
        lines = [msgspec.json.encode(decided) for decided in recent if not decided.masked]
        with _refuse_overruns():
            return await run_in_child(tenant, _replay, (policy.ir, policy.catalog), lines, len(recent) - len(lines))

    async def close(self) -> None:
        await self._checking.close()
        await self._loading.close()


@contextlib.contextmanager
def _refuse_overruns() -> Iterator[None]:
    try:
        yield
    except Overrun as overrun:
        raise Unprocessable("POLICY_REFUSED", f"the policy takes {overrun} to check", "make it smaller") from None


def _check_text(sources: Mapping[str, str], main: str, catalog: Catalog | None) -> tuple[dict[str, str], str, str | None]:
    if main not in sources:
        raise Unprocessable("INVALID_ARGUMENT", f"the sources have no file {main[:80]!r}")
    if sum(len(name) + len(text) for name, text in sources.items() if not name.startswith(FOLDER)) > SOURCES_BYTES_MAX:
        raise Unprocessable("INVALID_ARGUMENT", f"a policy's files may have {SOURCES_BYTES_MAX} characters together")
    return dict(sources), main, catalog.to_json().decode() if catalog else None


def policy_of(compiled: Compiled) -> Policy:
    """The policy, ready to decide. Raises `RefusedPolicy` if there is none."""
    if compiled.policy is None or compiled.catalog is None:
        raise RefusedPolicy(compiled.findings)
    return Policy(compiled.policy, compiled.catalog)


async def build_policy(compiled: Compiled, tenant: str) -> Policy:
    """The same, next to the event loop where there is much to build."""
    if compiled.policy is None or len(compiled.policy.rules) <= RULES_FEW:
        return policy_of(compiled)
    return await policies.run(tenant, policy_of, compiled)


def require_programs(compiled: Compiled, sources: Mapping[str, str]) -> Compiled:
    """Without its policy, and with a finding for each hook whose program is not among the sources."""
    findings = [
        Finding(
            code="HOOK_PROGRAM_MISSING",
            severity="error",
            message=f"the hook {hook.name} has no program: there is no file {hook.program!r} among the sources",
            hint="send it with the policy's files (wasm as base64)",
        )
        for hook in (compiled.policy.hooks if compiled.policy is not None else ())
        if hook.executor != "webhook" and hook.program not in sources
    ]
    return Compiled(findings=[*compiled.findings, *findings]) if findings else compiled


def encode_file(name: str, data: bytes) -> str:
    """A file as it is among a policy's sources: text, or base64 if it is a WebAssembly module."""
    return base64.b64encode(data).decode() if name.endswith(".wasm") else data.decode("utf-8", "replace")


def decode_file(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text) if name.endswith(".wasm") else text.encode("utf-8", "replace")
    except ValueError:
        return b""  # no module; INVARIANT: never the bytes of another file


def compile_here(sources: Mapping[str, str], main: str, catalog: Catalog | None = None) -> Compiled:
    """In this process: for texts of one's own."""
    from policy.checker import check
    from policy.lowering.loading import Base, Memory

    files = {name: decode_file(name, text) for name, text in sources.items()}
    bases = {name.removeprefix(FOLDER): data for name, data in files.items() if name.startswith(FOLDER)}
    about = bases.pop(BASE_CATALOG, None)
    base = Base(Memory(bases), load_catalog(about) if about is not None else None)
    checked = check(main, Memory(files), catalog, base)
    findings = [_make_finding(diagnostic) for diagnostic in checked.diagnostics]
    if not checked.ok or checked.evaluator is None:
        return Compiled(findings=findings)
    program, proofs = checked.program, {proof.text: proof.method for proof in checked.proofs}
    return Compiled(findings=findings, policy=program.ir, catalog=program.catalog, tests=len(checked.results), proofs=proofs)


@contextlib.contextmanager
def _refuse_failures() -> Iterator[None]:
    """Whatever a text does to the compiler, it is refused, and says so."""
    try:
        yield
    except Exception as error:
        said = f"the policy could not be checked: {type(error).__name__}: {str(error)[:200]}"
        raise Unprocessable("POLICY_REFUSED", said) from None


def _compile(sources: dict[str, str], main: str, catalog: str | None) -> Compiled:
    """In the child."""
    with _refuse_failures():
        return compile_here(sources, main, load_catalog(catalog.encode()) if catalog is not None else None)


def _diff(old: Any, new: Any) -> list[Changed]:
    """In the child, of policies and their catalogs."""
    from policy.tools.diff import diff

    def side(decision: Decision) -> str:
        return f"{decision.verdict} ({decision.rule})"

    with _refuse_failures():
        before, after = _build(old), _build(new)
        return [
            Changed(
                capability=change.request.capability,
                what=change.what,
                loosens=change.loosens,
                attributes=dict(change.request.attributes),
                before=side(change.before),
                after=side(change.after),
            )
            for change in diff(before, after)
        ]


def _explain(policy: Any, event: str, attributes: dict[str, Any]) -> Explained:
    """In the child."""
    with _refuse_failures():
        explanation = _build(policy).explain(event, attributes)
        decision = explanation.decision
        told = {name: getattr(decision, name) for name in ("verdict", "rule", "because")}
        return Explained(**told, text=str(explanation), limits=dict(decision.limits))


def _replay(policy: Any, lines: list[bytes], not_replayable: int) -> Replayed:
    """In the child."""
    with _refuse_failures():
        found = replay(_build(policy), lines, keep=20)
        told = [(case.record, case.decision.verdict) for case in found.kept]
        return Replayed(
            total=found.total,
            changed=found.changed,
            loosened=found.loosened,
            not_replayable=not_replayable,
            examples=[{"event": was.event, "attributes": was.attributes, "was": was.verdict, "is": now} for was, now in told],
        )


def _build(pair: Any) -> Policy:
    """A policy and its catalog, as they came to the child."""
    return Policy(*msgspec.convert(pair, tuple[ir.Policy, Catalog]))


def _make_finding(found: Diagnostic) -> Finding:
    place = Place(file=found.span.source.path, **found.span.place()) if found.span is not None else None
    return Finding(code=found.code, severity=found.severity, message=found.message, hint=found.hint, place=place)
