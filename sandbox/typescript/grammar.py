"""Reads TypeScript with tree-sitter so that the tree says what TypeScript means.

Purpose: the grammar lacks a few things the language has (a carriage return as the end of a line, long names after `as`, type
arguments of template tags and of imported types, `in` and `out`, members that start with `<`, assertions in what is assigned to).
Where parsing fails, they are replaced in a copy of the text of the same length, so every offset stays true.

Rules: only the copy changes; who uses the tree reads words from the original. Does not know what is done with the tree.
"""

from __future__ import annotations

import functools
import re
from typing import Final

import tree_sitter_typescript
from tree_sitter import Language, Parser, Tree

MAX_ARGUMENTS_BYTES: Final = 10_000

_MEMBER_ON_NEW_LINE: Final = re.compile(
    rb"((?:[\w\])}'\"]|(?<!=)>)[ \t\r]*)\n(?=(?:\s|/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*\n)*<[A-Za-z_$\s])"
)
_IMPORTED_TYPE: Final = re.compile(rb"\bimport\s*\(\s*(?:'[^'\n]*'|\"[^\"\n]*\")\s*\)(?:\.[\w$]+)+(?=\s*<)")
_ASSERTED_TARGET: Final = re.compile(rb"[\[{,:]\s*[\w$.]+ +(as +[\w$.]+(?:<[^<>\n]*>)?(?:\[\])*)(?=\s*[,\]}])")
_SPECIFIERS: Final = re.compile(rb"\b(?:import|export)\b[^;'\"]*\Z")
_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")
_LONG_NAME: Final = re.compile(rb"\b(?:as|satisfies)\s+[\w$]+\.[\w$]+(\.[\w$.]+)")
_VARIANCE: Final = re.compile(rb"(?:(?<=[<,])|(?<=\*/))\s*(?:in\s+out|in|out)\s+(?=[A-Za-z_$])")


def read(text: bytes, is_jsx: bool = False) -> Tree:
    """The tree of a program; it has errors when the program has. JSX is looked for where all else fails."""
    joined = _join_names(_LONE_RETURN.sub(b"\n", text) if b"\r" in text else text)
    dialects = ("tsx",) if is_jsx else ("typescript", "tsx") if b"<" in text else ("typescript",)
    trees = []
    for dialect in dialects:
        for simplify in (bytes, _simplify, _simplify_targets):
            tree = _parser(dialect).parse(simplify(joined))
            if not tree.root_node.has_error:
                return tree
        trees.append(tree)
    return trees[0]


@functools.cache
def _parser(dialect: str) -> Parser:
    grammar = tree_sitter_typescript.language_tsx() if dialect == "tsx" else tree_sitter_typescript.language_typescript()
    return Parser(Language(grammar))


def _join_names(text: bytes) -> bytes:
    """A text of the same length in which `x as A.B.C` is `x as A.B_C`: the grammar ends such a type at the second name."""
    joined = bytearray(text)
    for name in _LONG_NAME.finditer(text):
        joined[name.start(1) : name.end(1)] = name[1].replace(b".", b"_")
    return bytes(joined)


def _simplify(text: bytes) -> bytes:
    """A text of the same length without what the grammar does not know: type arguments of template tags, members of object
    types that start with `<` on a line of their own, `in` and `out` before type parameters, and type arguments of
    types that are imported where they stand."""
    easier = bytearray(_MEMBER_ON_NEW_LINE.sub(lambda m: m[1] + b";", text))
    for imported in _IMPORTED_TYPE.finditer(text):
        easier[imported.start() : imported.end()] = b"i" * (imported.end() - imported.start())
    for modifier in _VARIANCE.finditer(text):
        easier[modifier.start() : modifier.end()] = b" " * (modifier.end() - modifier.start())
    for quote in re.finditer(rb">`", text):
        start = start_of_arguments(text, quote.start())
        if start is not None:
            easier[start : quote.end() - 1] = b" " * (quote.end() - 1 - start)
    return bytes(easier)


def _simplify_targets(text: bytes) -> bytes:
    """Also without assertions inside of what is assigned to, `[a as any, b] = c`, which the grammar does not know: each of their
    characters becomes a `!`, which it knows and which is blanked like them."""
    easier = bytearray(_simplify(text))
    for assertion in _ASSERTED_TARGET.finditer(text):
        if not _SPECIFIERS.search(text, max(0, assertion.start() - MAX_ARGUMENTS_BYTES), assertion.start()):
            easier[assertion.start(1) : assertion.end(1)] = b"!" * (assertion.end(1) - assertion.start(1))
    return bytes(easier)


def start_of_arguments(text: bytes, end: int) -> int | None:
    """The `<` that matches the `>` at `end`, when a name stands right before it."""
    depth = 0
    for at in range(end, max(end - MAX_ARGUMENTS_BYTES, 0), -1):
        if text[at] == ord(">") and text[at - 1] != ord("="):
            depth += 1
        elif text[at] == ord("<"):
            depth -= 1
            if depth == 0:
                return at if text[at - 1 : at].isalnum() or text[at - 1] in b"_$)]" else None
    return None
