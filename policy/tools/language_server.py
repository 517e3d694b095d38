"""The language server: diagnostics as you type, hover, completion, definition, rename, formatting.

Rules: a thin layer over `checker`, `assistance` and `formatter`; positions are translated here and nowhere else.
Importing this file needs the optional extra `lsp` (pygls).
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from lsprotocol import types as t
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from policy.checker import Checked, check
from policy.errors import PolicyError
from policy.lowering.loading import Folder
from policy.model.catalog import Catalog
from policy.syntax.formatter import format_text
from policy.text.diagnostics import Diagnostic
from policy.text.sources import Source, Span
from policy.tools import editor_queries

_KINDS = {
    "keyword": t.CompletionItemKind.Keyword,
    "capability": t.CompletionItemKind.Function,
    "field": t.CompletionItemKind.Field,
    "value": t.CompletionItemKind.EnumMember,
    "definition": t.CompletionItemKind.Variable,
}


class Unsaved:
    """A folder in which one file has the text the editor shows."""

    def __init__(self, name: str, text: str, folder: Path) -> None:
        self._name, self._text, self._folder = name, text, Folder(folder)

    def read(self, path: str) -> bytes | None:
        return self._text.encode("utf-8", "replace") if path == self._name else self._folder.read(path)


def judge(document: TextDocument) -> Checked:
    place = Path(unquote(urlparse(document.uri).path))
    return check(place.name, Unsaved(place.name, document.source, place.parent))


def make_server() -> LanguageServer:
    server = LanguageServer("hatchway-policy", "v1", text_document_sync_kind=t.TextDocumentSyncKind.Full)
    catalogs: dict[str, Catalog] = {}

    def publish(uri: str) -> None:
        document = server.workspace.get_text_document(uri)
        checked = judge(document)
        catalogs[uri] = checked.loaded.catalog
        found = [
            _diagnostic(document, d)
            for d in checked.diagnostics
            if d.span is None or d.span.source.path == checked.program.source.path
        ]
        server.text_document_publish_diagnostics(t.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=document.version))

    def _diagnostic(document: TextDocument, finding: Diagnostic) -> t.Diagnostic:
        span = finding.span or Span(Source("", document.source), 0, 0)
        message = "\n".join([finding.message, *finding.notes, *([f"hint: {finding.hint}"] if finding.hint else [])])
        severity = t.DiagnosticSeverity.Error if finding.severity == "error" else t.DiagnosticSeverity.Warning
        where = _range(document, span.start, max(span.end, span.start + 1))
        return t.Diagnostic(range=where, message=message, severity=severity, code=finding.code, source="hatchway policy")

    def catalog_of(uri: str) -> Catalog:
        if uri not in catalogs:
            catalogs[uri] = judge(server.workspace.get_text_document(uri)).loaded.catalog
        return catalogs[uri]

    @server.feature(t.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: t.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(t.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: t.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(t.TEXT_DOCUMENT_HOVER)
    def hover(params: t.HoverParams) -> t.Hover | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        found = editor_queries.hover(document.source, _offset(document, params.position), catalog_of(document.uri))
        if found is None:
            return None
        text, place = found
        return t.Hover(t.MarkupContent(t.MarkupKind.Markdown, text), _range(document, place.start, place.end))

    @server.feature(t.TEXT_DOCUMENT_COMPLETION, t.CompletionOptions(trigger_characters=[".", " ", "{", ","]))
    def completion(params: t.CompletionParams) -> list[t.CompletionItem]:
        document = server.workspace.get_text_document(params.text_document.uri)
        found = editor_queries.complete(document.source, _offset(document, params.position), catalog_of(document.uri))
        return [t.CompletionItem(label=s.text, kind=_KINDS[s.kind], detail=s.detail) for s in found]

    @server.feature(t.TEXT_DOCUMENT_DEFINITION)
    def definition(params: t.DefinitionParams) -> t.Location | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        found = editor_queries.word_at(document.source, _offset(document, params.position))
        if found is None:
            return None
        for unit in judge(document).loaded.units:
            known = editor_queries.definitions(unit.source.text).get(found[0])
            if known is not None:
                folder = Path(unquote(urlparse(document.uri).path)).parent
                here = unit.source.text == document.source
                other = document if here else TextDocument((folder / unit.path).as_uri(), unit.source.text)
                return t.Location(other.uri, _range(other, known[1].start, known[1].end))
        return None

    @server.feature(t.TEXT_DOCUMENT_RENAME)
    def rename(params: t.RenameParams) -> t.WorkspaceEdit | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        found = editor_queries.references(document.source, _offset(document, params.position))
        if found is None:
            return None
        name, places = found
        fault = editor_queries.name_fault(document.source, params.new_name, catalog_of(document.uri))
        if fault is not None and params.new_name != name:
            raise JsonRpcInvalidParams(fault)
        return t.WorkspaceEdit(
            changes={document.uri: [t.TextEdit(_range(document, *place), params.new_name) for place in places]}
        )

    @server.feature(t.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: t.DocumentFormattingParams) -> list[t.TextEdit] | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        try:
            text = format_text(document.source)
        except PolicyError:
            return None
        return [t.TextEdit(_range(document, 0, len(document.source)), text)]

    return server


def _offset(document: TextDocument, position: t.Position) -> int:
    return int(document.offset_at_position(position))


def _range(document: TextDocument, start: int, end: int) -> t.Range:
    return t.Range(_position(document, start), _position(document, end))


def _position(document: TextDocument, offset: int) -> t.Position:
    return document.client_position_at_offset(offset)


def serve() -> None:
    """Serve one editor over standard input and output until it leaves."""
    # The server closes the streams it is given; the program's own stay open for its last words.
    with os.fdopen(os.dup(0), "rb") as incoming, os.fdopen(os.dup(1), "wb") as outgoing:
        make_server().start_io(incoming, outgoing)
