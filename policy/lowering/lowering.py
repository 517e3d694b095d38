"""Statements to the canonical form, with every name, type, clause and option checked.

Rules: each statement is checked on its own, so one mistake never hides another. What came out wrong is left out of the
result, and `clean` says whether the result may be reasoned about as a whole.
This file does not know proofs or tests; `conditions.py` does the expressions.
"""

from __future__ import annotations

from typing import cast

from lark import Token

from policy.lowering.conditions import Conditions
from policy.lowering.constants import SetEntry, Targets
from policy.lowering.declared_tests import lower_test
from policy.lowering.loading import Loaded, Unit
from policy.lowering.program import Part, Program, TestCase
from policy.lowering.vocabulary import Vocabulary, target_text
from policy.model import ir
from policy.model.catalog import Field
from policy.model.kinds import KINDS
from policy.model.settings import APPROVAL_MS, EXECUTORS, HOOK_TIMEOUT_MS, ON_ERROR, RATE_SCOPES, SETTINGS
from policy.syntax import tree as s
from policy.text.diagnostics import Findings
from policy.text.literals import INT_MAX, RATE_UNITS_S, duration_ms, host_fault, is_path, quantity
from policy.text.sources import Span
from policy.text.spelling import skeleton

_MAX_VERSION = 2**53 - 1


def lower(loaded: Loaded, findings: Findings) -> Program:
    """Lower all units of a policy, imports first."""
    return _Lowering(loaded, findings).run()


class _Lowering:
    def __init__(self, loaded: Loaded, findings: Findings) -> None:
        self.loaded, self.findings = loaded, findings
        self.catalog = loaded.catalog
        self.conditions = Conditions(loaded.catalog, findings, loaded.main.source, typed=loaded.typed)
        self.words = Vocabulary(loaded.catalog, self.conditions)
        self.rules: list[ir.Rule] = []
        self.limits: list[ir.Limit] = []
        self.hooks: list[ir.Hook] = []
        self.claims: list[ir.Claim] = []
        self.tests: list[TestCase] = []
        self.spans: dict[str, Span] = {}
        self.parts: dict[str, list[Part]] = {}
        self.autos: dict[str, Span] = {}
        self.claim_texts: dict[str, str] = {}
        self.ordinals: dict[str, int] = {}
        self.skeletons: dict[str, Token] = {}
        self.prefix = ""
        self.doubtful = False
        fields = {name for capability in self.catalog.capabilities.values() for name in capability.fields}
        self.taken = fields | {*self.catalog.context, *self.catalog.capabilities, "true", "false"}

    def run(self) -> Program:
        for unit in self.loaded.units:
            self._unit(unit)
        self._report_unused()
        header = self.loaded.main.tree.header
        name, version = (str(header.name), self._version(header)) if header else ("", 0)
        policy = ir.Policy(
            name,
            version,
            self.catalog.digest,
            tuple(self.rules),
            tuple(self.limits),
            tuple(self.hooks),
            tuple(self.claims),
            self._reads(),
            str(header.narrows) if header and header.narrows else None,
        )
        if self.conditions.faults and not self.findings.errors:
            # INVARIANT: nothing is left out of a policy without an error. THREAT[TM-POL-008]
            words = f"{self.conditions.faults} part(s) of the policy could not be understood, and no reason was recorded"
            self.findings.add("HP099", words, Span(self.loaded.main.source, 0, 0))
        clean = self.findings.errors == 0 and not self.loaded.broken
        return Program(
            policy, self.catalog, self.loaded.main.source, self.tests, self.spans, self.parts, self.autos, self.claim_texts, clean
        )

    def _version(self, header: s.Header) -> int:
        version = quantity(header.version)[0]
        if not 0 <= version <= _MAX_VERSION:
            self.conditions.source = self.loaded.main.source
            self.error("HP032", f"a version lies in 0..{_MAX_VERSION:_}", header.version)
            return 0
        return version

    def _unit(self, unit: Unit) -> None:
        self.conditions.source = unit.source
        is_main = unit is self.loaded.main
        self.prefix = "" if is_main or unit.tree.header is None else f"{unit.tree.header.name}/"
        handlers = {
            s.SetDef: self._set,
            s.LetDef: self._let,
            s.Scope: self._scope,
            s.Rule: self._rule,
            s.Limit: self._limit,
            s.Hook: self._hook,
            s.Prove: self._prove,
        }
        for item in unit.tree.items:
            if isinstance(item, s.Test):
                if is_main:
                    self.tests += lower_test(item, self.conditions, self.words)
            elif not isinstance(item, s.Import):
                handlers[type(item)](item)  # type: ignore[operator]

    def _declare(self, name: Token) -> bool:
        """Whether a new name may be taken."""
        known = self.conditions.sets.get(name) or self.conditions.lets.get(name)
        if known is not None or name in self.taken:
            what = "is already defined" if known else "is already the name of a field, a capability or a value"
            self.error("HP025", f"`{name}` {what}", name, "choose another name")
            return False
        self._distinct(name)
        return True

    def _distinct(self, name: Token) -> None:
        """A name that looks like another is a mistake, but known all the same: its uses are none."""
        alike = self.skeletons.setdefault(skeleton(name), name)
        if str(alike) != str(name):
            self.error("HP026", f"`{name}` looks like `{alike}`", name, "choose names a reader can tell apart")

    def _set(self, item: s.SetDef) -> None:
        if self._declare(item.name):
            self.conditions.sets[str(item.name)] = SetEntry(item.name, item.values, self.conditions.source)
            if not item.values:
                self.error(
                    "HP033", f"the set `{item.name}` is empty", item.name, "an empty set matches nothing; write the values"
                )

    def _let(self, item: s.LetDef) -> None:
        if self._declare(item.name):
            self.conditions.define_let(item.name, item.expr)

    def _report_unused(self) -> None:
        for kind, entries in (("set", self.conditions.sets.values()), ("let", self.conditions.lets.values())):
            for entry in entries:
                if not entry.used and entry.source is self.loaded.main.source:
                    start, end = s.offsets(entry.name)
                    self.findings.add(
                        "HP106",
                        f"the {kind} `{entry.name}` is never used",
                        Span(entry.source, start, end),
                        "delete it, or use it",
                    )

    def _scope(self, item: s.Scope) -> None:
        before = self.conditions.faults
        outer = self.conditions.conjuncts(item.expr, ())
        # What stands in a scope that has no meaning is checked by itself, but says nothing about other rules.
        self.doubtful = item.expr is None or self.conditions.faults > before
        for inner in item.items:
            if isinstance(inner, s.Rule):
                self._rule(inner, outer)
            elif isinstance(inner, s.Limit):
                self._limit(inner, outer)
            else:
                self._hook(inner, outer)
        self.doubtful = False

    def _guard(self, key: str, outer: list[Part], when: s.Expr | None, targets: Targets) -> ir.Expr:
        parts = outer + self.conditions.conjuncts(when, targets)
        self.parts[key] = parts
        return ir.conj(part for part, _ in parts)

    def _rule(self, item: s.Rule, outer: list[Part] | None = None) -> None:
        verdict = str(item.effect)
        targets = self.words.target(item.target)
        if verdict == "allow" and item.target.kind == "effects" and item.target.effects:
            self.error(
                "HP043", "an allow must name its capabilities", item.target.effects[0].token, "name them, or use `ask` or `deny`"
            )
        key = self._id(f"{verdict}:{target_text(item.target)}")
        before = self.conditions.faults
        guard = self._guard(key, outer or [], item.when, targets) if targets else ir.FALSE
        clauses = self._clauses(item, targets, key)
        self.spans[key] = self.words.locate(item.target, item.effect)
        if self.conditions.faults == before and targets and not self.doubtful:
            self.rules.append(ir.Rule(key, verdict, _names(targets), guard, *clauses))  # type: ignore[arg-type]

    def _clauses(
        self, item: s.Rule, targets: Targets, key: str
    ) -> tuple[ir.Rate | None, str | None, int | None, ir.Expr | None, str | None]:
        rate: ir.Rate | None = None
        approver: str | None = None
        within: int | None = None
        auto: ir.Expr | None = None
        because: str | None = None
        seen: set[type] = set()
        verdict = str(item.effect)
        for clause in item.clauses:
            at = s.clause_token(clause)
            if type(clause) in seen:
                self.error("HP048", "this clause is given twice", at, "keep one of them")
                continue
            seen.add(type(clause))
            if isinstance(clause, s.Rate):
                if verdict == "deny":
                    self.error("HP046", "a deny has no rate", at, "delete it; what is denied never happens")
                rate = self._rate(clause)
            elif isinstance(clause, s.Approver):
                if verdict != "ask":
                    self.error(
                        "HP046",
                        f"an {verdict} has no approver" if verdict == "allow" else "a deny has no approver",
                        at,
                        "write `ask`",
                    )
                approver = str(clause.who)
                within = self._within(clause)
            elif isinstance(clause, s.Auto):
                if verdict != "ask":
                    self.error("HP046", "only an ask is approved automatically", at, "move the condition to `when`")
                if targets:
                    auto = self.conditions.lower(clause.expr, targets)
                    self.autos[key] = self.conditions.locate(clause.expr)
            else:
                because = str(clause.text)[1:-1]
        if verdict == "ask" and s.Approver not in seen:
            self.error("HP044", "this ask says neither who approves nor by when", item.effect, "add `by NAME within 15m`")
        return rate, approver, within, auto, because

    def _rate(self, clause: s.Rate) -> ir.Rate | None:
        count, unit = quantity(clause.rate)
        if str(clause.per) not in RATE_SCOPES:
            self.words.unknown_word(clause.per, RATE_SCOPES, "a rate is counted per")
        if count < 1:
            self.error("HP032", "a rate is at least 1", clause.rate, "use `deny` to forbid")
        if count > INT_MAX:
            self.error("HP032", f"a rate is at most {INT_MAX:_}", clause.rate, "without a rate there is no bound")
        return ir.Rate(min(count, INT_MAX), RATE_UNITS_S[unit], str(clause.per))

    def _within(self, clause: s.Approver) -> int | None:
        if clause.within is None:
            self.error("HP044", "this approval never expires", clause.who, f"write `by {clause.who} within 15m`")
            return None
        within = duration_ms(clause.within)
        if not APPROVAL_MS[0] <= within <= APPROVAL_MS[1]:
            self.error("HP032", "an approval waits between 1m and 7d", clause.within)
        return within

    def _limit(self, item: s.Limit, outer: list[Part] | None = None) -> None:
        targets = self.words.target(item.target)
        key = self._id(f"limit:{target_text(item.target)}")
        before = self.conditions.faults
        guard = self._guard(key, outer or [], item.when, targets) if targets else ir.FALSE
        settings: dict[str, int] = {}
        for name, value in item.settings:
            known = SETTINGS.get(name)
            if known is None:
                self.words.unknown_word(name, SETTINGS, "limits are")
                continue
            kind = KINDS[known.kind]
            if value.kind != kind.literal:
                self.error("HP031", f"`{name}` is a {kind.literal}", value.token, f"as in `{name} {kind.example}`")
                continue
            if known.wire in settings:
                self.error("HP048", f"`{name}` is given twice", name, "keep one of them")
            number = kind.parse(value.token)
            if number <= 0:
                self.error("HP032", "a limit is positive", value.token, "use `deny` to forbid")
            elif number > INT_MAX:
                self.error("HP032", f"a limit is at most {INT_MAX:_} (in bytes or milliseconds)", value.token)
            settings[known.wire] = number
        self.spans[key] = self.words.locate(item.target, item.settings[0][0])
        if self.conditions.faults == before and targets and not self.doubtful:
            self.limits.append(ir.Limit(key, _names(targets), guard, tuple(sorted(settings.items()))))

    def _hook(self, item: s.Hook, outer: list[Part] | None = None) -> None:
        before = self.conditions.faults
        key = f"hook:{item.name}"
        if key in self.spans:
            self.error("HP025", f"a hook `{item.name}` is already defined", item.name, "choose another name")
        self._distinct(item.name)
        self.spans[key] = self.conditions.span(item.name)
        targets = self.words.target(item.target) if item.target is not None else ()
        guard = self._guard(key, outer or [], item.when, targets)
        executor = str(item.executor)
        if executor not in EXECUTORS:
            self.words.unknown_word(item.executor, EXECUTORS, "a hook runs")
        program = str(item.program)[1:-1]
        if not _program_ok(executor, program):
            hint = (
                "as in https://hooks.acme.example/check"
                if executor == "webhook"
                else "as in hooks/check.py, below the policy's folder"
            )
            self.error("HP054", f"`{program}` cannot be run as {executor}", item.program, hint)
        timeout = self._timeout(item)
        on_error = str(item.on_error) if item.on_error is not None else ""
        if item.on_error is None:
            self.error(
                "HP051", f"the hook `{item.name}` does not say what happens when it fails", item.name, "add `on_error block`"
            )
        elif on_error not in ON_ERROR:
            self.words.unknown_word(item.on_error, ON_ERROR, "on_error is")
        uses = self._uses(item, executor)
        writes = [t.name for t in targets if set(t.effects) & {"write", "external_system"}]
        if item.phase == "before" and on_error in ("warn", "allow") and writes:
            assert item.on_error is not None
            self.error(
                "HP052", f"when `{item.name}` fails, {writes[0]} goes ahead unguarded", item.on_error, "write `on_error block`"
            )
        if self.conditions.faults == before and (targets or item.target is None) and not self.doubtful:
            phase = cast(ir.Phase, str(item.phase))
            call = (str(item.name), phase, executor, program, timeout, on_error, uses)
            self.hooks.append(ir.Hook(*call, capabilities=_names(targets), guard=guard))

    def _timeout(self, item: s.Hook) -> int:
        if item.timeout is None:
            self.error("HP050", f"the hook `{item.name}` has no timeout", item.name, "add `timeout 200ms`")
            return 0
        timeout = duration_ms(item.timeout)
        if not HOOK_TIMEOUT_MS[0] <= timeout <= HOOK_TIMEOUT_MS[1]:
            self.error("HP050", "a hook's timeout lies between 1ms and 30s", item.timeout)
        return timeout

    def _uses(self, item: s.Hook, executor: str) -> tuple[str, ...]:
        used = {"net.connect"} if executor == "webhook" else set()
        for value in item.uses or ():
            if str(value.token) in self.catalog.capabilities:
                used.add(str(value.token))
            else:
                self.words.unknown_capability(value.token)
        return tuple(sorted(used))

    def _prove(self, item: s.Prove) -> None:
        targets = self.words.target(item.target)
        key = self._id("prove")
        before = self.conditions.faults
        parts = self.conditions.conjuncts(item.when, targets) if targets else []
        self.spans[key] = self.words.locate(item.target, None)
        if self.conditions.faults == before and targets:
            self.claims.append(ir.Claim(key, _names(targets), ir.conj(part for part, _ in parts)))
            condition = f" when {self.conditions.locate(item.when).text()}" if item.when is not None else ""
            self.claim_texts[key] = " ".join(f"no {target_text(item.target)}{condition}".split())

    def _id(self, stem: str) -> str:
        stem = self.prefix + stem
        self.ordinals[stem] = self.ordinals.get(stem, 0) + 1
        return f"{stem}#{self.ordinals[stem]}"

    def error(self, code: str, message: str, at: Token, hint: str | None = None) -> None:
        self.conditions.error(code, message, at, hint)

    def _reads(self) -> dict[str, tuple[Field, ...]]:
        """Per event, every field its rules, limits or hooks mention, and every path and host it has, in name order."""
        names: dict[str, set[str]] = {event: set() for event in (*self.catalog.capabilities, *ir.LIFECYCLE)}
        mentioned: dict[ir.Expr, frozenset[str]] = {}

        def find_fields(expr: ir.Expr) -> frozenset[str]:
            if expr not in mentioned:
                mentioned[expr] = frozenset(lit.field for lit in ir.literals(expr))
            return mentioned[expr]

        for rule in self.rules:
            for capability in rule.capabilities:
                # THREAT[TM-POL-010]: `path under "/"` is always true, but a request without a path, or with `..` in it, is none.
                fields = self.catalog.capabilities[capability].fields.values()
                names[capability] |= {field.name for field in fields if field.type.labels is not None and field.usable}
            used = find_fields(rule.guard) | (find_fields(rule.auto) if rule.auto is not None else frozenset())
            for capability in rule.capabilities:
                names[capability] |= used
        for limit in self.limits:
            for capability in limit.capabilities:
                names[capability] |= find_fields(limit.guard)
        for hook in self.hooks:
            for event in hook.capabilities or (hook.phase,):
                names[event] |= find_fields(hook.guard)
        reads: dict[str, tuple[Field, ...]] = {}
        for event, used_names in names.items():
            lookup = self.catalog.capabilities[event].fields if event in self.catalog.capabilities else {}
            reads[event] = tuple(self.catalog.context.get(n) or lookup[n] for n in sorted(used_names))
        return reads


def _names(targets: Targets) -> tuple[str, ...]:
    return tuple(target.name for target in targets)


def _program_ok(executor: str, program: str) -> bool:
    if executor == "webhook":
        host = program[8:].split("/")[0] if program.startswith("https://") else ""
        return bool(host) and host_fault(host) is None and "*" not in host
    return is_path("/" + program) and program != ""
