"""A policy that has been compiled, tested and proved.

Rules: a `Policy` exists only if every check passed. It never changes: reloading means making a new one and swapping a reference;
sessions keep the one they were opened with, known by its digest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policy.errors import PolicyError
from policy.evaluation.emitter import Attributes
from policy.evaluation.evaluator import Evaluator, Specialiser
from policy.model import ir
from policy.model.catalog import Catalog, Scalar
from policy.model.decisions import Decision
from policy.text.diagnostics import Diagnostic

if TYPE_CHECKING:
    from policy.checker import Checked
    from policy.evaluation.explain import Explanation


_ABSENT = object()
_Place = tuple[str, tuple[str, ...], Callable[[str], str] | None]


class Policy:
    """A deployable policy. `decide` is pure, total and never raises."""

    def __init__(
        self, canonical: ir.Policy, catalog: Catalog, evaluator: Evaluator | None = None, checked: Checked | None = None
    ) -> None:
        self.ir = canonical
        self.catalog = catalog
        self.checked = checked
        self._evaluator = evaluator or Evaluator(canonical)
        self._specialiser = Specialiser(canonical, catalog.context)
        self.decide: Callable[[str, Attributes], Decision] = self._evaluator.decide
        self.digest = canonical.digest()
        self._places: dict[str, list[_Place]] = {}

    @classmethod
    def load(cls, path: str | Path, *, catalog: Catalog | None = None) -> Policy:
        """Read a `.hatch` file and all it names. Raises PolicyError with all diagnostics unless every check passes."""
        from policy.checker import check
        from policy.lowering.loading import Folder

        place = Path(path)
        return cls._from_checked(check(place.name, Folder(place.parent), catalog))

    @classmethod
    def _from_checked(cls, checked: Checked) -> Policy:
        if not checked.ok or checked.evaluator is None:
            raise PolicyError.from_diagnostics(checked.diagnostics)
        return cls(checked.program.ir, checked.program.catalog, checked.evaluator, checked)

    @property
    def name(self) -> str:
        return self.ir.name

    @property
    def version(self) -> int:
        return self.ir.version

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.checked.diagnostics if d.severity == "warning") if self.checked else ()

    def reads(self, event: str) -> tuple[str, ...]:
        """The fields a decision about `event` looks at; only these need to be supplied."""
        return tuple(field.name for field in self.ir.reads.get(event, ()))

    def attributes(self, event: str, context: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes for a decision from trusted facts and a tool's untrusted arguments, in the spelling that rules know:
        texts composed (NFC), hosts in lower case. A path with `..` in it stays one, and is refused.

        THREAT[TM-POL-003]: an argument called like a fact (`tenant`) is never taken for it, but called `args.tenant`.
        """
        values: dict[str, Any] = {}
        for name, parts, normalise in self._places.get(event) or self._find_places(event):
            node: Any = arguments if parts else context.get(name, _ABSENT)
            for part in parts:
                node = node.get(part, _ABSENT) if isinstance(node, Mapping) else _ABSENT
            if node is not _ABSENT:
                values[name] = normalise(node) if normalise is not None and node.__class__ is str else node
        return values

    def _find_places(self, event: str) -> list[_Place]:
        """Where each field of an event is: a fact, or somewhere in the arguments."""
        found: list[_Place] = []
        for field in self.ir.reads.get(event, ()):
            is_fact = field.name in self.catalog.context
            parts = () if is_fact else tuple(field.name.removeprefix("args.").split("."))
            found.append((field.name, parts, field.type.normalise))
        if event in self.ir.reads:
            self._places[event] = found
        return found

    def open_session(self, facts: Mapping[str, Scalar], *, eager: bool = False) -> Session:
        """The policy with a session's fixed facts (tenant, plan, role …) folded in; with `eager` ready to decide, else each first
        decision about a capability takes longer. Raises PolicyError for an impossible fact."""
        return Session(self, dict(facts), self._specialiser.open(facts, eager=eager))

    def explain(self, event: str, attributes: Attributes) -> Explanation:
        """Which rule decided, which conditions held, and what a denied request lacks."""
        from policy.evaluation.explain import explain

        return explain(self.ir, event, attributes)

    def mask(self, event: str, attributes: Attributes) -> dict[str, Any]:
        """The attributes as they may be logged: fields the catalog calls sensitive are hidden."""
        known = {name: self.catalog.field(event, name) for name in attributes}
        return {name: "***" if (field := known[name]) and field.sensitive else value for name, value in attributes.items()}


@dataclass(frozen=True, slots=True)
class Session:
    """A policy folded for one session; facts in a request's attributes are ignored here, because they are already known."""

    policy: Policy
    facts: dict[str, Scalar]
    decide: Callable[[str, Attributes], Decision]

    @property
    def digest(self) -> str:
        """The policy this session was opened with, for ever."""
        return self.policy.digest


class Shadow:
    """Two policies side by side: the current one decides, the candidate is only compared. Keeps the last differences."""

    def __init__(self, current: Policy, candidate: Policy, *, keep: int = 1000) -> None:
        self.current, self.candidate = current, candidate
        self.asked = self.changed = 0
        self.differences: deque[tuple[str, dict[str, Any], Decision, Decision]] = deque(maxlen=keep)

    def decide(self, event: str, attributes: Attributes) -> Decision:
        decision, other = self.current.decide(event, attributes), self.candidate.decide(event, attributes)
        self.asked += 1
        if decision.verdict != other.verdict:
            self.changed += 1
            self.differences.append((event, self.current.mask(event, attributes), decision, other))
        return decision


def compile_policy(
    text: str, *, catalog: Catalog | None = None, files: Mapping[str, str] | None = None, path: str = "policy.hatch"
) -> Policy:
    """A policy from a text; `files` are what it may import, narrow or pin. Raises PolicyError with all diagnostics."""
    from policy.checker import check
    from policy.lowering.loading import Memory

    return Policy._from_checked(check(path, Memory({**(files or {}), path: text}), catalog))
