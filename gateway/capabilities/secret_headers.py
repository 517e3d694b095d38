"""Secrets in capability calls: used by the service on a program's behalf, never shown to it.

Purpose: `${secret:NAME}` in a header's value becomes the secret's value when the request is sent, if the policy allows it
(`policy_gates`); `mask` takes it out of what comes back, for a server may well repeat what it was sent. A reference in any other
place is plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from gateway.capabilities.policy_gates import PolicedSecrets
from gateway.capabilities.sources import Caller

MASK: Final = "[secret]"
_REFERENCE: Final = re.compile(r"\$\{secret:([A-Za-z0-9_./-]{1,255})\}")
_MASKED_CHARS_MIN: Final = 4
"""Shorter ones would be found everywhere."""


def find_references(headers: Mapping[str, str]) -> set[str]:
    return {name for value in headers.values() for name in _REFERENCE.findall(value)}


async def fill(
    secrets: PolicedSecrets, caller: Caller, headers: Mapping[str, str], host: str
) -> tuple[dict[str, str], list[str]]:
    """The headers with values for find_references, and the values used."""
    values = {name: await secrets.use(caller, name, host) for name in sorted(find_references(headers))}
    filled = {key: _REFERENCE.sub(lambda found: values[found[1]], value) for key, value in headers.items()}
    return filled, list(values.values())


def mask(text: str, values: list[str]) -> str:
    """THREAT[TM-CAP-SECRET]: a program that has a secret sent to a server which answers with it."""
    found = {form for value in values if len(value) >= _MASKED_CHARS_MIN for form in _list_forms(value)}
    for form in sorted(found, key=len, reverse=True):
        text = text.replace(form, MASK)
    return text


def _list_forms(value: str) -> set[str]:
    """As it is, as JSON has it, and as Python's `repr` does, among other quotes or none."""
    escaped = repr(value + "'\"")[1:-4]
    return {value, json.dumps(value)[1:-1], escaped, escaped.replace("\\'", "'")}
