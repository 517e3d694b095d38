"""Findings about a policy, and the table of everything the compiler can say.

A code, once published, keeps its meaning; the reference page and the tests are made from `CHECKS`. A finding states what is wrong
in plain words and, where there is one, the fix as a hint.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, NamedTuple

from policy.text.sources import Span
from policy.text.spelling import find_nearest

MAX_FINDINGS = 1_000
MAX_GUESSES = 50
MAX_CANDIDATES = 2_000
Severity = Literal["error", "warning"]


class Check(NamedTuple):
    """One row of the table: what a code means and why the compiler insists."""

    code: str
    slug: str
    severity: Severity
    title: str
    why: str


_ERRORS = """
HP001 syntax | The text does not follow the grammar. | Reading resumes at the next statement; each mistake is reported once.
HP002 nesting | An expression is nested too deeply. | Bounded depth keeps every later step bounded.
HP003 size | The text is too large. | A policy is read by people; the cap also bounds the time any text can take.
HP004 invisible | The text holds invisible or direction-changing characters. | They make a policy read unlike what it does.
HP005 unreadable | A file cannot be read as UTF-8 text. | Nothing is guessed about a file that cannot be read.
HP010 import | An import cannot be resolved. | Imports are relative, end in .hatch and stay below this file's folder.
HP011 import-cycle | Files import each other in a circle. | Meaning must not depend on where reading starts.
HP012 base | The policy named by `narrows` cannot be found or does not compile. | A claim about a missing base proves nothing.
HP013 catalog-missing | The catalog named in the header cannot be found. | Without it no field has a type.
HP014 catalog-digest | The catalog is not the one the policy was written against. | A changed catalog can change a rule's meaning.
HP015 catalog-invalid | The catalog is malformed. | Types come from it, so it is checked before it is believed.
HP020 unknown-capability | No capability has this name. | A rule about nothing would silently protect nothing.
HP021 unknown-field | The capability has no such field. | A misspelt field would otherwise widen or void a rule.
HP022 unknown-name | No set or let has this name here. | Definitions come before their uses, and none uses itself.
HP023 unknown-value | The field can never hold this value. | The comparison would always give the same answer.
HP024 unknown-word | A word is not one of those allowed here. | Limits, executors, effects and rate scopes are fixed lists.
HP025 duplicate | A name is defined twice. | One name, one meaning.
HP026 confusable | A name looks like another. | A reader must be able to tell them apart.
HP028 optional-field | The field may be absent and has no default. | A guard over a missing value has no answer.
HP029 path-wildcard | A path in a condition holds a `*` or `?`. | Paths have no wildcards; the rule would protect nothing.
HP030 type | A value has the wrong type for its field. | Comparisons are between like and like.
HP031 unit | A number has the wrong unit, or lacks one. | 4096 what?
HP032 range | A number lies outside what the field can hold. | The comparison would always give the same answer.
HP033 empty-range | A range is empty. | Nothing can lie in it.
HP034 scope-field | A scope's condition uses a field of one capability. | A scope holds for every rule in it.
HP035 public-suffix | A host wildcard covers a public suffix. | Every customer of a registry can have a name below it.
HP036 wildcard | A host wildcard is not the whole leading label. | Only `*.` in front can be matched label by label.
HP037 ip-literal | A host is an IP address. | Names are checked after resolution; addresses would go around that.
HP038 host | A host name is malformed. | Hosts are lower-case ASCII labels without port, scheme or final dot.
HP039 path | A path is not absolute and normalised. | Prefixes are compared only in normal form.
HP040 unsatisfiable | No request can satisfy this guard. | The rule can never apply.
HP041 dead-rule | Other rules already decide every request this rule applies to. | It can be deleted, or it was meant differently.
HP042 covered-allow | An allow is wholly covered by ask or deny. | What looks granted is not.
HP043 allow-by-effect | An allow names an effect set. | A growing catalog would widen it without any edit here.
HP044 ask-incomplete | An ask lacks its approver or expiry. | Without them no one can approve, or the approval never lapses.
HP045 auto-outside | `auto when` can never hold where the rule applies. | The automatic approval would never be given.
HP046 misplaced-clause | A clause does not belong to this kind of rule. | A rate on a deny, an approver on an allow.
HP047 budget | A decision could take too many comparisons. | Decisions must stay fast in the worst case.
HP048 repeated-clause | A clause or key is given twice. | One of the two would be ignored.
HP049 pattern | A pattern is not one that can be decided, or never decides anything. | One `*`, a beginning or an ending: no more.
HP050 hook-timeout | A hook lacks a timeout, or has one out of range. | A hook that hangs must end.
HP051 hook-on-error | A hook does not say what happens when it fails. | Failing open must be a choice, not an accident.
HP052 hook-fails-open | A hook before a write lets the call pass when the hook fails. | A guard that fails open guards nothing.
HP053 hook-cycle | Hooks trigger each other in a circle. | They would run for ever.
HP054 hook-source | A hook's program is not a relative path or an https URL. | Hooks come from the policy's own folder.
HP055 hook-digest | A hook's program is not the one that its digest names. | Another program under its name may guard nothing.
HP060 limit-missing | A capability that needs limits is permitted without them. | Code without a bound on time or memory.
HP070 secret-egress | A secret can be used by a caller that may send it elsewhere. | Its egress exceeds the secret's hosts.
HP080 claim-false | A `prove` claim is false. | A concrete request refutes it.
HP081 not-narrower | Something is permitted here beyond the base, or with a weaker obligation. | `narrows` promises the opposite.
HP082 limit-above-base | A limit is higher than the base's, or missing. | `narrows` promises the opposite.
HP083 unsettled | A claim could be neither proved nor refuted. | Unknown is never a pass.
HP090 no-tests | The policy has no tests. | Zero tests matched must not count as passed.
HP091 test-failed | A test did not get the verdict it expects. | The policy does not do what its author says.
HP092 test-incomplete | A test lacks a field that the decision reads. | A denial for a missing field would hide what is tested.
HP099 internal | The compiler itself failed on this policy. | Our mistake, not the author's; the policy is refused all the same.
"""

_WARNINGS = """
HP101 overlap | An allow overlaps an ask, or an allow of another rate. | An ask decides alone; of two allows, both rates count.
HP102 no-rate | A side effect is allowed without a rate. | A loop could repeat it without bound.
HP103 unmentioned | No rule mentions this capability. | It is denied; perhaps it was forgotten.
HP104 not-covered | Rules are not both hit and missed by tests. | A mistake in them would go unnoticed.
HP105 surviving-mutant | A condition can be flipped without any test noticing. | Only `test --mutants` looks for it.
HP106 unused | A definition is never used. | It may have been meant somewhere.
HP107 former-name | A word has another name now. | It is read as the new one; a later release will not know it.
"""


def _table() -> dict[str, Check]:
    rows: dict[str, Check] = {}
    blocks: tuple[tuple[Severity, str], ...] = (("error", _ERRORS), ("warning", _WARNINGS))
    for severity, block in blocks:
        for line in block.strip().splitlines():
            head, title, why = (part.strip() for part in line.split("|"))
            code, slug = head.split()
            rows[code] = Check(code, slug, severity, title, why)
    return rows


CHECKS: dict[str, Check] = _table()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `span` is absent only when no file could be read at all."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        return CHECKS[self.code].severity

    def location(self) -> str:
        if self.span is None:
            return "policy"
        line, column = self.span.source.position(self.span.start)
        return f"{self.span.source.path}:{line}:{column}"


@dataclass(slots=True)
class Findings:
    """The list that every stage adds to. Equal findings are kept once."""

    items: list[Diagnostic] = field(default_factory=list)
    errors: int = 0
    _seen: set[object] = field(default_factory=set)

    def add(self, code: str, message: str, span: Span | None, hint: str | None = None, notes: Iterable[str] = ()) -> None:
        finding = Diagnostic(code, message, span, hint, tuple(notes))
        # A word that is wrong for several capabilities, as in a let used by many rules, is one mistake.
        key = (code, span) if code < "HP040" else finding
        if key in self._seen:
            return
        self._seen.add(key)
        if finding.severity == "error":
            self.errors += 1
        if len(self.items) < MAX_FINDINGS or (finding.severity == "error" and self.errors == 1):
            self.items.append(finding)

    def guess(self, name: str, candidates: Iterable[str], otherwise: str | None = None, *, after: str = "") -> str | None:
        """A hint with the nearest right name, while mistakes are few: a text full of them must not cost a search each."""
        found = find_nearest(name, islice(candidates, MAX_CANDIDATES)) if self.errors < MAX_GUESSES else None
        return f"did you mean `{found}{after}`?" if found else otherwise

    def sort(self) -> tuple[Diagnostic, ...]:
        """Errors and warnings together, by file in reading order, then by place."""
        files: dict[int, int] = {}
        for item in self.items:
            if item.span is not None:
                files.setdefault(id(item.span.source), len(files))

        def key(item: Diagnostic) -> tuple[int, int, str]:
            return (files[id(item.span.source)], item.span.start, item.code) if item.span else (-1, 0, item.code)

        return tuple(sorted(self.items, key=key))
