"""The language server, through a real client over a pipe; and the pure functions behind it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from policy_texts import SAMPLE, SAMPLES, TOOLS

from policy.syntax.parser import grammar_text
from policy.tools import editor_queries

lsp_client = pytest.importorskip("pygls.lsp.client")
from lsprotocol import types as t  # noqa: E402
from pygls.exceptions import JsonRpcException  # noqa: E402

ROOT = Path(__file__).parent.parent.parent


def at(text: str, marked: str) -> tuple[str, int]:
    """Replace the first occurrence of `marked` without its `|`, and return the offset of the bar."""
    plain = marked.replace("|", "")
    assert plain in text
    return text, text.index(plain) + marked.index("|")


def suggested(text: str) -> set[str]:
    offset = text.index("|")
    return {s.text for s in editor_queries.complete(text.replace("|", ""), offset, TOOLS)}


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("policy p v 1\nallow |", {"fs.read", "payments.refund"}, {"amount"}),
        ("policy p v 1\nallow pay|", {"payments.refund"}, {"amount"}),
        ("policy p v 1\nallow payments.refund when |", {"amount", "currency", "session.mfa"}, {"rows", "note"}),
        (
            "policy p v 1\nlet senior = session.mfa\nallow payments.refund when amount <= 5 and |",
            {"senior", "currency"},
            {"fs.read"},
        ),
        ("policy p v 1\nallow payments.refund when currency == |", {"eur", "usd"}, {"amount"}),
        ("policy p v 1\nallow payments.refund when currency in { eur, |", {"gbp"}, {"amount"}),
        ("policy p v 1\nset big = { eur }\nallow payments.refund when currency in |", {"eur", "big"}, {"amount"}),
        ("policy p v 1\nallow fs.read rate 5/min per |", {"session", "tenant"}, {"fs.read"}),
        ("policy p v 1\nlimit run { |", {"cpu", "memory"}, {"language"}),
        ("policy p v 1\ndeny any with effects { |", {"write", "network"}, {"fs.read"}),
        ("policy p v 1\nhook h on before fs.write run |", {"python", "wasm"}, {"fs.read"}),
        ("policy p v 1\nhook h on before |", {"fs.write"}, {"python"}),
        ('policy p v 1\nhook h on before run run python "h.py" timeout 1s on_error |', {"block"}, {"python"}),
        ("policy p v 1\nprove no |", {"run"}, {"amount"}),
        ('policy p v 1\ntest "t" {\n  as { tenant a }\n  payments.refund { |', {"amount", "currency"}, {"eur"}),
        ('policy p v 1\ntest "t" {\n  as { tenant a }\n  payments.refund { currency |', {"eur"}, {"amount"}),
        ("policy p v 1\nallow run\n|", {"deny", "limit", "because"}, {"run"}),
        ("|", {"allow"}, {"run"}),
    ],
)
def test_completion_offers_what_fits(text: str, wanted: set[str], unwanted: set[str]) -> None:
    found = suggested(text)
    assert wanted <= found
    assert not unwanted & found


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("allow payments.ref|und", "Refund a payment"),
        ("when amo|unt <= 500", "whole units of the currency"),
        ("and sen|ior", "let senior"),
        ("scope ten|ant == acme", "on whose behalf"),
        ("host in part|ners", "api.stripe.com"),
        ("au|to when session", "Approval by rule"),
        ("limit run                   { c|pu", "processor time"),
    ],
)
def test_hover_tells_meaning_and_type(place: str, words: str) -> None:
    found = editor_queries.hover(*at(SAMPLE, place), TOOLS)
    assert found is not None
    assert words in found[0]


def test_hover_is_silent_in_comments_and_strings() -> None:
    assert editor_queries.hover(*at(SAMPLE, "# Mo|ney"), TOOLS) is None
    assert editor_queries.hover(*at(SAMPLE, '"reporting is re|ad-only'), TOOLS) is None


NAMES_EVERYWHERE = """policy p v 1
set x = { x, y }  # x
let good = tenant == x
hook h on before fs.read when good run python "x" timeout 1s on_error block
scope good {
  deny db.query when table in x and table != "x" or not good because "x"
}
ask db.query when table in x by x within 5m auto when good
test "x" { as { tenant x, user good } db.query { table x, rows 1 } => deny }
"""


def renamed(marked: str, name: str) -> str | None:
    text, offset = at(NAMES_EVERYWHERE, marked)
    found = editor_queries.references(text, offset)
    if found is None:
        return None
    for start, end in reversed(found[1]):
        text = text[:start] + name + text[end:]
    return text


def test_rename_of_a_set_leaves_values_fields_strings_and_comments_alone() -> None:
    wanted = NAMES_EVERYWHERE.replace("set x", "set z").replace("table in x", "table in z")
    assert renamed("table in |x by", "z") == wanted
    assert renamed("set |x =", "z") == wanted


def test_rename_of_a_let_follows_it_into_scopes_rules_hooks_and_approvals() -> None:
    wanted = NAMES_EVERYWHERE.replace("user good", "user GOOD").replace("good", "fine").replace("GOOD", "good")
    assert renamed("scope go|od {", "fine") == wanted


@pytest.mark.parametrize(
    "marked", ["{ |x, y }", "tenant == |x", "tenant |x, user", "by |x within", "table |!= ", "deny db.qu|ery"]
)
def test_word_that_is_no_definition_is_not_renamed(marked: str) -> None:
    assert renamed(marked, "z") is None


def test_text_that_cannot_be_read_is_not_renamed() -> None:
    assert editor_queries.references("policy p v 1\nset x = { a }\nalow fs.read\n", 18) is None


@pytest.mark.parametrize("name", ["a b", "", "1x", "allow", "good", "h", "table", "fs.read", "tenant", "true", "x-y"])
def test_definition_cannot_take_a_wrong_or_taken_name(name: str) -> None:
    assert editor_queries.name_fault(NAMES_EVERYWHERE, name, TOOLS) is not None
    assert editor_queries.name_fault(NAMES_EVERYWHERE, "free_name", TOOLS) is None


def test_server_ends_without_complaint_when_told_to() -> None:
    def framed(message: dict[str, object]) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    talk = [
        {"id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": None, "rootUri": None}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    for words in ([sys.executable, "-m", "policy", "lsp"], [sys.executable, "-m", "hatchway.cli", "policy", "lsp"]):
        spoken = b"".join(map(framed, talk))
        done = subprocess.run(words, input=spoken, capture_output=True, cwd=ROOT, check=False, timeout=60)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr


def with_server(talk: Callable[[Any, list[t.PublishDiagnosticsParams]], Awaitable[None]]) -> None:
    async def session() -> None:
        client = lsp_client.LanguageClient("tests", "v1")
        seen: list[t.PublishDiagnosticsParams] = []
        arrived = asyncio.Event()

        @client.feature(t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: t.PublishDiagnosticsParams) -> None:
            seen.append(params)
            arrived.set()

        client.arrived = arrived
        await client.start_io(sys.executable, "-m", "policy", "lsp", cwd=str(ROOT))
        await client.initialize_async(t.InitializeParams(capabilities=t.ClientCapabilities(), root_uri=ROOT.as_uri()))
        client.initialized(t.InitializedParams())
        await talk(client, seen)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()

    asyncio.run(asyncio.wait_for(session(), 60))


def test_server_serves_an_editing_session() -> None:
    uri = (SAMPLES / "acme.prod.hatch").as_uri()
    document = t.TextDocumentIdentifier(uri)

    def position(marked: str) -> t.Position:
        _, offset = at(SAMPLE, marked)
        before = SAMPLE[:offset]
        return t.Position(before.count("\n"), offset - before.rfind("\n") - 1)

    async def talk(client: Any, seen: list[t.PublishDiagnosticsParams]) -> None:
        client.text_document_did_open(t.DidOpenTextDocumentParams(t.TextDocumentItem(uri, "hatch", 1, SAMPLE)))
        await client.arrived.wait()
        assert all(d.severity == t.DiagnosticSeverity.Warning for d in seen[-1].diagnostics)
        client.arrived.clear()
        broken = SAMPLE.replace("amount <= 500", "amout <= 500")
        change = t.TextDocumentContentChangeWholeDocument(broken)
        client.text_document_did_change(t.DidChangeTextDocumentParams(t.VersionedTextDocumentIdentifier(2, uri), [change]))
        await client.arrived.wait()
        errors = [d for d in seen[-1].diagnostics if d.severity == t.DiagnosticSeverity.Error]
        assert [(d.code, d.range.start.line) for d in errors] == [("HP021", 28)]
        assert "did you mean `amount`?" in errors[0].message
        client.arrived.clear()
        change = t.TextDocumentContentChangeWholeDocument(SAMPLE)
        client.text_document_did_change(t.DidChangeTextDocumentParams(t.VersionedTextDocumentIdentifier(3, uri), [change]))
        await client.arrived.wait()

        hover = await client.text_document_hover_async(t.HoverParams(document, position("allow payments.ref|und")))
        assert "Refund a payment" in hover.contents.value
        items = await client.text_document_completion_async(t.CompletionParams(document, position("and currency == |eur and")))
        assert "eur" in {item.label for item in items}
        place = await client.text_document_definition_async(t.DefinitionParams(document, position("and sen|ior")))
        assert (place.uri, place.range.start) == (uri, t.Position(4, 4))
        edit = await client.text_document_rename_async(t.RenameParams(document, position("and sen|ior"), "elder"))
        assert [e.new_text for e in edit.changes[uri]] == ["elder", "elder"]
        with pytest.raises(JsonRpcException, match="is already the name of something else"):
            await client.text_document_rename_async(t.RenameParams(document, position("and sen|ior"), "partners"))
        options = t.FormattingOptions(2, True)
        (formatted,) = await client.text_document_formatting_async(t.DocumentFormattingParams(document, options))
        assert formatted.new_text.startswith("policy acme.prod v 7")

    with_server(talk)


def test_editor_grammar_knows_every_keyword_of_the_language() -> None:
    grammar = json.loads((ROOT / "policy" / "editor" / "syntaxes" / "hatch.tmLanguage.json").read_text())
    highlighted = json.dumps(grammar["patterns"])
    keywords = set(re.findall(r'"([a-z_]+)"', re.sub(r"//.*", "", grammar_text()))) | {"allow", "ask", "deny", "before", "after"}
    assert {word for word in keywords if not re.search(rf"\b{word}\b", highlighted)} == set()


def test_editor_files_are_json_and_name_each_other() -> None:
    folder = ROOT / "policy" / "editor"
    package = json.loads((folder / "package.json").read_text())
    (language,) = package["contributes"]["languages"]
    (grammar,) = package["contributes"]["grammars"]
    assert language["extensions"] == [".hatch"]
    assert (folder / grammar["path"]).exists()
    json.loads((folder / language["configuration"]).read_text())
