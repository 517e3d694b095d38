"""The catalog: which capabilities exist, which fields they have, and of what type.

A catalog is made from capability definitions (JSON Schemas) and pinned by digest in a policy's header, so a rule never
changes its meaning because a tool did.
Rules: every usable field is required or has a default. A tool's argument never shadows a fact about the caller: where names
collide the argument is called `args.NAME`. What is built in cannot be redefined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeVar

import msgspec

from policy.model.json_schema import schema_fields
from policy.model.kinds import CatalogError as CatalogError
from policy.model.kinds import Field as Field
from policy.model.kinds import Scalar as Scalar
from policy.model.kinds import check_field
from policy.model.settings import LANGUAGES, SETTINGS
from policy.text.literals import host_fault

SessionEvent = Literal["session_start", "session_end", "user_prompt_submit", "turn_end"]
SESSION_EVENTS: tuple[SessionEvent, ...] = ("session_start", "session_end", "user_prompt_submit", "turn_end")
EFFECTS = ("none", "read", "write", "network", "database", "external_system")
MAX_CAPABILITIES = 10_000
_UNNAMEABLE = ("allow", "ask", "deny", "any")


class Capability(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing a guest may ask for. `needs` are limits a permission must come with; `egress` the hosts it talks to; `left_out`
    arguments no condition can be about, each with the reason, and no part of the digest."""

    name: str
    effects: tuple[str, ...] = ()
    fields: dict[str, Field] = {}
    needs: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    doc: str = ""
    builtin: bool = False
    left_out: dict[str, str] = {}


T = TypeVar("T", Field, Capability)


class Catalog(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    context: dict[str, Field] = {}
    capabilities: dict[str, Capability] = {}
    secrets: dict[str, tuple[str, ...]] = {}
    digest: str = ""

    def field(self, event: str, name: str) -> Field | None:
        """A fact about the caller, or an argument if the event is a capability."""
        known = self.context.get(name)
        return self.capabilities[event].fields.get(name) if known is None and event in self.capabilities else known

    def to_json(self) -> bytes:
        """Canonical bytes: sorted keys, no spaces."""
        return msgspec.json.encode(self, order="sorted")


def _field(name: str, kind: str, doc: str, **more: Any) -> Field:
    return Field(name=name, kind=kind, doc=doc, **more)


_CONTEXT = (
    _field("tenant", "name", "the tenant on whose behalf the request is made"),
    _field("plan", "enum", "the tenant's plan", values=("enterprise", "free", "team"), required=False, default="free"),
    _field("user", "name", "the signed-in person, empty for a service", required=False, default=""),
    _field("session.role", "name", "the caller's role", required=False, default="member"),
    _field("session.mfa", "bool", "the caller proved a second factor", required=False, default=False),
    _field("session.risk", "int", "risk score, 0 is none", low=0, high=100, required=False, default=100),
    _field("session.tainted", "bool", "the session has read untrusted content", required=False, default=True),
)


def _builtin(name: str, effect: str, doc: str, *fields: Field, needs: tuple[str, ...] = ()) -> Capability:
    return Capability(name, (effect,), {field.name: field for field in fields}, needs, doc=doc, builtin=True)


_SIZE = {"low": 0, "high": 2**50}
_PATH = _field("path", "path", "normalised path")
_BUILTINS = (
    _builtin(
        "run",
        "none",
        "run code",
        _field("language", "enum", "language of the code", values=LANGUAGES),
        _field("bytes", "size", "length of the code", **_SIZE),
        needs=("cpu", "memory", "output"),
    ),
    _builtin("fs.read", "read", "read a file", _PATH),
    _builtin("fs.write", "write", "write a file", _PATH, _field("bytes", "size", "bytes written", **_SIZE)),
    _builtin(
        "net.connect",
        "network",
        "open a connection",
        _field("host", "host", "name after resolution and on each redirect"),
        _field("port", "int", "TCP port", low=1, high=65_535),
    ),
    _builtin(
        "secret.use",
        "read",
        "use a secret",
        _field("name", "name", "the secret's name"),
        _field("caller", "name", "capability that uses it; `run` for guest code"),
    ),
    _builtin("snapshot.take", "write", "snapshot", _field("bytes", "size", "size of the session's state", **_SIZE)),
    _builtin(
        "snapshot.restore",
        "write",
        "restore a snapshot",
        _field("bytes", "size", "size of the snapshot", **_SIZE),
        _field("age", "duration", "time since it was taken", **_SIZE),
    ),
    _builtin("session.create", "none", "open a session", _field("language", "enum", "first language", values=LANGUAGES)),
    _builtin("session.fork", "none", "fork", _field("count", "int", "children asked for", low=1, high=100_000)),
)


@lru_cache(maxsize=1)
def builtin_catalog() -> Catalog:
    """What every policy can talk about."""
    return make_catalog("builtin", ())


def make_catalog(
    name: str,
    capabilities: Iterable[Mapping[str, Any]],
    *,
    context: Iterable[Field] = (),
    secrets: Mapping[str, Iterable[str]] | None = None,
) -> Catalog:
    """A catalog from capability definitions in their wire form (`name`, `input_schema`, `side_effect`, …), sealed."""
    facts = _index((*_CONTEXT, *context), "fact")
    tools = _index((*_BUILTINS, *(_read_definition(definition, facts) for definition in capabilities)), "capability")
    hosts = {secret: tuple(sorted(_hosts(allowed, f"secret {secret}"))) for secret, allowed in (secrets or {}).items()}
    return _check(Catalog(name, facts, tools, hosts))


def load_catalog(data: bytes) -> Catalog:
    """A catalog file: either capability definitions to build from, or an already built catalog. Raises CatalogError."""
    try:
        raw = msgspec.json.decode(data)
        if not isinstance(raw, dict):
            raise CatalogError("a catalog is a JSON object")
        if isinstance(raw.get("capabilities"), dict):
            return _check(msgspec.convert(raw, Catalog))
        context = [msgspec.convert({"name": k, **v}, Field) for k, v in raw.get("context", {}).items()]
        return make_catalog(
            str(raw.get("name", "")), raw.get("capabilities", []), context=context, secrets=raw.get("secrets", {})
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError, AttributeError, ValueError) as error:
        raise error if isinstance(error, CatalogError) else CatalogError(str(error)) from error


def seal(catalog: Catalog) -> Catalog:
    """The same catalog with its SHA-256 digest filled in."""
    tools = {
        name: msgspec.structs.replace(tool, left_out={}) if tool.left_out else tool for name, tool in catalog.capabilities.items()
    }
    bare = msgspec.structs.replace(catalog, capabilities=tools, digest="")
    return msgspec.structs.replace(catalog, digest=hashlib.sha256(bare.to_json()).hexdigest())


def _index(items: Iterable[T], what: str) -> dict[str, T]:
    found: dict[str, T] = {}
    for item in items:
        if item.name in found:
            raise CatalogError(f"the {what} {item.name!r} is defined twice or is built in")
        found[item.name] = item
        if len(found) > MAX_CAPABILITIES:
            raise CatalogError(f"more than {MAX_CAPABILITIES} capabilities")
    return found


def _read_definition(definition: Mapping[str, Any], context: Mapping[str, Field]) -> Capability:
    name = check_name(definition.get("name"))
    effects = definition.get("effects", definition.get("side_effect", "none"))
    effects = (effects,) if isinstance(effects, str) else tuple(effects)
    found, left_out = schema_fields(name, definition.get("input_schema", {}))
    fields = {(f"args.{field.name}" if _needs_prefix(field.name, context) else field.name): field for field in found}
    return Capability(
        name,
        tuple(sorted(set(effects))),
        {key: msgspec.structs.replace(field, name=key) for key, field in fields.items()},
        tuple(definition.get("needs", ())),
        _hosts(definition.get("egress", ()), name),
        definition.get("description", ""),
        left_out=left_out,
    )


def _needs_prefix(name: str, context: Mapping[str, Field]) -> bool:
    """Whether an argument is called `args.NAME`. THREAT[TM-POL-003]: what is in an object called `args` is, too; otherwise
    `args.x` could be either that or an argument `x` that the caller made up."""
    return name in context or name.startswith("args.")


def _check(catalog: Catalog) -> Catalog:
    """The catalog, sealed, if every part of it may be believed."""
    for capability in _BUILTINS:
        if catalog.capabilities.get(capability.name) != capability:
            raise CatalogError(f"the built-in capability {capability.name!r} is missing or altered")
    for fact in _CONTEXT:
        if catalog.context.get(fact.name) != fact:
            raise CatalogError(f"the built-in fact {fact.name!r} is missing or altered")
    for name, fact in catalog.context.items():
        if name != fact.name:
            raise CatalogError(f"{name!r} and {fact.name!r} name one fact")
        _check_fact(fact)
    for name, capability in catalog.capabilities.items():
        if check_name(capability.name) != name:
            raise CatalogError(f"{name!r} and {capability.name!r} name one capability")
        _check_capability(capability, catalog.context)
    for secret, hosts in catalog.secrets.items():
        _hosts(hosts, f"secret {secret}")
    return seal(catalog)


def _check_fact(fact: Field) -> None:
    _check_identifier(fact.name, "fact")
    if any(fact.name in capability.fields for capability in _BUILTINS):
        raise CatalogError(f"the fact {fact.name!r} has the name of a built-in capability's field")
    if not fact.usable:
        raise CatalogError(f"the fact {fact.name!r} is neither required nor has a default")
    check_field(fact)


def _check_capability(capability: Capability, context: Mapping[str, Field]) -> None:
    name = capability.name
    for effect in capability.effects:
        if effect not in EFFECTS:
            raise CatalogError(f"{name}: unknown side effect {effect!r}")
    for need in capability.needs:
        if need not in SETTINGS:
            raise CatalogError(f"{name}: unknown limit {need!r}")
    _hosts(capability.egress, name)
    for key, field in capability.fields.items():
        if key != field.name or key in context:
            raise CatalogError(f"{name}: the field {key!r} has another name, or the name of a fact")
        if key.startswith("args.") and not _needs_prefix(key.removeprefix("args."), context):
            raise CatalogError(f"{name}: the field {key!r} could be two arguments")
        check_field(field)


def _hosts(hosts: Iterable[str], owner: str) -> tuple[str, ...]:
    if isinstance(hosts, str):
        raise CatalogError(f"{owner}: hosts are a list, not one text")
    found = tuple(hosts)
    for host in found:
        if host_fault(host):
            raise CatalogError(f"{owner}: host {host!r} is malformed")
    return found


def _check_identifier(name: object, what: str) -> str:
    if not isinstance(name, str) or not name.isascii() or not all(part.isidentifier() for part in name.split(".")):
        raise CatalogError(f"{what} name {name!r} is not a dotted ASCII identifier")
    return name


def check_name(name: object) -> str:
    """A name a rule can be about; raises CatalogError. INVARIANT: none is a session event's, which nothing can deny."""
    checked = _check_identifier(name, "capability")
    if checked in SESSION_EVENTS:
        raise CatalogError(f"capability name {checked!r} is the name of a session event")
    if checked.split(".")[0] in _UNNAMEABLE or checked in ("true", "false"):
        raise CatalogError(f"capability name {checked!r} is a word of the policy language: no rule could name it")
    return checked
