"""Facts: what policies may ask about a caller.

Rules: THREAT[TM-POL-CALLER]: `user` and `session.role` are those of the caller that asks now, not of the one that opened the
session, forked or restored it; a run that was suspended continues with its own caller's. The session's creator has other names,
`session.creator` and `session.creator_role`, for policies whose catalog declares them; so have the profile and the role of the
worker that a session belongs to, `session.worker` and `session.worker_role`. Missing facts have the catalog's cautious
defaults. A fact that a policy's catalog does not know, or cannot hold, makes every decision a refusal; so it is refused when a
tenant is made or changed, and when a policy with another catalog is to be put in force.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from gateway.errors import BadRequest
from gateway.records import Principal, Session, Tenant
from policy import Policy
from policy.model.catalog import Catalog
from policy.text.literals import compose

_CREATORS = frozenset({"creator", "creator_role", "worker", "worker_role"})
CALLERS = _CREATORS | {"role", "user"}
"""Facts of a session that no request may set."""


def facts_of(
    tenant: Tenant, session: Session | None, caller: Principal | None = None, known: Container[str] = ()
) -> dict[str, Any]:
    """The tenant's id and plan override any fact of these names, and so do the caller's. `known` are the facts of the catalog.
    Texts are composed, as policies want them."""
    facts: dict[str, Any] = {**tenant.facts, "tenant": tenant.id, "plan": tenant.plan}
    if session is not None:
        about = {**session.facts, "creator": session.user}
        if about.get("creator_role") == "runner":  # opened by a release that called it so
            about["creator_role"] = "member"
        told = about.keys() - CALLERS | {name for name in _CREATORS if f"session.{name}" in known}
        facts |= {f"session.{name}": about[name] for name in told if name in about}
    if caller is not None:
        facts |= {"user": caller.user, "session.role": caller.role}
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
