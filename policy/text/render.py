"""Findings as text with the source line and a caret, JSON, and SARIF 2.1.0.

Source text is shown with control characters made visible, so a policy cannot write to the reader's terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import msgspec

from policy.text.diagnostics import CHECKS, Diagnostic
from policy.text.sources import Span

_RED, _YELLOW, _BLUE, _BOLD, _OFF = "\x1b[31;1m", "\x1b[33;1m", "\x1b[34;1m", "\x1b[1m", "\x1b[0m"
_MAX_LINE = 160


def to_text(diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    return "\n".join(_render_one(d, colour) for d in diagnostics)


def _render_one(finding: Diagnostic, colour: bool) -> str:
    def paint(code: str, text: str) -> str:
        return f"{code}{text}{_OFF}" if colour else text

    tint = _RED if finding.severity == "error" else _YELLOW
    lines = [paint(tint, f"{finding.severity}[{finding.code}]") + paint(_BOLD, f": {_strip_marks(finding.message)}")]
    margin = 3
    if finding.span is not None:
        number, shown, marks = _excerpt(finding.span)
        margin = len(str(number))
        bar = paint(_BLUE, "|")
        lines.append(" " * margin + paint(_BLUE, "--> ") + _strip_marks(finding.location()))
        lines.append(" " * margin + f" {bar}")
        lines.append(paint(_BLUE, str(number)) + f" {bar} {shown}")
        lines.append(" " * margin + f" {bar} " + paint(tint, marks))
    for note in finding.notes:
        lines.append(" " * margin + paint(_BLUE, " = ") + _strip_marks(note))
    if finding.hint:
        lines.append(" " * margin + paint(_BLUE, " = ") + paint(_BOLD, "hint: ") + _strip_marks(finding.hint))
    return "\n".join(lines) + "\n"


def _excerpt(span: Span) -> tuple[int, str, str]:
    """Line number, the line (cut around the place if long), and the carets below it."""
    number, column = span.source.position(span.start)
    line = span.source.line(number).removesuffix("\r")
    start = column - 1
    width = max(1, min(span.end, span.start + len(line) - start) - span.start)
    cut = max(0, start - _MAX_LINE // 2) if len(line) > _MAX_LINE else 0
    shown = _strip_marks(line[cut : cut + _MAX_LINE]).rstrip()
    return number, shown, " " * _columns(line[cut:start]) + "^" * min(max(1, _columns(line[start : start + width])), _MAX_LINE)


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide character, none for one that joins the one before it."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _strip_marks(text: str) -> str:
    return "".join(c if c.isprintable() else (" " if c == "\t" else "\N{REPLACEMENT CHARACTER}") for c in text)


def to_dict(finding: Diagnostic) -> dict[str, Any]:
    """The contract's error object, with file, severity and notes."""
    shown: dict[str, Any] = {
        "code": finding.code,
        "name": CHECKS[finding.code].slug,
        "severity": finding.severity,
        "message": finding.message,
    }
    if finding.hint:
        shown["hint"] = finding.hint
    if finding.notes:
        shown["notes"] = list(finding.notes)
    if finding.span is not None:
        shown["file"] = finding.span.source.path
        shown["span"] = finding.span.place()
    return shown


def to_json(diagnostics: Iterable[Diagnostic]) -> bytes:
    return msgspec.json.format(msgspec.json.encode([to_dict(d) for d in diagnostics]), indent=2)


def to_sarif(diagnostics: Iterable[Diagnostic]) -> bytes:
    rules = [
        {
            "id": c.code,
            "name": c.slug,
            "shortDescription": {"text": c.title},
            "fullDescription": {"text": c.why},
            "defaultConfiguration": {"level": c.severity},
        }
        for c in CHECKS.values()
    ]
    results = []
    for finding in diagnostics:
        text = ". ".join([finding.message, *finding.notes, *([finding.hint] if finding.hint else [])])
        result: dict[str, Any] = {"ruleId": finding.code, "level": finding.severity, "message": {"text": text}}
        if finding.span is not None:
            names = {"line": "startLine", "column": "startColumn", "end_line": "endLine", "end_column": "endColumn"}
            region = {names[name]: number for name, number in finding.span.place().items()}
            result["locations"] = [
                {"physicalLocation": {"artifactLocation": {"uri": quote(finding.span.source.path)}, "region": region}}
            ]
        results.append(result)
    log = {
        "version": "2.1.0",
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "runs": [
            {
                "tool": {"driver": {"name": "hatchway policy", "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }
    return msgspec.json.format(msgspec.json.encode(log), indent=2)
