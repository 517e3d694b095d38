"""The verbs of `hatchway remote` that are rows of the table: their options, what is read for them, what is shown.

Rules: a row's words are words here, its other fields options; nothing stands in the arguments that was not given. With --json
only JSON goes to standard output, an object a line; what is carried away goes there as it is, or into FILE.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from hatchway.cli.host_files import read_bytes, read_json, write_bytes
from hatchway.cli.options import parse_count
from hatchway.cli.program import parse_pair
from hatchway.cli.terminal import show_facts, show_table
from hatchway.client.client import Client
from hatchway.client.operations import Field, Operation
from hatchway.client.requests import Refused
from hatchway.remote import answers
from sandbox.errors import RequestError

_METAVARS: Final = {
    "object": "FILE", "bytes": "FILE", "sources": "PATH", "attributes": "NAME=JSON", "number": "N", "count": "N", "any": "JSON",
    "pairs": "NAME=VALUE",
}  # fmt: skip
_TAKEN: Final = frozenset(("url", "token", "tenant", "json", "ca", "cert", "help"))
"""Options of every verb; a field of such a name gets another."""


def add_arguments(parser: argparse.ArgumentParser, operation: Operation) -> None:
    for param in operation.fields:
        if param.is_word:
            _add_word(parser, param)
        else:
            _add_option(parser, param)
    if operation.answers == "bytes":
        parser.add_argument("to", nargs="?", default="-", metavar="FILE", help="write it there (default: standard output)")


def _add_word(parser: argparse.ArgumentParser, param: Field) -> None:
    metavar = "FIELD=VALUE" if param.kind == "attributes" else _METAVARS.get(param.kind, param.name.upper())
    given: dict[str, Any] = {"metavar": metavar, "help": param.about or None}
    if param.choices:
        given |= {"choices": param.choices, "metavar": "|".join(param.choices)}
    elif param.kind == "number":
        given["type"] = int
    elif param.kind in ("texts", "attributes"):
        given["nargs"] = "*"
    parser.add_argument(f"given_{param.name}", **given)


def _add_option(parser: argparse.ArgumentParser, param: Field) -> None:
    name = f"set-{param.name}" if param.name in _TAKEN else param.name.replace("_", "-")
    names = [*(["-n"] if param.kind == "count" else []), param.option or f"--{name}"]
    given: dict[str, Any] = {"dest": f"given_{param.name}", "default": argparse.SUPPRESS, "help": param.about}
    given["required"] = param.is_required
    if param.kind == "flag":
        parser.add_argument(*names, action="store_true", **given)
        return
    given["metavar"] = "|".join(param.choices) or _METAVARS.get(param.kind, names[-1].strip("-").replace("-", "_").upper())
    if param.choices:
        given["choices"] = param.choices
    if param.kind in ("number", "count"):
        given["type"] = int if param.kind == "number" else parse_count
    if param.kind in ("texts", "attributes", "pairs"):
        given["action"] = "append"
    parser.add_argument(*names, **given)


def run(client: Client, operation: Operation, options: argparse.Namespace) -> int:
    arguments = _read_arguments(operation, options)
    try:
        answer = client.do(operation.name, **arguments)
    except Refused as refused:
        if refused.error.code != "POLICY_REFUSED" or not arguments.get("sources"):
            raise
        return answers.show_refused(client, arguments, Path(options.given_sources), refused)
    if operation.answers == "bytes":
        return _write(options.to, answer, operation)
    if operation.answers == "nothing":
        return 0
    if options.json:
        for item in answer if operation.answers == "list" or operation.name == "fork" else [answer]:
            print(msgspec.json.encode(item).decode())
    elif operation.name in answers.SHOWN:
        answers.SHOWN[operation.name](answer, options)
    elif operation.columns:
        show_table(answer if isinstance(answer, list) else [answer], operation.columns)
    else:
        for item in answer if isinstance(answer, list) else [answer]:
            show_facts(item)
    return answers.choose_status(operation, answer)


def _read_arguments(operation: Operation, options: argparse.Namespace) -> dict[str, Any]:
    """What was given, with files read."""
    found: dict[str, Any] = {}
    for param in operation.fields:
        value = getattr(options, f"given_{param.name}", None)
        if value is None:
            continue
        if param.kind == "sources":
            from hatchway.remote.policy_sources import read_sources

            found[param.name], found["main"] = read_sources(Path(value), getattr(options, "given_main", None))
        elif param.name == "main":
            found.setdefault("main", value)
        elif param.kind == "attributes":
            found[param.name] = _read_attributes(operation, options, param, value)
        elif param.kind == "pairs":
            found[param.name] = dict(pair.partition("=")[::2] for pair in value)
        elif param.kind == "bytes":
            found[param.name] = read_bytes(value)
        elif param.kind == "object":
            found[param.name] = read_json(value, dict[str, Any])
        else:
            found[param.name] = parse_pair(param.name, f"={value}", "")[1] if param.kind == "any" else value
    return found


def _read_attributes(operation: Operation, options: argparse.Namespace, param: Field, pairs: list[str]) -> dict[str, Any]:
    """Fields of a request are read as `hatchway policy explain` reads them, in the units of the language, where they are known
    here; all others are JSON, or text."""
    if operation.name == "policy explain":
        from policy.errors import PolicyError
        from policy.model.catalog import builtin_catalog
        from policy.tools.request_arguments import read_question

        catalog = builtin_catalog()
        if options.given_capability in catalog.capabilities:
            try:
                return read_question(catalog, options.given_capability, pairs)
            except PolicyError as error:
                raise RequestError("INVALID_ARGUMENT", str(error)) from None
    return dict(parse_pair(param.option or "FIELD=VALUE", pair, "plan=team") for pair in pairs)


def _write(to: str, data: bytes, operation: Operation) -> int:
    if to == "-" and b"\0" in data and sys.stdout.isatty():
        raise RequestError(
            "INVALID_ARGUMENT",
            "a terminal cannot show these bytes",
            f"hatchway remote {operation.name} … FILE",
        )
    write_bytes(to, data)
    return 0
