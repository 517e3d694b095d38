"""The catalogue: every capability a tenant can call, with what enforces its declaration.

Rules: a name is offered by one source only; a second one is refused, and says whose the name is. Sources are for all tenants
or for one. What enforces a declaration (places, rates, kept answers) lives as long as the declaration stays the same, and
belongs to one tenant: what one tenant does takes nothing from another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gateway.capabilities.sources import Function, Offer, Source
from sandbox.capabilities.rate_limits import Admission
from sandbox.capabilities.registry import Capability, Entry, ToolError, declaration_digest
from sandbox.errors import RequestError

ENTRIES_MAX = 100_000
RESERVED = frozenset(
    ("session_start", "session_end", "user_prompt_submit", "turn_end", "allow", "ask", "deny", "any", "true", "false")
)
"""Names that mean something else in a policy: one of them as a capability could not be spoken of, or would be misread."""


@dataclass(frozen=True, slots=True)
class Held:
    """A capability as one tenant has it."""

    entry: Entry
    function: Function
    digest: str
    _places: dict[int, Admission] = field(default_factory=dict)

    @property
    def capability(self) -> Capability:
        return self.entry.capability

    def places(self, concurrency: int) -> Admission:
        """What enforces a bound that a policy sets below the declaration's."""
        if concurrency not in self._places:
            self._places[concurrency] = Admission(concurrency, None)
        return self._places[concurrency]


@dataclass(frozen=True, slots=True)
class _Merged:
    """What the sources of a tenant offered when it was put together."""

    offered: list[Sequence[Offer]]
    offers: dict[str, Offer]
    tools: list[Capability]


@dataclass(slots=True)
class Catalogue:
    _shared: dict[str, Source] = field(default_factory=dict)
    _own: dict[str, dict[str, Source]] = field(default_factory=dict)
    _held: dict[tuple[str, str], Held] = field(default_factory=dict)
    _merged: dict[str, _Merged] = field(default_factory=dict)
    """By tenant that has sources of its own; the others have the same."""

    async def add(self, name: str, source: Source, *, tenant: str | None = None) -> None:
        """Start a source and offer what it has. A source of the same name is replaced."""
        await source.start()
        for owner, other in self._sources(tenant):
            if owner != name and (same := _names(source) & _names(other)):
                await source.close()
                raise RequestError("INVALID_ARGUMENT", f"the capability {min(same)!r} is offered by {owner!r} already")
        sources = self._shared if tenant is None else self._own.setdefault(tenant, {})
        before = sources.get(name)
        sources[name] = source
        if before is not None:
            await before.close()

    async def remove(self, name: str, *, tenant: str | None = None) -> bool:
        sources = self._shared if tenant is None else self._own.get(tenant, {})
        source = sources.pop(name, None)
        if source is not None:
            await source.close()
        return source is not None

    async def close(self) -> None:
        sources = [*self._shared.values(), *(source for own in self._own.values() for source in own.values())]
        self._shared.clear()
        self._own.clear()
        await asyncio.gather(*(source.close() for source in sources))

    def tools(self, tenant: str) -> list[Capability]:
        """By name."""
        return self._merge(tenant).tools.copy()

    def find(self, tenant: str, name: str) -> Held:
        """Raises `ToolError` for a name that no source offers."""
        offer = self._merge(tenant).offers.get(name)
        if offer is None:
            raise ToolError("UNKNOWN_TOOL", f"there is no capability {name[:80]!r}{self._nearest(tenant, name[:80])}")
        held = self._held.get((tenant, name))
        if held is None or held.capability is not offer.capability:
            held = self._hold(tenant, offer, held)
        return held

    def declaration(self, tenant: str, name: str) -> str:
        """The digest of a capability's declaration: what a decision about a call of it must be bound to."""
        return self.find(tenant, name).digest

    def _hold(self, tenant: str, offer: Offer, before: Held | None) -> Held:
        capability = offer.capability
        unchanged = before is not None and before.capability == capability
        entry = before.entry if before is not None and unchanged else Entry(capability, lambda: None)
        held = Held(entry, offer.function, declaration_digest(capability), before._places if before and unchanged else {})
        while len(self._held) >= ENTRIES_MAX:
            self._held.pop(next(iter(self._held)))
        self._held[tenant, capability.name] = held
        return held

    def hidden(self) -> dict[str, list[str]]:
        """By shared source: the names it offers that were another's first. They are called there, and not here."""
        found: dict[str, list[str]] = {}
        taken: set[str] = set()
        for name, source in self._shared.items():
            offered = _names(source)
            found[name] = sorted(offered & taken)
            taken |= offered
        return {name: names for name, names in found.items() if names}

    def _sources(self, tenant: str | None) -> Iterator[tuple[str, Source]]:
        yield from self._shared.items()
        for own in self._own.values() if tenant is None else (self._own.get(tenant, {}),):
            yield from own.items()

    def _merge(self, tenant: str) -> _Merged:
        """Asked before every run and call, so it is put together again only if a source offers something else than before.
        INVARIANT: where a source that connects again offers a name that is another's by now, the first source keeps it."""
        whose = tenant if tenant in self._own else ""
        offered = [source.offers() for _, source in self._sources(tenant)]
        kept = self._merged.get(whose)
        if kept is None or kept.offered != offered:
            found = {offer.capability.name: offer for offers in reversed(offered) for offer in offers}
            tools = sorted((offer.capability for offer in found.values()), key=lambda tool: tool.name)
            kept = self._merged[whose] = _Merged(offered, found, tools)
        return kept

    def _nearest(self, tenant: str, name: str) -> str:
        import difflib

        near = difflib.get_close_matches(name, list(self._merge(tenant).offers), 1)
        return f"; did you mean {near[0]!r}?" if near else ""


def _names(source: Source) -> set[str]:
    return {offer.capability.name for offer in source.offers()}


def check_offers(offers: Sequence[Offer]) -> None:
    """Refuse what could not be registered, when it is declared and not when it is called."""
    names: set[str] = set()
    for offer in offers:
        name = offer.capability.name
        if not (name.isascii() and name.isidentifier()):
            raise RequestError("INVALID_TOOL_NAME", f"{name[:80]!r} is not an identifier")
        if name in RESERVED:
            raise RequestError("INVALID_TOOL_NAME", f"{name!r} means something else in policies", "give it another name")
        if name in names:
            raise RequestError("INVALID_ARGUMENT", f"the capability {name!r} is declared twice")
        names.add(name)
        Entry(offer.capability, lambda: None)
