"""Statements to the canonical form, with every name, type, clause and option checked.

Rules: each statement is checked on its own, so one mistake never hides another. What came out wrong is left out of the
result, and `clean` says whether the result may be reasoned about as a whole.
"""

from __future__ import annotations

from typing import Any, cast

from lark import Token

from policy.lowering.conditions import Conditions
from policy.lowering.declared_tests import lower_test
from policy.lowering.loading import Loaded, Unit
from policy.lowering.program import Part, Program
from policy.lowering.vocabulary import SetEntry, Targets, list_names, write_target
from policy.model import ir
from policy.model.catalog import Field
from policy.model.kinds import KINDS
from policy.model.settings import APPROVAL_MS, EXECUTORS, HOOK_TIMEOUT_MS, ON_ERROR, RATE_SCOPES, SETTINGS
from policy.syntax import tree as s
from policy.text.diagnostics import Findings
from policy.text.literals import INT_MAX, RATE_UNITS_S, duration_ms, host_fault, is_path, parse_quantity
from policy.text.sources import Span
from policy.text.spelling import skeleton

_MAX_VERSION = 2**53 - 1
_MISPLACED = {
    (s.Rate, "deny"): ("a deny has no rate", "delete it; what is denied never happens"),
    (s.Approver, "allow"): ("an allow has no approver", "write `ask`"),
    (s.Approver, "deny"): ("a deny has no approver", "write `ask`"),
    (s.Auto, "allow"): ("only an ask is approved automatically", "move the condition to `when`"),
    (s.Auto, "deny"): ("only an ask is approved automatically", "move the condition to `when`"),
}


def lower(loaded: Loaded, findings: Findings) -> Program:
    return _Lowering(loaded, findings).run()


class _Lowering:
    def __init__(self, loaded: Loaded, findings: Findings) -> None:
        self.loaded, self.findings = loaded, findings
        self.catalog = loaded.catalog
        self.words = Conditions(loaded.catalog, findings, loaded.main.source, typed=loaded.typed)
        self.error = self.words.error
        self.program = Program(ir.EMPTY, loaded.catalog, loaded.main.source)
        self.rules: list[ir.Rule] = []
        self.limits: list[ir.Limit] = []
        self.hooks: list[ir.Hook] = []
        self.claims: list[ir.Claim] = []
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
        self.program.ir = ir.Policy(
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
        if self.words.faults and not self.findings.errors:
            # INVARIANT: nothing is left out of a policy without an error. THREAT[TM-POL-008]
            words = f"{self.words.faults} part(s) of the policy could not be understood, and no reason was recorded"
            self.findings.add("HP099", words, Span(self.loaded.main.source, 0, 0))
        self.program.clean = self.findings.errors == 0 and not self.loaded.broken
        return self.program

    def _version(self, header: s.Header) -> int:
        version = parse_quantity(header.version)[0]
        if not 0 <= version <= _MAX_VERSION:
            self.words.source = self.loaded.main.source
            self.error("HP032", f"a version lies in 0..{_MAX_VERSION:_}", header.version)
            return 0
        return version

    def _unit(self, unit: Unit) -> None:
        self.words.source = unit.source
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
                    self.program.tests += lower_test(item, self.words)
            elif not isinstance(item, s.Import):
                handlers[type(item)](item)  # type: ignore[operator]

    def _declare(self, name: Token) -> bool:
        """Whether a new name may be taken."""
        known = self.words.sets.get(name) or self.words.lets.get(name)
        if known is not None or name in self.taken:
            what = "is already defined" if known else "is already the name of a field, a capability or a value"
            self.error("HP025", f"`{name}` {what}", name, "choose another name")
            return False
        self._check_distinct(name)
        return True

    def _check_distinct(self, name: Token) -> None:
        """A name that looks like another is a mistake, but known all the same: its uses are none."""
        alike = self.skeletons.setdefault(skeleton(name), name)
        if str(alike) != str(name):
            self.error("HP026", f"`{name}` looks like `{alike}`", name, "choose names a reader can tell apart")

    def _set(self, item: s.SetDef) -> None:
        if self._declare(item.name):
            self.words.sets[str(item.name)] = SetEntry(item.name, item.values, self.words.source)
            if not item.values:
                hint = "an empty set matches nothing; write the values"
                self.error("HP033", f"the set `{item.name}` is empty", item.name, hint)

    def _let(self, item: s.LetDef) -> None:
        if self._declare(item.name):
            self.words.define_let(item.name, item.expr)

    def _report_unused(self) -> None:
        for kind, entries in (("set", self.words.sets.values()), ("let", self.words.lets.values())):
            for entry in entries:
                if not entry.used and entry.source is self.loaded.main.source:
                    where = Span(entry.source, *s.offsets(entry.name))
                    self.findings.add("HP106", f"the {kind} `{entry.name}` is never used", where, "delete it, or use it")

    def _scope(self, item: s.Scope) -> None:
        before = self.words.faults
        outer = self.words.conjuncts(item.expr, ())
        # What stands in a scope that has no meaning is checked by itself, but says nothing about other rules.
        self.doubtful = item.expr is None or self.words.faults > before
        handlers = {s.Rule: self._rule, s.Limit: self._limit, s.Hook: self._hook}
        for inner in item.items:
            handlers[type(inner)](inner, outer)  # type: ignore[operator]
        self.doubtful = False

    def _guard(self, key: str, outer: list[Part], when: s.Expr | None, targets: Targets) -> ir.Expr:
        parts = outer + self.words.conjuncts(when, targets)
        self.program.parts[key] = parts
        return ir.conj(part for part, _ in parts)

    def _rule(self, item: s.Rule, outer: list[Part] | None = None) -> None:
        verdict = str(item.effect)
        targets = self.words.target(item.target)
        if verdict == "allow" and item.target.kind == "effects" and item.target.effects:
            self.error(
                "HP043", "an allow must name its capabilities", item.target.effects[0].token, "name them, or use `ask` or `deny`"
            )
        key = self._id(f"{verdict}:{write_target(item.target)}")
        before = self.words.faults
        guard = self._guard(key, outer or [], item.when, targets) if targets else ir.FALSE
        clauses = self._clauses(item, targets, key)
        self.program.spans[key] = self.words.locate_statement(item.target, item.effect)
        if self.words.faults == before and targets and not self.doubtful:
            self.rules.append(ir.Rule(key, verdict, list_names(targets), guard, **clauses))  # type: ignore[arg-type]

    def _clauses(self, item: s.Rule, targets: Targets, key: str) -> dict[str, Any]:
        """What a rule's clauses say, by the names of `ir.Rule`."""
        verdict, found, seen = str(item.effect), dict[str, Any](), set[type]()
        for clause in item.clauses:
            at = s.clause_token(clause)
            if type(clause) in seen:
                self.error("HP048", "this clause is given twice", at, "keep one of them")
                continue
            seen.add(type(clause))
            if (type(clause), verdict) in _MISPLACED:
                message, hint = _MISPLACED[type(clause), verdict]
                self.error("HP046", message, at, hint)
            if isinstance(clause, s.Rate):
                found["rate"] = self._rate(clause)
            elif isinstance(clause, s.Approver):
                found |= {"approver": str(clause.who), "within_ms": self._read_within(clause)}
            elif isinstance(clause, s.Because):
                found["because"] = str(clause.text)[1:-1]
            elif targets:
                found["auto"] = self.words.lower(clause.expr, targets)
                self.program.autos[key] = self.words.locate(clause.expr)
        if verdict == "ask" and s.Approver not in seen:
            self.error("HP044", "this ask says neither who approves nor by when", item.effect, "add `by NAME within 15m`")
        return found

    def _rate(self, clause: s.Rate) -> ir.Rate | None:
        count, unit = parse_quantity(clause.rate)
        if str(clause.per) not in RATE_SCOPES:
            self.words.report_unknown_word(clause.per, RATE_SCOPES, "a rate is counted per")
        if count < 1:
            self.error("HP032", "a rate is at least 1", clause.rate, "use `deny` to forbid")
        if count > INT_MAX:
            self.error("HP032", f"a rate is at most {INT_MAX:_}", clause.rate, "without a rate there is no bound")
        return ir.Rate(min(count, INT_MAX), RATE_UNITS_S[unit], str(clause.per))

    def _read_within(self, clause: s.Approver) -> int | None:
        if clause.within is None:
            self.error("HP044", "this approval never expires", clause.who, f"write `by {clause.who} within 15m`")
            return None
        within = duration_ms(clause.within)
        if not APPROVAL_MS[0] <= within <= APPROVAL_MS[1]:
            self.error("HP032", "an approval waits between 1m and 7d", clause.within)
        return within

    def _limit(self, item: s.Limit, outer: list[Part] | None = None) -> None:
        targets = self.words.target(item.target)
        key = self._id(f"limit:{write_target(item.target)}")
        before = self.words.faults
        guard = self._guard(key, outer or [], item.when, targets) if targets else ir.FALSE
        settings: dict[str, int] = {}
        for name, value in item.settings:
            known = SETTINGS.get(name)
            if known is None:
                self.words.report_unknown_word(name, SETTINGS, "limits are")
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
        self.program.spans[key] = self.words.locate_statement(item.target, item.settings[0][0])
        if self.words.faults == before and targets and not self.doubtful:
            self.limits.append(ir.Limit(key, list_names(targets), guard, tuple(sorted(settings.items()))))

    def _hook(self, item: s.Hook, outer: list[Part] | None = None) -> None:
        before = self.words.faults
        key = f"hook:{item.name}"
        if key in self.program.spans:
            self.error("HP025", f"a hook `{item.name}` is already defined", item.name, "choose another name")
        self._check_distinct(item.name)
        self.program.spans[key] = self.words.span(item.name)
        targets = self.words.target(item.target) if item.target is not None else ()
        guard = self._guard(key, outer or [], item.when, targets)
        executor = str(item.executor)
        if executor not in EXECUTORS:
            self.words.report_unknown_word(item.executor, EXECUTORS, "a hook runs")
        program = str(item.program)[1:-1]
        if not _program_ok(executor, program):
            example = "https://hooks.acme.example/check" if executor == "webhook" else "hooks/check.py, below the policy's folder"
            self.error("HP054", f"`{program}` cannot be run as {executor}", item.program, f"as in {example}")
        if executor == "webhook" and item.digest is not None:
            self.error("HP055", "a web service has no digest", item.digest, "delete it; only programs have one")
        sha256 = str(item.digest or "").removeprefix("sha256:")
        timeout = self._timeout(item)
        on_error = str(item.on_error) if item.on_error is not None else ""
        if item.on_error is None:
            self.error(
                "HP051", f"the hook `{item.name}` does not say what happens when it fails", item.name, "add `on_error block`"
            )
        elif on_error not in ON_ERROR:
            self.words.report_unknown_word(item.on_error, ON_ERROR, "on_error is")
        uses = self._uses(item, executor)
        writes = [t.name for t in targets if set(t.effects) & {"write", "external_system"}]
        if item.phase == "before" and on_error in ("warn", "allow") and writes:
            assert item.on_error is not None
            self.error(
                "HP052", f"when `{item.name}` fails, {writes[0]} goes ahead unguarded", item.on_error, "write `on_error block`"
            )
        if self.words.faults == before and (targets or item.target is None) and not self.doubtful:
            phase = cast(ir.Phase, str(item.phase))
            call = (str(item.name), phase, executor, program, timeout, on_error, uses, sha256)
            self.hooks.append(ir.Hook(*call, capabilities=list_names(targets), guard=guard))

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
                self.words.report_unknown_capability(value.token)
        return tuple(sorted(used))

    def _prove(self, item: s.Prove) -> None:
        targets = self.words.target(item.target)
        key = self._id("prove")
        before = self.words.faults
        parts = self.words.conjuncts(item.when, targets) if targets else []
        self.program.spans[key] = self.words.locate_statement(item.target, None)
        if self.words.faults == before and targets:
            self.claims.append(ir.Claim(key, list_names(targets), ir.conj(part for part, _ in parts)))
            condition = f" when {self.words.locate(item.when).text()}" if item.when is not None else ""
            self.program.claim_texts[key] = " ".join(f"no {write_target(item.target)}{condition}".split())

    def _id(self, stem: str) -> str:
        stem = self.prefix + stem
        self.ordinals[stem] = self.ordinals.get(stem, 0) + 1
        return f"{stem}#{self.ordinals[stem]}"

    def _reads(self) -> dict[str, tuple[Field, ...]]:
        """Per event, every field its rules, limits or hooks mention, and every path and host it has, in name order."""
        names: dict[str, set[str]] = {event: set() for event in (*self.catalog.capabilities, *ir.LIFECYCLE)}
        mentioned: dict[ir.Expr, frozenset[str]] = {}

        def find_fields(expr: ir.Expr) -> frozenset[str]:
            if expr not in mentioned:
                mentioned[expr] = ir.find_fields(expr)
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


def _program_ok(executor: str, program: str) -> bool:
    if executor == "webhook":
        host = program[8:].split("/")[0] if program.startswith("https://") else ""
        return bool(host) and host_fault(host) is None and "*" not in host
    return is_path("/" + program) and program != ""
