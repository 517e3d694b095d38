"""The catalog: which capabilities exist, which fields they have, and of what type.

A catalog is made from capability definitions (JSON Schemas) and pinned by digest in a policy's header, so a rule never
changes its meaning because a tool did. The built-in capabilities are part of every catalog.
Rules: every usable field is bool, enum, bounded int, size, duration, name, path or host, and is required or has a default.
Schema parts that cannot be decided on (floats, arrays, unions) are left out. A tool's argument never shadows a fact about the
caller: where names collide the argument is called `args.NAME`.
This file does not know rules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from policy.values import INT_MAX, INT_MIN, host_fault, is_host, is_path

Kind = Literal["bool", "enum", "int", "size", "duration", "name", "path", "host"]
Scalar = bool | int | str
EFFECTS = ("none", "read", "write", "network", "database", "external_system")
KINDS: tuple[Kind, ...] = ("bool", "enum", "int", "size", "duration", "name", "path", "host")
MAX_CAPABILITIES = 10_000
MAX_FIELDS = 256
MAX_NAME_CHARS = 4096
_SAFE_INT = 2**53 - 1


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attribute of a request. Numbers are in bytes and milliseconds."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()
    low: int = INT_MIN
    high: int = INT_MAX
    required: bool = True
    default: Scalar | None = None
    sensitive: bool = False
    doc: str = ""

    @property
    def usable(self) -> bool:
        return self.required or self.default is not None

    def accepts(self, value: object) -> bool:
        """Whether a concrete value is one this field can hold."""
        if self.kind == "bool":
            return value is True or value is False
        if self.kind in ("int", "size", "duration"):
            return value.__class__ is int and self.low <= value <= self.high
        if value.__class__ is not str:
            return False
        assert isinstance(value, str)
        if self.kind == "enum":
            return value in self.values
        if self.kind == "host":
            return is_host(value)
        if self.kind == "path":
            return is_path(value)
        return len(value) <= MAX_NAME_CHARS


class Capability(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing a guest may ask for. `needs` are limits a permission must come with; `egress` the hosts it talks to."""

    name: str
    effects: tuple[str, ...] = ()
    fields: dict[str, Field] = {}
    needs: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    doc: str = ""
    builtin: bool = False


class Catalog(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    context: dict[str, Field] = {}
    capabilities: dict[str, Capability] = {}
    secrets: dict[str, tuple[str, ...]] = {}
    digest: str = ""

    def field(self, capability: str, name: str) -> Field | None:
        return self.context.get(name) or self.capabilities[capability].fields.get(name)

    def to_json(self) -> bytes:
        """Canonical bytes: sorted keys, no spaces."""
        return msgspec.json.encode(self, order="sorted")


class CatalogError(ValueError):
    """A definition cannot be used; the message says which and why."""


def _field(name: str, kind: Kind, doc: str, **more: Any) -> Field:
    return Field(name=name, kind=kind, doc=doc, **more)


_LANGUAGES = ("javascript", "python", "shell", "typescript", "wasm")
_CONTEXT = (
    _field("tenant", "name", "the tenant on whose behalf the request is made"),
    _field("plan", "enum", "the tenant's plan", values=("enterprise", "free", "team"), required=False, default="free"),
    _field("user", "name", "the signed-in person, empty for a service", required=False, default=""),
    _field("session.role", "name", "the caller's role", required=False, default="member"),
    _field("session.mfa", "bool", "the caller proved a second factor", required=False, default=False),
    _field("session.risk", "int", "risk score, 0 is none", low=0, high=100, required=False, default=100),
    _field("session.tainted", "bool", "the session has read untrusted content", required=False, default=True),
)
_SIZE = {"low": 0, "high": 2**50}
_BUILTINS = (
    Capability(
        "run",
        ("none",),
        {
            "language": _field("language", "enum", "language of the code", values=_LANGUAGES),
            "bytes": _field("bytes", "size", "length of the code", **_SIZE),
        },
        needs=("cpu", "memory", "output"),
        doc="run code",
    ),
    Capability("fs.read", ("read",), {"path": _field("path", "path", "normalised path")}, doc="read a file"),
    Capability(
        "fs.write",
        ("write",),
        {"path": _field("path", "path", "normalised path"), "bytes": _field("bytes", "size", "bytes written", **_SIZE)},
        doc="write a file",
    ),
    Capability(
        "net.connect",
        ("network",),
        {
            "host": _field("host", "host", "name after resolution and on each redirect"),
            "port": _field("port", "int", "TCP port", low=1, high=65_535),
        },
        doc="open a connection",
    ),
    Capability(
        "secret.use",
        ("read",),
        {
            "name": _field("name", "name", "the secret's name"),
            "caller": _field("caller", "name", "capability that uses it; `run` for guest code"),
        },
        doc="use a secret",
    ),
    Capability(
        "snapshot.take", ("write",), {"bytes": _field("bytes", "size", "size of the session's state", **_SIZE)}, doc="snapshot"
    ),
    Capability(
        "snapshot.restore",
        ("write",),
        {
            "bytes": _field("bytes", "size", "size of the snapshot", **_SIZE),
            "age": _field("age", "duration", "time since it was taken", low=0, high=2**50),
        },
        doc="restore a snapshot",
    ),
    Capability(
        "session.create",
        ("none",),
        {"language": _field("language", "enum", "first language", values=_LANGUAGES)},
        doc="open a session",
    ),
    Capability(
        "session.fork", ("none",), {"count": _field("count", "int", "children asked for", low=1, high=100_000)}, doc="fork"
    ),
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
    known = {f.name: f for f in (*_CONTEXT, *context)}
    tools = {c.name: _mark_builtin(c) for c in _BUILTINS}
    for definition in capabilities:
        tool = from_definition(definition, known)
        if tool.name in tools:
            raise CatalogError(f"capability {tool.name!r} is defined twice or is built in")
        tools[tool.name] = tool
        if len(tools) > MAX_CAPABILITIES:
            raise CatalogError(f"more than {MAX_CAPABILITIES} capabilities")
    hosts = {secret: tuple(sorted(allowed)) for secret, allowed in (secrets or {}).items()}
    for allowed in hosts.values():
        for host in allowed:
            if host_fault(host):
                raise CatalogError(f"secret host {host!r} is malformed")
    return seal(Catalog(name, known, tools, hosts))


def seal(catalog: Catalog) -> Catalog:
    """The same catalog with its SHA-256 digest filled in."""
    bare = msgspec.structs.replace(catalog, digest="")
    return msgspec.structs.replace(bare, digest=hashlib.sha256(bare.to_json()).hexdigest())


def load_catalog(data: bytes) -> Catalog:
    """A catalog file: either capability definitions to build from, or an already built catalog. Raises CatalogError."""
    try:
        raw = msgspec.json.decode(data)
        if not isinstance(raw, dict):
            raise CatalogError("a catalog is a JSON object")
        context = [msgspec.convert({"name": k, **v}, Field) for k, v in raw.get("context", {}).items()]
        if isinstance(raw.get("capabilities"), dict):
            return _check_built(msgspec.convert(raw, Catalog))
        return make_catalog(
            str(raw.get("name", "")), raw.get("capabilities", []), context=context, secrets=raw.get("secrets", {})
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError, AttributeError, ValueError) as error:
        raise error if isinstance(error, CatalogError) else CatalogError(str(error)) from error


def _check_built(catalog: Catalog) -> Catalog:
    for known in _BUILTINS:
        if catalog.capabilities.get(known.name) != _mark_builtin(known):
            raise CatalogError(f"the built-in capability {known.name!r} is missing or altered")
    for capability in catalog.capabilities.values():
        for field in (*capability.fields.values(), *catalog.context.values()):
            if field.default is not None and not field.accepts(field.default):
                raise CatalogError(f"the default of {field.name!r} is not one of its values")
    return seal(catalog)


def from_definition(definition: Mapping[str, Any], context: Mapping[str, Field]) -> Capability:
    """One capability from its wire form."""
    name = definition.get("name")
    if not isinstance(name, str) or not name.isascii() or not all(part.isidentifier() for part in name.split(".")):
        raise CatalogError(f"capability name {name!r} is not a dotted ASCII identifier")
    effects = definition.get("effects", definition.get("side_effect", "none"))
    effects = (effects,) if isinstance(effects, str) else tuple(effects)
    for effect in effects:
        if effect not in EFFECTS:
            raise CatalogError(f"{name}: unknown side effect {effect!r}")
    egress = tuple(definition.get("egress", ()))
    for host in egress:
        if host_fault(host):
            raise CatalogError(f"{name}: egress host {host!r} is malformed")
    fields = {
        (f"args.{field.name}" if field.name in context else field.name): field
        for field in _schema_fields(name, definition.get("input_schema", {}))
    }
    fields = {key: msgspec.structs.replace(field, name=key) for key, field in fields.items()}
    return Capability(
        name, tuple(sorted(set(effects))), fields, tuple(definition.get("needs", ())), egress, definition.get("description", "")
    )


def _schema_fields(name: str, schema: Mapping[str, Any]) -> list[Field]:
    """Properties, nested objects flattened with dots, walked with an explicit list (schemas come from outside)."""
    found: list[Field] = []
    pending: list[tuple[str, Mapping[str, Any], bool]] = [("", schema, True)]
    while pending:
        prefix, node, always = pending.pop()
        required = set(node.get("required", ()))
        for key, part in sorted(node.get("properties", {}).items()):
            if not isinstance(part, Mapping) or not key.isascii() or not key.isidentifier():
                continue
            path, needed = prefix + key, always and key in required
            if part.get("type") == "object" and path.count(".") < 4:
                pending.append((path + ".", part, needed))
            elif (field := _schema_field(path, part, needed)) is not None:
                found.append(field)
            if len(found) + len(pending) > MAX_FIELDS:
                raise CatalogError(f"{name}: more than {MAX_FIELDS} fields")
    return sorted(found, key=lambda field: field.name)


def _schema_field(name: str, part: Mapping[str, Any], required: bool) -> Field | None:
    kind = _schema_kind(part)
    if kind is None:
        return None
    default = part.get("default")
    low, high = -_SAFE_INT, _SAFE_INT
    if kind in ("int", "size", "duration"):
        low = int(
            part.get("minimum", part["exclusiveMinimum"] + 1 if "exclusiveMinimum" in part else (0 if kind != "int" else low))
        )
        high = int(part.get("maximum", part["exclusiveMaximum"] - 1 if "exclusiveMaximum" in part else high))
    field = Field(
        name,
        kind,
        tuple(sorted(part["enum"])) if kind == "enum" else (),
        low,
        high,
        required,
        None if required else default,
        bool(part.get("x-sensitive", part.get("writeOnly", False))),
        str(part.get("description", "")),
    )
    if field.default is not None and not field.accepts(field.default):
        raise CatalogError(f"the default of {name!r} is not one of its values")
    return field


def _schema_kind(part: Mapping[str, Any]) -> Kind | None:
    declared = part.get("x-type")
    if declared in KINDS:
        return next(kind for kind in KINDS if kind == declared)
    if part.get("type") == "boolean":
        return "bool"
    if part.get("type") == "integer":
        return "int"
    if part.get("type", "string") != "string":
        return None
    if isinstance(part.get("enum"), list):
        return "enum" if all(isinstance(v, str) for v in part["enum"]) else None
    if part.get("type") != "string":
        return None
    formats: dict[str, Kind] = {"hostname": "host", "path": "path", "file-path": "path"}
    return formats.get(str(part.get("format", "")), "name")


def _mark_builtin(capability: Capability) -> Capability:
    return msgspec.structs.replace(capability, builtin=True)
