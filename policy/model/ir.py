"""The canonical form of a policy: resolved names, one meaning per node, fixed order.

An expression is `Lit` (one field against constants, possibly negated), `All` or `Any`; negation is pushed to the leaves,
children are flat, without duplicates and sorted. So two spellings of one condition are equal here.
Rules: everything encodes to the same bytes every time. INVARIANT: depth is bounded by the lowering, and every walk is a loop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias, TypeVar

import msgspec

from policy.model.catalog import SESSION_EVENTS, Field
from policy.text.literals import INT_MAX, INT_MIN
from policy.text.matching import RELATIONS

Verdict = Literal["allow", "ask", "deny"]
Phase = Literal["before", "after", "session_start", "session_end", "user_prompt_submit", "turn_end"]
LIFECYCLE: tuple[Phase, ...] = SESSION_EVENTS
Op = Literal["true", "in", "range", "host", "under", "like", "like/", "like.", "segment", "same", "beneath"]


class Lit(msgspec.Struct, frozen=True, tag="lit", omit_defaults=True):
    """`field` against constants. range: inclusive bounds; in: values; host: patterns; under: path prefixes; like,
    segment: patterns; same, beneath: another field (all in `text/matching.py`); true: nothing."""

    field: str
    op: Op
    args: tuple[int | str, ...] = ()
    neg: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields whose values settle it."""
        return (self.field, str(self.args[0])) if self.op in RELATIONS else (self.field,)


class All(msgspec.Struct, frozen=True, tag="all"):
    items: tuple[Expr, ...]


class Any(msgspec.Struct, frozen=True, tag="any"):
    items: tuple[Expr, ...]


Expr: TypeAlias = Lit | All | Any
TRUE: Expr = All(())
FALSE: Expr = Any(())
T = TypeVar("T")


class Rate(msgspec.Struct, frozen=True, order=True):
    """At most `count` calls in any `window_s`, counted per `per`."""

    count: int
    window_s: int
    per: str


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    verdict: Verdict
    capabilities: tuple[str, ...]
    guard: Expr
    rate: Rate | None = None
    approver: str | None = None
    within_ms: int | None = None
    auto: Expr | None = None
    because: str | None = None

    @property
    def plain(self) -> bool:
        """Carries no obligation, so it matters only that some such rule matched."""
        return self.rate is None and self.approver is None


class Limit(msgspec.Struct, frozen=True):
    id: str
    capabilities: tuple[str, ...]
    guard: Expr
    settings: tuple[tuple[str, int], ...]


class HookCall(msgspec.Struct, frozen=True):
    """A program to run around a call or at a moment of a session. `uses` are the capabilities it may call; `sha256` is the
    digest of the one program that may run under this name, empty where the policy does not say."""

    name: str
    phase: Phase
    executor: str
    program: str
    timeout_ms: int
    on_error: str
    uses: tuple[str, ...] = ()
    sha256: str = ""

    @property
    def event(self) -> str:
        return {"before": "pre_tool_use", "after": "post_tool_use"}.get(self.phase, self.phase)


class Hook(HookCall, frozen=True, omit_defaults=True, kw_only=True):
    """Under which condition the program is run, and around what."""

    capabilities: tuple[str, ...]
    guard: Expr

    def call(self) -> HookCall:
        return HookCall(*(getattr(self, name) for name in HookCall.__struct_fields__))

    def is_on(self, event: str) -> bool:
        return event in self.capabilities or self.phase == event


class Claim(msgspec.Struct, frozen=True):
    """No request to any of `capabilities` with `guard` true is permitted."""

    id: str
    capabilities: tuple[str, ...]
    guard: Expr


class Policy(msgspec.Struct, frozen=True, omit_defaults=True):
    """`reads` are, per event, the fields a decision looks at: all are checked before any rule is."""

    name: str
    version: int
    catalog_digest: str
    rules: tuple[Rule, ...]
    limits: tuple[Limit, ...]
    hooks: tuple[Hook, ...]
    claims: tuple[Claim, ...]
    reads: dict[str, tuple[Field, ...]]
    narrows: str | None = None

    def encode(self) -> bytes:
        return msgspec.json.encode(self, order="sorted")

    def digest(self) -> str:
        return hashlib.sha256(self.encode()).hexdigest()

    def bind(self, read: Callable[[str], bytes | None]) -> Policy:
        """For comparison: with a digest at each hook whose program `read` finds."""
        found = {hook.program: read(hook.program) for hook in self.hooks if hook.executor != "webhook"}
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in found.items() if data is not None}
        hooks = (msgspec.structs.replace(hook, sha256=digests.get(hook.program, hook.sha256)) for hook in self.hooks)
        return msgspec.structs.replace(self, hooks=tuple(hooks))

    def rules_for(self, capability: str) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if capability in rule.capabilities)

    def conditions_on(self, event: str) -> Iterator[Expr]:
        """Every condition that a decision about a capability or a session event evaluates."""
        for rule in self.rules_for(event):
            yield rule.guard
            if rule.auto is not None:
                yield rule.auto
        yield from (limit.guard for limit in self.limits if event in limit.capabilities)
        yield from (hook.guard for hook in self.hooks if hook.is_on(event))


EMPTY = Policy("", 0, "", (), (), (), (), {})
"""Permits nothing and knows nothing."""


class Request(msgspec.Struct, frozen=True):
    """One concrete question, and what a test expects of it."""

    capability: str
    attributes: dict[str, bool | int | str]


def conj(items: Iterable[Expr]) -> Expr:
    return _combine(All, Any, items)


def disj(items: Iterable[Expr]) -> Expr:
    return _combine(Any, All, items)


def _combine(same: type[All] | type[Any], other: type[All] | type[Any], items: Iterable[Expr]) -> Expr:
    kept: dict[Expr, None] = {}
    for item in items:
        if isinstance(item, same):
            kept.update(dict.fromkeys(item.items))
        elif isinstance(item, other) and not item.items:
            return item
        else:
            kept[item] = None
    if len(kept) == 1:
        return next(iter(kept))
    if any(type(item) is Lit and negate_lit(item) in kept for item in kept):
        return other(())
    return same(tuple(sorted(kept, key=_order)))


def _order(expr: Expr) -> tuple[int, str, str, int, bytes]:
    if isinstance(expr, Lit):
        return (0, expr.field, expr.op, expr.neg, msgspec.json.encode(expr.args))
    return (1, "", "", 0, msgspec.json.encode(expr))


def negate_lit(lit: Lit) -> Lit:
    """The opposite condition. A range open on one side becomes the other side, so `not a <= 3` is `a > 3`."""
    if lit.op == "range" and not lit.neg:
        low, high = lit.args
        if low == INT_MIN and isinstance(high, int):
            return Lit(lit.field, "range", (high + 1, INT_MAX))
        if high == INT_MAX and isinstance(low, int):
            return Lit(lit.field, "range", (INT_MIN, low - 1))
    return Lit(lit.field, lit.op, lit.args, not lit.neg)


def fold(expr: Expr, leaf: Callable[[Lit], T], every: Callable[[list[T]], T], some: Callable[[list[T]], T]) -> T:
    """Bottom-up evaluation with an explicit stack: the only way this package walks an expression."""
    if type(expr) is Lit:
        return leaf(expr)
    pending: list[tuple[Expr, bool]] = [(expr, False)]
    done: list[T] = []
    while pending:
        node, ready = pending.pop()
        if isinstance(node, Lit):
            done.append(leaf(node))
        elif ready:
            count = len(node.items)
            parts = done[len(done) - count :]
            del done[len(done) - count :]
            done.append(every(parts) if isinstance(node, All) else some(parts))
        else:
            pending.append((node, True))
            pending.extend((item, False) for item in reversed(node.items))
    return done[0]


def negate(expr: Expr) -> Expr:
    return fold(expr, negate_lit, disj, conj)


def complement(expr: Expr) -> Expr:
    """`negate` for solving: the same meaning, without the cost of canonical order."""

    def some(parts: list[Expr]) -> Expr:
        return Any(tuple(item for part in parts for item in (part.items if isinstance(part, Any) else (part,))))

    def every(parts: list[Expr]) -> Expr:
        return All(tuple(item for part in parts for item in (part.items if isinstance(part, All) else (part,))))

    if isinstance(expr, All) and all(type(item) is Lit for item in expr.items):
        return Any(tuple([negate_lit(item) for item in expr.items if type(item) is Lit]))
    return fold(expr, negate_lit, some, every)


def literals(expr: Expr) -> Iterator[Lit]:
    pending = [expr]
    while pending:
        node = pending.pop()
        if isinstance(node, Lit):
            yield node
        else:
            pending.extend(reversed(node.items))


def find_fields(expr: Expr) -> frozenset[str]:
    """The fields that a condition looks at."""
    return frozenset(name for lit in literals(expr) for name in lit.fields)


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    return expr.items if isinstance(expr, All) else (expr,)
