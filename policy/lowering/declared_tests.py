"""Tests as they are written to requests as they are asked.

A test's values are checked like those of a condition, so a misspelt field or value is a mistake and not a denial.
"""

from __future__ import annotations

from lark import Token

from policy.lowering.program import TestCase
from policy.lowering.vocabulary import Vocabulary
from policy.model import ir
from policy.model.catalog import Capability, Field, Scalar
from policy.syntax import tree as s
from policy.text.sources import Span


def lower_test(item: s.Test, words: Vocabulary) -> list[TestCase]:
    """The requests of one `test`; what is wrong with them is reported."""
    title = str(item.title)[1:-1]
    if not item.cases:
        words.error("HP090", f"the test {item.title} asks nothing", item.title, "add `CAPABILITY { … } => deny`")
    caller = _record(item.caller, None, words)
    found: list[TestCase] = []
    for case in item.cases:
        capability = words.catalog.capabilities.get(case.capability)
        if capability is None:
            words.report_unknown_capability(case.capability)
            continue
        attributes = {**caller, **_record(case.fields, capability, words)}
        span = Span(words.source, s.offsets(case.capability)[0], s.offsets(case.verdict)[1])
        found.append(TestCase(title, ir.Request(capability.name, attributes), str(case.verdict), span))
    return found


def _record(pairs: tuple[tuple[Token, s.Value], ...], capability: Capability | None, words: Vocabulary) -> dict[str, Scalar]:
    """Fields and values between braces: of a request, or of the caller alone."""
    catalog = words.catalog
    fields = {**(capability.fields if capability else {}), **catalog.context}
    values: dict[str, Scalar] = {}
    seen: set[str] = set()
    for name, value in pairs:
        known = fields.get(name)
        if str(name) in seen:
            words.error("HP048", f"`{name}` is given twice", name, "keep one of them")
        elif known is None:
            owner = capability.name if capability else "the caller"
            words.error("HP021", f"{owner} has no field `{name}`", name, words.findings.guess(name, fields))
        elif (constant := _constant(known, value, words)) is not None:
            values[str(name)] = constant
        seen.add(str(name))
    return values


def _constant(known: Field, value: s.Value, words: Vocabulary) -> Scalar | None:
    if known.type.is_number:
        return words.number(known, value)
    if known.type.shape == "flag":
        if value.token not in ("true", "false"):
            words.error("HP030", f"`{known.name}` is true or false", value.token)
            return None
        return str(value.token) == "true"
    if known.type.within == "host" and "*" in value.token:
        words.error("HP036", "a request names one host", value.token, "write a concrete host")
        return None
    return words.text(known, value)
