"""What callers of the library hand over, checked before anything is done with it.

Rules: an argument of another kind is refused with the contract's INVALID_ARGUMENT and a sentence that names the argument, what it
must be and what it was; no caller meets a `TypeError` from further in. Each function gives the argument in the one form that the
rest uses. Does not know: sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from sandbox.capabilities.registry import Capability, Registry
from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.wire import OnLimit, SessionLimits

if TYPE_CHECKING:
    from sandbox.encoding.sealing import Keys

Limits = SessionLimits | Mapping[str, int] | None
Tools = Mapping[str, Callable[..., Any]] | Registry | None
Sealed = bytes | bytearray | memoryview
LABEL_CHARS_MAX: Final = 200
_BYTES: Final = (bytes, bytearray, memoryview)
_ON_LIMIT: Final = {wanted.value: wanted for wanted in OnLimit}
_KIND_NAMES: Final = {str: "text", type(None): "None"}
T = TypeVar("T")


def refuse_kind(name: str, expected: str, given: object) -> RequestError:
    return RequestError("INVALID_ARGUMENT", f"{name} must be {expected}, not {type(given).__name__}")


def complete_limits(given: Limits, base: SessionLimits) -> SessionLimits | None:
    """A whole `SessionLimits`, or a mapping with some of the six."""
    if given is None or isinstance(given, SessionLimits):
        return given
    if not isinstance(given, Mapping):
        raise refuse_kind("limits", "SessionLimits or a mapping of some of them", given)
    unknown = set(given) - set(SessionLimits.__struct_fields__)
    if unknown:
        known = ", ".join(SessionLimits.__struct_fields__)
        raise RequestError("INVALID_ARGUMENT", f"unknown limit {min(map(excerpt, unknown))}", f"the limits are: {known}")
    return msgspec.structs.replace(base, **given)


def build_registry(tools: Tools) -> Registry:
    if isinstance(tools, Registry):
        for one in tools:
            if one.approval_policy not in ("none", "manual"):
                told = f"{one.name}: its approval_policy asks a rule of a policy, and there is none here"
                raise RequestError("INVALID_ARGUMENT", told, 'declare it as "manual", or run it under a gateway')
        return tools
    registry = Registry()
    for name, function in copy_mapping("tools", tools).items():
        registry.register(Capability(name=name, description=(function.__doc__ or "").strip()), function)
    return registry


def copy_mapping(name: str, given: Mapping[Any, Any] | None) -> dict[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refuse_kind(name, "a mapping of names to values", given)
    return dict(given)


def check_files(given: VfsLimits | None) -> VfsLimits | None:
    if given is None:
        return None
    if not isinstance(given, VfsLimits):
        raise refuse_kind("files", "VfsLimits", given)
    for name in VfsLimits.__slots__:
        value = getattr(given, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise RequestError("INVALID_ARGUMENT", f"files.{name} must be a whole number, not {excerpt(value)}")
    return given


def decode_code(code: str | bytes) -> str:
    if isinstance(code, str):
        return code
    if not isinstance(code, bytes):
        raise refuse_kind("code", "text or UTF-8 bytes", code)
    try:
        return code.decode()
    except UnicodeDecodeError as error:
        raise RequestError("INVALID_ARGUMENT", f"the code is not valid UTF-8 at byte {error.start}") from None


def decode_stdin(stdin: str | bytes) -> str:
    """As a request carries it: bytes that are no text stand in it as `surrogateescape` writes them."""
    if isinstance(stdin, bytes):
        return stdin.decode("utf-8", "surrogateescape")
    if not isinstance(stdin, str):
        raise refuse_kind("stdin", "text or bytes", stdin)
    return stdin


def parse_on_limit(given: str | OnLimit, *, is_recorded: bool) -> OnLimit:
    wanted = _ON_LIMIT.get(given) if isinstance(given, str) else None
    if wanted is None:
        raise RequestError("INVALID_ARGUMENT", f"on_limit must be 'undo' or 'keep', not {excerpt(given)}")
    if is_recorded and wanted is OnLimit.KEEP:
        raise RequestError("INVALID_ARGUMENT", "a run that is recorded is undone at a limit: on_limit must be 'undo'")
    return wanted


def check_sealed(name: str, blob: Sealed) -> bytes:
    if not isinstance(blob, _BYTES):
        raise refuse_kind(name, "bytes", blob)
    return bytes(blob)


def choose_keys(keys: Keys | None) -> Keys:
    """Those given, or this user's own."""
    from sandbox.encoding.sealing import Keys, local_keys

    if keys is None:
        return local_keys()
    return check_kind("keys", keys, Keys)


def check_label(label: str) -> str:
    """A snapshot's name for people: one short line."""
    check_kind("label", label, str)
    if len(label) > LABEL_CHARS_MAX or not label.isprintable():
        told = f"a label is one line of at most {LABEL_CHARS_MAX} characters, without control characters"
        raise RequestError("INVALID_ARGUMENT", told)
    return label


def check_kind(name: str, given: T, *kinds: type) -> T:
    if not isinstance(given, kinds):
        raise refuse_kind(name, " or ".join(_KIND_NAMES.get(kind, kind.__name__) for kind in kinds), given)
    return given


def check_callable(name: str, given: Callable[..., Any] | None) -> None:
    if given is not None and not callable(given):
        raise refuse_kind(name, "a function", given)
