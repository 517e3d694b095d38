"""A request from the command line: `CAPABILITY FIELD=VALUE …`, in the units of the language.

A name that does not exist is refused with the nearest one: an answer to another question misleads.
"""

from __future__ import annotations

from collections.abc import Iterable

from policy.errors import PolicyError
from policy.model.catalog import SESSION_EVENTS, Catalog
from policy.text.spelling import find_nearest


def read_question(catalog: Catalog, event: str, pairs: Iterable[str]) -> dict[str, object]:
    """The attributes of a request about `event`. Raises PolicyError."""
    capability = catalog.capabilities.get(event)
    if capability is None and event not in SESSION_EVENTS:
        raise PolicyError(f"no capability is called `{event}`{_suggest(event, catalog.capabilities)}")
    fields = {**(capability.fields if capability else {}), **catalog.context}
    attributes: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise PolicyError(f"`{pair}` is not FIELD=VALUE")
        if name not in fields:
            raise PolicyError(f"{event} has no field `{name}`{_suggest(name, fields)}")
        attributes[name] = fields[name].type.read(text)
        if attributes[name] is None:
            raise PolicyError(f"`{text}` is not a value of `{name}`")
    return attributes


def _suggest(name: str, known: Iterable[str]) -> str:
    guess = find_nearest(name, known)
    return f"; did you mean `{guess}`?" if guess else ""
