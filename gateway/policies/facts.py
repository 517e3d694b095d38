"""Facts: what policies may ask about a caller.

Rules: missing facts have the catalog's defaults, which are the cautious ones. A fact that a policy's catalog does not know, or
cannot hold, makes every decision a refusal; so it is refused where it comes up: when a tenant is made or changed, and when a
policy with another catalog is to be put in force.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.errors import BadRequest
from gateway.records import Session, Tenant
from policy import Policy
from policy.model.catalog import Catalog
from policy.text.literals import compose


def facts_of(tenant: Tenant, session: Session | None) -> dict[str, Any]:
    """The tenant's id and plan override any fact of these names. Texts are composed, as policies want them."""
    facts: dict[str, Any] = {**tenant.facts, "tenant": tenant.id, "plan": tenant.plan}
    if session is not None:
        facts |= {"user": session.user, **{f"session.{name}": value for name, value in session.facts.items()}}
    return {name: compose(value) if isinstance(value, str) else value for name, value in facts.items()}


def misfits(tenant: Tenant, policy_name: str, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """What a policy with this catalog cannot hold of the tenant's plan and facts, and what it could: two sentences for each. One
    that is missing is no misfit: where it is looked at, the answer is no, and says so."""
    context = catalog.context
    for name, value in facts_of(tenant, None).items():
        field = context.get(name)
        if field is None:
            yield f"the policy {policy_name} knows no fact {name[:100]!r}", f"it knows: {', '.join(sorted(context))}"
        elif not field.accepts(value):
            choice = f"one of: {', '.join(field.values)}" if field.values else f"its type in the policy's catalog is {field.kind}"
            yield f"{name} cannot be {repr(value)[:100]}", choice


def check_facts(tenant: Tenant, policy: Policy) -> None:
    """Every session of a tenant whose facts its policy cannot hold would be refused, later and with less to go by."""
    for message, hint in misfits(tenant, policy.name, policy.catalog):
        raise BadRequest("INVALID_ARGUMENT", message, hint)
