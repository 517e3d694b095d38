"""How messages speak of types: names for kinds, an example of a value, an example of a comparison.

This file does not know when a message is due.
"""

from __future__ import annotations

from policy.model.catalog import Field

_KIND_WORDS = {
    "bool": "a yes-or-no field",
    "enum": "one of a fixed list of values",
    "int": "a plain number",
    "size": "a size",
    "duration": "a duration",
    "name": "a name",
    "path": "a path",
    "host": "a host name",
}


def a(kind: str) -> str:
    return _KIND_WORDS[kind]


def example(field_: Field) -> str:
    return {
        "int": "write a plain number, as in 1_000",
        "size": "write a size, as in 4MiB",
        "duration": "write a duration, as in 15m",
    }[field_.kind]


def comparison(field_: Field) -> str:
    return {
        "bool": f"write `{field_.name}` or `not {field_.name}`",
        "enum": f"write `{field_.name} == {(field_.values or ('value',))[0]}`",
        "int": f"write `{field_.name} <= 10`",
        "size": f"write `{field_.name} <= 4MiB`",
        "duration": f"write `{field_.name} <= 15m`",
        "name": f'write `{field_.name} == "text"`',
        "path": f'write `{field_.name} under "/data"`',
        "host": f'write `{field_.name} in {{ "api.acme.example" }}`',
    }[field_.kind]
