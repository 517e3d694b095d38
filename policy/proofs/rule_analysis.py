"""Single rules and pairs of rules: never true, never decisive, half in each other's way.

Works capability by capability on cell sets; rules are compared only when their boxes overlap, found through an index on the
field that tells most of them apart. A rule about several capabilities is dead only if it is dead for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from policy.errors import UnsettledClaim
from policy.lowering.program import Part, Program
from policy.model import ir
from policy.model.catalog import Field
from policy.model.decisions import RANK
from policy.model.settings import MAX_COMPARISONS
from policy.proofs.claims import find_fields
from policy.solver.effort import Effort, OutOfBudget
from policy.solver.solver import Box, hull, includes, overlap, search
from policy.solver.universe import Universe
from policy.text.diagnostics import Findings
from policy.text.sources import Span

_MAX_OVERLAPS = 50
_INDEX_ABOVE = 16
_FEW_CELLS = 4
_EFFORT = 2_000_000
_ALWAYS_MET = ("true", "in", "host", "under")


@dataclass(slots=True)
class Region:
    """A rule's reach within one capability."""

    rule: ir.Rule
    index: int
    box: Box
    exact: bool


def analyse(program: Program, findings: Findings) -> None:
    """All checks on rules, limits and hooks that need no claim and no test."""
    try:
        _analyse(program, findings, Effort(_EFFORT))
    except (OutOfBudget, UnsettledClaim) as error:
        why = str(error) or "too many rules overlap"
        words = f"whether every rule can apply could not be settled: {why}"
        findings.add("HP083", words, Span(program.source, 0, 0), "compare one field with `==` or `in` in each rule")


def _analyse(program: Program, findings: Findings, effort: Effort) -> None:
    empty = _find_unsatisfiable(program, findings, effort)
    dead: dict[str, list[str | None]] = {}
    overlaps: dict[str, str] = {}
    by_capability: dict[str, list[tuple[int, ir.Rule]]] = {}
    for index, rule in enumerate(program.ir.rules):
        if rule.id not in empty:
            for capability in rule.capabilities:
                by_capability.setdefault(capability, []).append((index, rule))
    for capability, rules in by_capability.items():
        fields = {field.name: field for field in program.ir.reads[capability]}
        universe = Universe(fields, [rule.guard for _, rule in rules], effort)
        regions = []
        for index, rule in rules:
            box, exact = hull(rule.guard, universe)
            if box is not None:
                regions.append(Region(rule, index, box, exact))
        found = _find_dead(regions, universe, effort)
        for region in regions:
            dead.setdefault(region.rule.id, []).append(found.get(region.rule.id))
        live = [region for region in regions if region.rule.id not in found]
        _find_overlaps(live, overlaps, universe, effort)
    _report_dead(program, dead, findings)
    verdicts = {rule.id: rule.verdict for rule in program.ir.rules}
    for first, second in list(overlaps.items())[:_MAX_OVERLAPS]:
        asks = verdicts[second] == "ask"
        hint = "there the ask decides, and what this rule demands does not apply" if asks else "there both rates count"
        findings.add("HP101", f"this rule and {_place(program, second)} overlap", program.spans[first], hint)
    _check_autos(program, empty, findings, effort)


def _place(program: Program, rule: str) -> str:
    span = program.spans[rule]
    return f"`{rule.split('#')[0].replace(':', ' ')}` at line {span.source.position(span.start)[0]}"


def _find_unsatisfiable(program: Program, findings: Findings, effort: Effort) -> set[str]:
    empty: set[str] = set()
    fields = _collect_fields(program)
    items: list[tuple[str, ir.Expr, tuple[str, ...]]] = [(r.id, r.guard, r.capabilities) for r in program.ir.rules]
    items += [(limit.id, limit.guard, limit.capabilities) for limit in program.ir.limits]
    items += [(f"hook:{hook.name}", hook.guard, hook.capabilities or (hook.phase,)) for hook in program.ir.hooks]
    for key, guard, events in items:
        if not _is_plainly_possible(guard) and not _is_possible(guard, events, fields, effort):
            empty.add(key)
            core = _find_core(program, events[0], program.parts[key], effort)
            text = " and ".join(_quote(part, alone=len(core) == 1) for part in core)
            where = min((span for _, span in core), key=lambda span: span.start) if core else program.spans[key]
            findings.add("HP040", f"no request satisfies `{text}`", where, "the rule can never apply")
    return empty


def _is_possible(guard: ir.Expr, events: tuple[str, ...], fields: dict[str, dict[str, Field]], effort: Effort) -> bool:
    """Whether some request about one of `events` satisfies a condition: the range of a field may differ between them."""
    return any(search(guard, Universe(fields[event], [guard], effort), effort=effort)[0] is not None for event in events)


def _is_plainly_possible(guard: ir.Expr) -> bool:
    """One positive condition per field: each can be met, so all can."""
    seen: set[str] = set()
    for part in ir.conjuncts(guard):
        if type(part) is not ir.Lit or part.neg or part.op not in _ALWAYS_MET or part.field in seen:
            return False
        seen.add(part.field)
    return True


def _collect_fields(program: Program) -> dict[str, dict[str, Field]]:
    return {event: {field.name: field for field in fields} for event, fields in program.ir.reads.items()}


def _quote(part: Part, *, alone: bool) -> str:
    """A conjunct as it was written, in parentheses where it is a choice next to others."""
    expr, span = part
    text = " ".join(span.text().split())
    return f"({text})" if isinstance(expr, ir.Any) and not alone and not text.startswith(("(", "not ")) else text


def _find_core(program: Program, event: str, parts: list[Part], effort: Effort) -> list[Part]:
    """The smallest set of conjuncts that cannot hold together: one, else two, else by leaving out what is not needed."""
    # A contradiction leaves nothing to read, so the types come from the catalog rather than from the policy's `reads`.
    exprs = [expr for expr, _ in parts]
    universe = Universe(find_fields(program.catalog, event, exprs), exprs, effort)

    def fails(some: tuple[Part, ...]) -> bool:
        return search(ir.All(tuple(expr for expr, _ in some)), universe, effort=effort)[0] is None

    for count in (1, 2):
        for some in combinations(parts[:64], count):
            if fails(some):
                return list(some)
    kept = list(parts)
    for part in parts:
        without = tuple(p for p in kept if p is not part)
        if fails(without):
            kept = list(without)
    return kept


def _find_dead(regions: list[Region], universe: Universe, effort: Effort) -> dict[str, str]:
    """Rules whose every request is decided without them, later rules first so that of two equal ones the second is named."""
    found: dict[str, str] = {}
    index = _Index(regions)
    for region in reversed(regions):
        rank = RANK[region.rule.verdict]
        stronger: list[Region] = []
        equal: list[Region] = []
        near = index.find_near(region)
        effort.spend(len(near))
        for other in near:
            if other is region or other.rule.id in found:
                continue
            if RANK[other.rule.verdict] > rank:
                stronger.append(other)
            elif other.rule.verdict == region.rule.verdict and _adds_nothing(region.rule, other.rule):
                equal.append(other)
        if _is_covered(region, stronger, universe, effort):
            found[region.rule.id] = "HP042" if region.rule.verdict == "allow" else "HP041"
        elif equal and _is_covered(region, stronger + equal, universe, effort):
            found[region.rule.id] = "HP041"
    return found


def _adds_nothing(rule: ir.Rule, kept: ir.Rule) -> bool:
    """Where both match, `rule` contributes no obligation that `kept` does not."""
    if rule.verdict == "deny" or rule.plain:
        return True
    return (rule.rate, rule.approver, rule.within_ms, rule.auto) == (kept.rate, kept.approver, kept.within_ms, kept.auto)


def _is_covered(region: Region, others: list[Region], universe: Universe, effort: Effort) -> bool:
    near = [other for other in others if overlap(region.box, other.box)]
    if any(other.exact and includes(other.box, region.box) for other in near):
        return True
    if len(near) < 2 and (not near or near[0].exact) and region.exact:
        return False
    refusals = [ir.complement(other.rule.guard) for other in near]
    return search(ir.All((region.rule.guard, *refusals)), universe, effort=effort)[0] is None


class _Index:
    """Regions by the cells of the field that tells most of them apart; a region with many cells there is near everything."""

    def __init__(self, regions: list[Region]) -> None:
        masks: dict[str, set[int]] = {}
        for region in regions if len(regions) > _INDEX_ABOVE else ():
            for name, mask in region.box.items():
                if mask.bit_count() <= _FEW_CELLS:
                    masks.setdefault(name, set()).add(mask)
        self.field = max(masks, key=lambda name: (len(masks[name]), name)) if masks else ""
        self.by_cell: dict[int, list[Region]] = {}
        self.rest: list[Region] = []
        self.everything = regions
        for region in regions:
            cells = self._cells(region)
            for cell in cells:
                self.by_cell.setdefault(cell, []).append(region)
            if not cells:
                self.rest.append(region)

    def _cells(self, region: Region) -> list[int]:
        mask = region.box.get(self.field, 0)
        return [cell for cell in range(mask.bit_length()) if mask >> cell & 1] if mask.bit_count() <= _FEW_CELLS else []

    def find_near(self, region: Region) -> list[Region]:
        cells = self._cells(region)
        if not cells:
            return self.everything
        if len(cells) == 1:
            return self.by_cell[cells[0]] + self.rest
        found = {id(other): other for cell in cells for other in self.by_cell[cell]}
        return [*found.values(), *self.rest]


def _report_dead(program: Program, dead: dict[str, list[str | None]], findings: Findings) -> None:
    for rule in program.ir.rules:
        codes = dead.get(rule.id)
        if not codes or None in codes:
            continue
        code = "HP041" if "HP041" in codes else "HP042"
        words = {
            "HP041": "other rules already decide every request this rule applies to",
            "HP042": "an ask or a deny decides every request this allow applies to",
        }[code]
        findings.add(code, words, program.spans[rule.id], "delete it, or narrow the rules that cover it")


def _find_overlaps(regions: list[Region], found: dict[str, str], universe: Universe, effort: Effort) -> None:
    """Allows that partly coincide with an ask, or with an allow of a different rate."""
    index = _Index(regions)
    for region in regions:
        if region.rule.verdict != "allow" or region.rule.id in found:
            continue
        near = index.find_near(region)
        effort.spend(len(near))
        for other in near:
            differs = other.rule.verdict == "ask" or (
                other.rule.verdict == "allow" and other.rule.rate != region.rule.rate and other.index > region.index
            )
            if (
                differs
                and overlap(region.box, other.box)
                and (
                    (region.exact and other.exact)
                    or search(ir.All((region.rule.guard, other.rule.guard)), universe, effort=effort)[0] is not None
                )
            ):
                found[region.rule.id] = other.rule.id
                break


def _check_autos(program: Program, empty: set[str], findings: Findings, effort: Effort) -> None:
    fields = _collect_fields(program)
    for rule in program.ir.rules:
        if rule.auto is None or rule.id in empty:
            continue
        both = ir.conj((rule.guard, rule.auto))
        if not _is_possible(both, rule.capabilities, fields, effort):
            findings.add(
                "HP045", "this never holds where the rule applies", program.autos[rule.id], "compare it with the rule's `when`"
            )


def check_hook_cycles(program: Program, findings: Findings) -> None:
    """Hooks that call a capability on which they, in the end, run again. Guards are ignored: a possible circle is refused."""
    hooks = program.ir.hooks
    on: dict[str, list[int]] = {}
    for i, hook in enumerate(hooks):
        for capability in hook.capabilities:
            on.setdefault(capability, []).append(i)
    triggers = [sorted({j for capability in hook.uses for j in on.get(capability, ())}) for hook in hooks]
    for i, hook in enumerate(hooks):
        seen: set[int] = set()
        pending = list(triggers[i])
        while pending:
            j = pending.pop()
            if j == i:
                findings.add(
                    "HP053",
                    f"running `{hook.name}` makes `{hook.name}` run again",
                    program.spans[f"hook:{hook.name}"],
                    "leave out a capability under `uses`, or narrow what the hook is on",
                )
                break
            if j not in seen:
                seen.add(j)
                pending.extend(triggers[j])


def check_budget(program: Program, findings: Findings) -> None:
    from policy.evaluation.emitter import count_worst_case

    for event, fields in program.ir.reads.items():
        size = sum(1 for rule in program.ir.rules if event in rule.capabilities) if fields else 0
        if size * 4 < MAX_COMPARISONS // 8:
            continue
        worst = count_worst_case(program.ir, event)
        if worst > MAX_COMPARISONS:
            last = [rule for rule in program.ir.rules if event in rule.capabilities][-1]
            findings.add(
                "HP047",
                f"a decision about {event} could take {worst:,} comparisons",
                program.spans[last.id],
                f"at most {MAX_COMPARISONS:,}; use `==` or `in` on one field so that rules can be indexed",
            )
