"""The language server, driven like an editor drives it, and the editor files."""

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
from lsprotocol import types as t
from pygls.exceptions import JsonRpcException

from policy.syntax.parser import grammar_text
from tests.policy.policy_texts import SAMPLE, SAMPLES

lsp_client = pytest.importorskip("pygls.lsp.client")


ROOT = Path(__file__).parents[3]


def at(text: str, marked: str) -> tuple[str, int]:
    """Replace the first occurrence of `marked` without its `|`, and return the offset of the bar."""
    plain = marked.replace("|", "")
    assert plain in text
    return text, text.index(plain) + marked.index("|")


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
        asked = t.CodeActionParams(document, errors[0].range, t.CodeActionContext([]))
        (action,) = await client.text_document_code_action_async(asked)
        (repair,) = action.edit.changes[uri]
        assert (action.title, repair.new_text, repair.range) == ("write amount", "amount", errors[0].range)
        elsewhere = t.CodeActionParams(document, t.Range(t.Position(0, 0), t.Position(1, 0)), t.CodeActionContext([]))
        assert not await client.text_document_code_action_async(elsewhere)
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
        context = t.ReferenceContext(include_declaration=True)
        uses = await client.text_document_references_async(t.ReferenceParams(context, document, position("and sen|ior")))
        assert [use.range.start.line for use in uses] == [4, 31]
        context = t.ReferenceContext(include_declaration=False)
        uses = await client.text_document_references_async(t.ReferenceParams(context, document, position("and sen|ior")))
        assert [use.range.start.line for use in uses] == [31]
        prepared = await client.text_document_prepare_rename_async(t.PrepareRenameParams(document, position("and sen|ior")))
        assert (prepared.start.line, prepared.end.character - prepared.start.character) == (31, len("senior"))
        assert await client.text_document_prepare_rename_async(t.PrepareRenameParams(document, position("and cur|rency"))) is None
        outline = await client.text_document_document_symbol_async(t.DocumentSymbolParams(document))
        assert {"partners", "senior", "allow run", "limit run", "redact", "prove no run", "the refund ladder"} <= {
            one.name for one in outline
        }
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
