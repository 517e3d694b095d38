"""The language server: diagnostics as you type with quick fixes, hover, completion, definition, references, outline, rename and
formatting. Needs the extra `lsp`."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from lsprotocol import types as t
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from policy.checker import Checked, check
from policy.errors import PolicyError
from policy.lowering.loading import Folder, Replaced
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

_SYMBOLS = {
    "set": t.SymbolKind.Array,
    "let": t.SymbolKind.Boolean,
    "hook": t.SymbolKind.Event,
    "rule": t.SymbolKind.Function,
    "limit": t.SymbolKind.Number,
    "test": t.SymbolKind.Method,
    "claim": t.SymbolKind.Interface,
    "scope": t.SymbolKind.Namespace,
}


def judge(document: TextDocument) -> Checked:
    place = Path(unquote(urlparse(document.uri).path))
    return check(place.name, Replaced(place.name, document.source.encode("utf-8", "replace"), Folder(place.parent)))


class Editor:
    """One editor's session: a handler for each thing it asks, and the catalog of each policy it has open."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._catalogs: dict[str, Catalog] = {}

    def publish(self, params: t.DidOpenTextDocumentParams | t.DidChangeTextDocumentParams) -> None:
        document = self._document(params)
        checked = judge(document)
        self._catalogs[document.uri] = checked.loaded.catalog
        here = checked.program.source.path
        found = [_diagnostic(document, d) for d in checked.diagnostics if d.span is None or d.span.source.path == here]
        self._server.text_document_publish_diagnostics(
            t.PublishDiagnosticsParams(uri=document.uri, diagnostics=found, version=document.version)
        )

    def hover(self, params: t.HoverParams) -> t.Hover | None:
        document = self._document(params)
        found = editor_queries.hover(document.source, document.offset_at_position(params.position), self._catalog(document))
        if found is None:
            return None
        text, place = found
        return t.Hover(t.MarkupContent(t.MarkupKind.Markdown, text), _range(document, place.start, place.end))

    def complete(self, params: t.CompletionParams) -> list[t.CompletionItem]:
        document = self._document(params)
        found = editor_queries.complete(document.source, document.offset_at_position(params.position), self._catalog(document))
        return [t.CompletionItem(label=s.text, kind=_KINDS[s.kind], detail=s.detail) for s in found]

    def define(self, params: t.DefinitionParams) -> t.Location | None:
        document = self._document(params)
        found = editor_queries.word_at(document.source, document.offset_at_position(params.position))
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

    def rename(self, params: t.RenameParams) -> t.WorkspaceEdit | None:
        document = self._document(params)
        found = editor_queries.references(document.source, document.offset_at_position(params.position))
        if found is None:
            return None
        name, places = found
        fault = editor_queries.name_fault(document.source, params.new_name, self._catalog(document))
        if fault is not None and params.new_name != name:
            raise JsonRpcInvalidParams(fault)
        edits = [t.TextEdit(_range(document, *place), params.new_name) for place in places]
        return t.WorkspaceEdit(changes={document.uri: edits})

    def prepare_rename(self, params: t.PrepareRenameParams) -> t.Range | None:
        """The name at a place if it can be renamed."""
        document = self._document(params)
        offset = document.offset_at_position(params.position)
        found = editor_queries.references(document.source, offset)
        here = [place for place in found[1] if place.start <= offset <= place.end] if found is not None else []
        return _range(document, *here[0]) if here else None

    def list_references(self, params: t.ReferenceParams) -> list[t.Location]:
        document = self._document(params)
        found = editor_queries.references(document.source, document.offset_at_position(params.position))
        if found is None:
            return []
        defined = editor_queries.definitions(document.source).get(found[0])
        hidden = defined[1] if defined is not None and not params.context.include_declaration else None
        return [t.Location(document.uri, _range(document, *place)) for place in found[1] if place != hidden]

    def list_symbols(self, params: t.DocumentSymbolParams) -> list[t.DocumentSymbol]:
        document = self._document(params)
        return [
            t.DocumentSymbol(one.name, _SYMBOLS[one.kind], _range(document, *one.place), _range(document, *one.name_place))
            for one in editor_queries.symbols(document.source)
        ]

    def suggest_fixes(self, params: t.CodeActionParams) -> list[t.CodeAction]:
        """A quick fix for each finding in a range whose hint says what to write instead."""
        document = self._document(params)
        checked = judge(document)
        first, last = (document.offset_at_position(place) for place in (params.range.start, params.range.end))
        actions = []
        for finding in checked.diagnostics:
            span, fix = finding.span, editor_queries.find_fix(finding)
            here = span is not None and span.source.path == checked.program.source.path
            if fix is not None and span is not None and here and span.start <= last and first <= span.end:
                edit = t.TextEdit(_range(document, span.start, span.end), fix.text)
                changes = t.WorkspaceEdit(changes={document.uri: [edit]})
                about = [_diagnostic(document, finding)]
                actions.append(t.CodeAction(fix.title, t.CodeActionKind.QuickFix, about, is_preferred=True, edit=changes))
        return actions

    def format(self, params: t.DocumentFormattingParams) -> list[t.TextEdit] | None:
        document = self._document(params)
        try:
            text = format_text(document.source)
        except PolicyError:
            return None
        return [t.TextEdit(_range(document, 0, len(document.source)), text)]

    def _document(self, params: Any) -> TextDocument:
        return self._server.workspace.get_text_document(params.text_document.uri)

    def _catalog(self, document: TextDocument) -> Catalog:
        if document.uri not in self._catalogs:
            self._catalogs[document.uri] = judge(document).loaded.catalog
        return self._catalogs[document.uri]


def make_server() -> LanguageServer:
    server = LanguageServer("hatchway-policy", "v1", text_document_sync_kind=t.TextDocumentSyncKind.Full)
    editor = Editor(server)
    features = (
        (t.TEXT_DOCUMENT_DID_OPEN, editor.publish, None),
        (t.TEXT_DOCUMENT_DID_CHANGE, editor.publish, None),
        (t.TEXT_DOCUMENT_HOVER, editor.hover, None),
        (t.TEXT_DOCUMENT_COMPLETION, editor.complete, t.CompletionOptions(trigger_characters=[".", " ", "{", ","])),
        (t.TEXT_DOCUMENT_DEFINITION, editor.define, None),
        (t.TEXT_DOCUMENT_RENAME, editor.rename, t.RenameOptions(prepare_provider=True)),
        (t.TEXT_DOCUMENT_PREPARE_RENAME, editor.prepare_rename, None),
        (t.TEXT_DOCUMENT_REFERENCES, editor.list_references, None),
        (t.TEXT_DOCUMENT_DOCUMENT_SYMBOL, editor.list_symbols, None),
        (t.TEXT_DOCUMENT_CODE_ACTION, editor.suggest_fixes, t.CodeActionOptions([t.CodeActionKind.QuickFix])),
        (t.TEXT_DOCUMENT_FORMATTING, editor.format, None),
    )
    for name, handle, options in features:
        server.feature(name, options)(partial(handle))  # it marks what it is given, and methods cannot be marked
    return server


def _diagnostic(document: TextDocument, finding: Diagnostic) -> t.Diagnostic:
    span = finding.span or Span(Source("", document.source), 0, 0)
    message = "\n".join([finding.message, *finding.notes, *([f"hint: {finding.hint}"] if finding.hint else [])])
    severity = t.DiagnosticSeverity.Error if finding.severity == "error" else t.DiagnosticSeverity.Warning
    where = _range(document, span.start, max(span.end, span.start + 1))
    return t.Diagnostic(range=where, message=message, severity=severity, code=finding.code, source="hatchway policy")


def _range(document: TextDocument, start: int, end: int) -> t.Range:
    return t.Range(document.client_position_at_offset(start), document.client_position_at_offset(end))


def serve() -> None:
    """Serve one editor over standard input and output until it leaves."""
    # The server closes the streams it is given; the program's own stay open for its last words.
    with os.fdopen(os.dup(0), "rb") as incoming, os.fdopen(os.dup(1), "wb") as outgoing:
        make_server().start_io(incoming, outgoing)
