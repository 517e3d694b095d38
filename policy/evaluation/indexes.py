"""Which condition of many rules to look up rather than to try: equalities, folders, hosts and ranges, each with its table.

An index of a group of rules is a condition on one field that each rule of it demands, with the keys under which the rule is
found: a value, a folder, a host or the hosts below it, a stretch of numbers. Whatever is found under a key fulfils the condition,
so that rules are tried without it. What the tables answer is said by the interpreter; tests hold the compiled functions to it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from policy.model import ir

Way = Literal["equal", "under", "host", "range"]
Place = tuple[Way, str]
Rules = list[tuple[int, ir.Rule]]
Leaf = Callable[..., int]
_MOST_KEYS = 16
_MOST_COPIES = 8


@dataclass(frozen=True, slots=True)
class Index:
    """How rules are looked up by a field: the rules under each key, those that are not looked up, and the most that are tried.
    For ranges the keys are where stretches begin."""

    way: Way
    field: str
    buckets: dict[int | str, Rules]
    others: Rules
    most: int


def choose_index(group: Rules, used: set[Place]) -> Index | None:
    """The index that leaves the fewest rules to try, or None if none leaves fewer than all."""
    keyed: dict[Place, list[tuple[int, ir.Rule, ir.Lit]]] = {}
    for number, rule in group:
        for place, lit in list_keys(rule.guard).items():
            if place not in used:
                keyed.setdefault(place, []).append((number, rule, lit))
    found = [index for place, rules in keyed.items() if (index := _build(place, rules, group)) is not None]
    best = min(found, key=lambda index: (index.most, index.way != "equal", index.field), default=None)
    return best if best is not None and best.most < len(group) else None


def list_keys(guard: ir.Expr) -> dict[Place, ir.Lit]:
    """The conjuncts by which a rule can be looked up, the first for each way and field."""
    found: dict[Place, ir.Lit] = {}
    for part in ir.conjuncts(guard):
        if type(part) is ir.Lit and not part.neg and len(part.args) <= _MOST_KEYS:
            way: Way | None = {"in": "equal", "under": "under", "host": "host", "range": "range"}.get(part.op)  # type: ignore[assignment]
            if part.op == "range" and part.args[0] == part.args[1]:
                way = "equal"
            if way is not None:
                found.setdefault((way, part.field), part)
    return found


def _build(place: Place, rules: list[tuple[int, ir.Rule, ir.Lit]], group: Rules) -> Index | None:
    way, field = place
    taken = {number for number, _, _ in rules}
    others = [(number, rule) for number, rule in group if number not in taken]
    slim = [(number, _drop(rule, lit), lit) for number, rule, lit in rules]
    buckets = _cut_ranges(slim) if way == "range" else _sort_by_key(slim)
    if buckets is None:
        return None
    together = {key: len(found) for key, found in buckets.items()}
    if way in ("under", "host"):
        together = {key: sum(together.get(above, 0) for above in _list_above(way, str(key))) for key in together}
    return Index(way, field, buckets, others, max(together.values()) + len(others))


def _sort_by_key(rules: Iterable[tuple[int, ir.Rule, ir.Lit]]) -> dict[int | str, Rules]:
    buckets: dict[int | str, Rules] = {}
    for number, rule, lit in rules:
        for key in dict.fromkeys(lit.args):
            # `*.x` is found under `.x`, which is no host.
            name = key[1:] if lit.op == "host" and isinstance(key, str) and key.startswith("*.") else key
            buckets.setdefault(name, []).append((number, rule))
    return buckets


def _cut_ranges(rules: list[tuple[int, ir.Rule, ir.Lit]]) -> dict[int | str, Rules] | None:
    """The rules of each stretch between bounds; None where rules lie over each other so much that they would be many."""
    edges: dict[int, list[int]] = {}
    for place, (_, _, lit) in enumerate(rules):
        low, high = lit.args
        assert isinstance(low, int) and isinstance(high, int)
        edges.setdefault(low, []).append(place)
        edges.setdefault(high + 1, []).append(~place)
    starts = sorted(edges)
    open_at = accumulate(sum(1 if place >= 0 else -1 for place in edges[start]) for start in starts)
    if sum(open_at) > _MOST_COPIES * len(rules):
        return None
    buckets: dict[int | str, Rules] = {}
    inside: dict[int, None] = {}
    for start in starts:
        for place in edges[start]:
            if place >= 0:
                inside[place] = None
            else:
                inside.pop(~place)
        buckets[start] = [rules[place][:2] for place in sorted(inside)]
    return buckets


def _drop(rule: ir.Rule, lit: ir.Lit) -> ir.Rule:
    guard = ir.All(tuple(part for part in ir.conjuncts(rule.guard) if part is not lit))
    return ir.Rule(rule.id, rule.verdict, rule.capabilities, guard)


def _list_above(way: Way, key: str) -> list[str]:
    """A key and all others that are found with it."""
    if way == "under":
        return [key, *(key[:at] for at in range(1, len(key)) if key[at] == "/")]
    return [key, *(key[at:] for at in range(1, len(key)) if key[at] == ".")]


def find_equal(table: Mapping[object, Leaf], value: object, *values: object) -> int:
    leaf = table.get(value)
    return 0 if leaf is None else leaf(*values)


def find_folders(table: Mapping[str, Leaf], path: str, *values: object) -> int:
    """The rules of all folders that a path is or lies below."""
    get = table.get
    leaf = get(path)
    found = 0 if leaf is None else leaf(*values)
    at = path.rfind("/")
    while at > 0:
        leaf = get(path[:at])
        if leaf is not None:
            found |= leaf(*values)
        at = path.rfind("/", 0, at)
    return found


def find_hosts(table: Mapping[str, Leaf], host: str, *values: object) -> int:
    """The rules of a host and of all names that it lies below."""
    get = table.get
    leaf = get(host)
    found = 0 if leaf is None else leaf(*values)
    at = host.find(".")
    while at >= 0:
        leaf = get(host[at:])
        if leaf is not None:
            found |= leaf(*values)
        at = host.find(".", at + 1)
    return found


def find_stretch(table: tuple[Sequence[int], Sequence[Leaf | None]], number: int, *values: object) -> int:
    """The rules of the stretch in which a number lies."""
    place = bisect_right(table[0], number) - 1
    leaf = table[1][place] if place >= 0 else None
    return 0 if leaf is None else leaf(*values)
