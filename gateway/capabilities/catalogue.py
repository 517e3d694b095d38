"""The catalogue: every capability that can be called, with what enforces its declaration.

Rules: a name is offered by one source only; a second one is refused, and says whose the name is. What enforces a declaration
(places, rates, kept answers) lives as long as the declaration stays the same, and belongs to one tenant: what one tenant does
takes nothing from another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

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
    """What the sources offered when it was put together."""

    offered: list[Sequence[Offer]]
    offers: dict[str, Offer]
    tools: list[Capability]


@dataclass(slots=True)
class Catalogue:
    _sources: dict[str, Source] = field(default_factory=dict)
    _held: dict[tuple[str, str], Held] = field(default_factory=dict)
    _merged: _Merged = _Merged([], {}, [])

    async def add(self, name: str, source: Source) -> None:
        """Start a source and offer what it has. A source of the same name is replaced."""
        await source.start()
        for owner, other in self._sources.items():
            if owner != name and (same := _names(source) & _names(other)):
                await source.close()
                raise RequestError("INVALID_ARGUMENT", f"the capability {min(same)!r} is offered by {owner!r} already")
        before = self._sources.get(name)
        self._sources[name] = source
        if before is not None:
            await before.close()

    async def close(self) -> None:
        sources, self._sources = self._sources, {}
        await asyncio.gather(*(source.close() for source in sources.values()))

    def tools(self) -> list[Capability]:
        """By name."""
        return self._merge().tools.copy()

    def find(self, tenant: str, name: str) -> Held:
        """Raises `ToolError` for a name that no source offers."""
        offers = self._merge().offers
        offer = offers.get(name)
        if offer is None:
            near = get_close_matches(name[:80], list(offers), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ToolError("UNKNOWN_TOOL", f"there is no capability {name[:80]!r}{hint}")
        held = self._held.get((tenant, name))
        if held is None or held.capability is not offer.capability:
            held = self._hold(tenant, offer, held)
        return held

    def _hold(self, tenant: str, offer: Offer, before: Held | None) -> Held:
        capability = offer.capability
        if before is not None and before.capability == capability:
            held = replace(before, function=offer.function)
        else:
            held = Held(Entry(capability, lambda: None), offer.function, declaration_digest(capability))
        while len(self._held) >= ENTRIES_MAX:
            self._held.pop(next(iter(self._held)))
        self._held[tenant, capability.name] = held
        return held

    def list_hidden(self) -> dict[str, list[str]]:
        """By source: the names it offers that were another's first. They are called there, and not here."""
        found: dict[str, list[str]] = {}
        taken: set[str] = set()
        for name, source in self._sources.items():
            offered = _names(source)
            found[name] = sorted(offered & taken)
            taken |= offered
        return {name: names for name, names in found.items() if names}

    def _merge(self) -> _Merged:
        """Asked before every run and call, so it is put together again only if a source offers something else than before.
        INVARIANT: where a source that connects again offers a name that is another's by now, the first source keeps it."""
        offered = [source.offers() for source in self._sources.values()]
        if self._merged.offered != offered:
            found = {offer.capability.name: offer for offers in reversed(offered) for offer in offers}
            tools = sorted((offer.capability for offer in found.values()), key=lambda tool: tool.name)
            self._merged = _Merged(offered, found, tools)
        return self._merged


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
