"""Every code that the packages raise or put into a result stands in the table of codes, and every row of it is raised."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway import codes
from gateway.codes import find, suggest, table

ROOT = Path(__file__).parents[2]
PACKAGES = ("gateway", "sandbox", "policy", "hatchway")
CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
ONE_WORD = {"BUSY", "CANCELLED", "FORBIDDEN", "INTERNAL", "INTERRUPTED", "STOPPING", "TIMEOUT", "UNAUTHORIZED"}
"""Codes without an underscore: these are found only where a code is expected, other capital words only with an underscore."""
NO_CODES = {
    "BASH_COMMAND": "a variable of the shell",
    "LC_ALL": "an environment variable",
    "MASTER_KEY": "an environment variable",
    "MCP_TOKEN": "an environment variable",
    "NO_COLOR": "an environment variable",
    "PAYLOAD_JSON": "an environment variable of hooks",
    "PAYLOAD_PATH": "an environment variable of hooks",
    "QF_LIA": "a logic of the solver",
    "SESSION_ID": "an environment variable of hooks",
    "TOOL_CALL_ID": "an environment variable of hooks",
    "TOOL_NAME": "an environment variable of hooks",
    "TURN_ID": "an environment variable of hooks",
    "XDG_CACHE_HOME": "an environment variable",
    "XDG_DATA_HOME": "an environment variable",
}
SOURCES = {
    path: ast.parse(path.read_text("utf-8"))
    for package in PACKAGES
    for path in (*sorted((ROOT / package).rglob("*.py")), ROOT / "wasm_modules/python/displays.py")
    if path.name != "codes.py"
}


def literals(node: ast.expr | None) -> list[str]:
    """The texts that an expression can be: of `"A" if x else "B"`, both."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return literals(node.body) + literals(node.orelse)
    return [text for value in node.values for text in literals(value)] if isinstance(node, ast.BoolOp) else []


def callee(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""


def expected_codes(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Texts where a code is expected, with the name of what is called: `Conflict("CODE", …)`, `ErrorObject(code="CODE")`."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = callee(call)
        first = [text for argument in call.args[:1] for text in literals(argument)]
        if name == "missing":
            yield from ((f"{kind.upper()}_NOT_FOUND", "NotFound") for kind in first)
        elif name == "check_expected":  # of the stores: what is there is not as expected
            kinds = literals(call.args[2]) or ["entry"]  # the noun of a table of records: only entries are written so
            yield from ((f"{kind.upper()}_{end}", name) for kind in kinds for end in ("EXISTS", "CHANGED"))
        elif name in ("diagnostic", "_Refused", "Unreachable"):  # of the registry's runtimes, in small letters
            yield from ((text, name) for text in first)
        elif name[:1].isupper() or name == "__init__":
            yield from ((text, name) for argument in call.args[:2] for text in literals(argument) if CODE.fullmatch(text))
        yield from ((text, name) for word in call.keywords if word.arg == "code" for text in literals(word.value))


def all_codes() -> dict[str, set[str]]:
    """Every code in the sources, and where it stands."""
    found: dict[str, set[str]] = {}
    for path, tree in SOURCES.items():
        place = str(path.relative_to(ROOT))
        compared = {
            id(part) for node in ast.walk(tree) if isinstance(node, ast.Compare) for part in [node.left, *node.comparators]
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in compared:
                text = node.value
                if CODE.fullmatch(text) and "_" in text and not text.startswith("HATCHWAY_") and text not in NO_CODES:
                    found.setdefault(text, set()).add(place)
        for text, _ in expected_codes(tree):
            if text not in NO_CODES and (text in ONE_WORD or "_" in text) and re.fullmatch(r"[A-Za-z0-9_]+", text):
                found.setdefault(text, set()).add(place)
    return found


def raised_statuses() -> Iterator[tuple[str, int, str]]:
    """Codes of errors whose class says their HTTP status."""
    statuses: dict[str, int] = {}
    bases: dict[str, list[str]] = {}
    for tree in SOURCES.values():
        for kind in ast.walk(tree):
            if isinstance(kind, ast.ClassDef):
                bases[kind.name] = [base.id for base in kind.bases if isinstance(base, ast.Name)]
                for line in kind.body:
                    target = line.targets[0] if isinstance(line, ast.Assign) else getattr(line, "target", None)
                    value = getattr(line, "value", None)
                    if isinstance(target, ast.Name) and target.id == "status" and isinstance(value, ast.Constant):
                        statuses[kind.name] = value.value

    def status(name: str) -> int | None:
        return statuses.get(name) or next((found for base in bases.get(name, []) if (found := status(base))), None)

    gateway_errors = {name for name in bases if _descends(name, "GatewayError", bases)}
    for path, tree in SOURCES.items():
        for code, name in expected_codes(tree):
            if name in gateway_errors and name != "GatewayError" and (found := status(name)):
                yield code, found, str(path.relative_to(ROOT))


def _descends(name: str, ancestor: str, bases: dict[str, list[str]]) -> bool:
    return name == ancestor or any(_descends(base, ancestor, bases) for base in bases.get(name, []) if base != name)


def test_every_code_in_the_sources_stands_in_the_table() -> None:
    unknown = {code: sorted(places) for code, places in all_codes().items() if code not in table()}
    assert not unknown, f"add to docs/errors.md: {unknown}"


def test_every_code_of_the_table_is_raised() -> None:
    only_named = {"hatchway/remote/hints.py", "sandbox/wire.py"}
    found = {code for code, places in all_codes().items() if places - only_named}
    # `remote.py` of the registry keeps its codes in a table of messages.
    words = {
        node.value
        for path, tree in SOURCES.items()
        if "registry" in path.parts
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    silent = set(table()) - found - words
    assert not silent, f"nothing raises {sorted(silent)}"


def test_every_status_that_a_code_is_raised_with_stands_in_its_row() -> None:
    seen = 0
    for code, status, place in raised_statuses():
        seen += 1
        assert status in table()[code].statuses, f"{place} raises {code} with {status}"
    assert seen > 200


def test_the_table_of_exceptions_holds_nothing_that_is_gone() -> None:
    texts = {
        node.value
        for tree in SOURCES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(NO_CODES) <= texts


def test_a_row_tells_cause_and_remedy_in_a_sentence_each() -> None:
    for row in table().values():
        for text in (row.cause, row.remedy):
            assert text.endswith(".") and (text[0].isupper() or text[0] == "`"), row
            assert 10 < len(text) <= 130 and "|" not in text, row


def test_a_code_is_found_however_it_is_written() -> None:
    for text in ("SESSION_NOT_FOUND", "session_not_found", " SESSION_NOT_FOUND ", "urn:hatchway:problem:session_not_found"):
        found = find(text)
        assert found is not None and found.code == "SESSION_NOT_FOUND" and found.statuses == (404,)
    assert find("EMBEDDED_WORKER_BUSY") is table()["embedded_worker_busy"]
    assert find("XYZZY") is None
    assert suggest("SESION_NOT_FOUND")[0] == "SESSION_NOT_FOUND" and suggest("XYZZY") == []


def test_every_row_of_the_page_of_codes_is_read_and_a_wheel_brings_the_page() -> None:
    rows = [line for line in (ROOT / "docs" / "errors.md").read_text("utf-8").splitlines() if line.startswith("| `")]
    assert len(rows) == len(table()) > 200
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]["docs/errors.md"]
    assert (ROOT / packed, ROOT / "docs" / "errors.md") == codes._PLACES


def test_a_code_that_stands_on_the_page_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "errors.md"
    page.write_text("## A\n" + 2 * "| `BUSY` | 429, 503 | Too much. | Wait. |\n")
    monkeypatch.setattr(codes, "_PLACES", (page,))
    with pytest.raises(ValueError, match="BUSY stands in the table twice"):
        table.__wrapped__()
