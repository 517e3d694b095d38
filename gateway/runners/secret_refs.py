"""Secrets of destinations: only by reference, and resolved at the last moment.

Rules: a destination is persisted with its thread, so nothing in its config may be a secret. A key that is named like one must
hold a reference (`{"id": …}`); a URL must not carry a password. `SecretResolver` is the port through which a provider gets the
value behind a reference, for one tenant; the value is never kept in a session's state.
"""

from __future__ import annotations

import re
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from gateway.runners.errors import invalid, secret_in_config, unavailable
from gateway.runners.wire import SecretRef

_WORDS = re.compile(
    r"token|secret|passw|passphrase|credential|apikey|accesskey|privatekey|signingkey|authorization|bearer|cookie|"
    r"connectionstring|clientcert|(^|[^a-z])(pwd|pin|auth)$"
)
_VALUES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20}|\bxox[abp]-|\bsk-[A-Za-z0-9]{20}"
)
MAX_CONFIG_NODES = 1000


class SecretResolver(Protocol):
    async def resolve(self, ref: SecretRef) -> bytes:
        """The value; raises a `GatewayError` if the tenant has no such secret."""
        ...


class NoSecrets:
    """Where no vault is wired."""

    async def resolve(self, ref: SecretRef) -> bytes:
        raise unavailable("a secret is needed, and this runner has no vault", "wire a SecretResolver")


def check_config(config: Any) -> None:
    """THREAT[TM-RUN-SECRET]: refuse a config that looks as if it held a secret."""
    pending: list[tuple[str, Any]] = [("config", config)]
    seen = 0
    while pending:
        key, value = pending.pop()
        seen += 1
        if seen > MAX_CONFIG_NODES:
            raise invalid(f"config has more than {MAX_CONFIG_NODES} values")
        if _is_secret_name(key) and not _is_reference(value) and value is not None:
            raise secret_in_config(key)
        if isinstance(value, dict):
            pending.extend((str(name), inner) for name, inner in value.items())
        elif isinstance(value, list):
            pending.extend((key, inner) for inner in value)
        elif isinstance(value, str) and _is_secret_value(value):
            raise secret_in_config(key)


def _is_secret_name(key: str) -> bool:
    return bool(_WORDS.search(re.sub(r"[-_. ]", "", key).lower()) or _WORDS.search(key.lower()))


def _is_reference(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"id"} and isinstance(value["id"], str)


def _is_secret_value(value: str) -> bool:
    if _VALUES.search(value):
        return True
    try:
        return "@" in value and bool(urlsplit(value).password)
    except ValueError:
        return False


def reference(config: dict[str, Any], key: str) -> SecretRef | None:
    """The reference under `key`, if there is one."""
    value = config.get(key)
    if value is None:
        return None
    try:
        return msgspec.convert(value, SecretRef)
    except msgspec.ValidationError:
        raise secret_in_config(key) from None
