"""Reads TypeScript with tree-sitter so that the tree says what TypeScript means.

Purpose: the grammar lacks a few things the language has (a carriage return as the end of a line, long names after `as`, type
arguments of template tags, `in` and `out`, members that start with `<`). Before parsing, they are replaced in a copy of the text
of the same length, so every offset stays true.

Rules: only the copy changes; who uses the tree reads words from the original. Does not know what is done with the tree.
"""

from __future__ import annotations

import functools
import re
from typing import Final

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser, Tree

MAX_ARGUMENTS_BYTES: Final = 10_000

_MEMBER_ON_NEW_LINE: Final = re.compile(
    rb"((?:[\w\])}'\"]|(?<!=)>)[ \t\r]*)\n(?=(?:\s|/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*\n)*<[A-Za-z_$\s])"
)
_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")
_LONG_NAME: Final = re.compile(rb"\b(?:as|satisfies)\s+[\w$]+\.[\w$]+(\.[\w$.]+)")
_VARIANCE: Final = re.compile(rb"(?:(?<=[<,])|(?<=\*/))\s*(?:in\s+out|in|out)\s+(?=[A-Za-z_$])")


def read(text: bytes) -> Tree:
    """The tree of a program; it has errors when the program has."""
    joined = _join_names(_LONE_RETURN.sub(b"\n", text) if b"\r" in text else text)
    tree = _parser("typescript").parse(joined)
    return _parser("typescript").parse(_simplify(joined)) if tree.root_node.has_error else tree


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
    types that start with `<` on a line of their own, and `in` and `out` before type parameters."""
    easier = bytearray(_MEMBER_ON_NEW_LINE.sub(lambda m: m[1] + b";", text))
    for modifier in _VARIANCE.finditer(text):
        easier[modifier.start() : modifier.end()] = b" " * (modifier.end() - modifier.start())
    for quote in re.finditer(rb">`", text):
        start = start_of_arguments(text, quote.start())
        if start is not None:
            easier[start : quote.end() - 1] = b" " * (quote.end() - 1 - start)
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


def find_jsx(text: bytes) -> Node | None:
    """The first JSX element, when the text parses without errors as TSX."""
    tree = _parser("tsx").parse(text)
    if tree.root_node.has_error:
        return None
    cursor = tree.walk()
    while True:
        node = cursor.node
        if node is not None and node.type in ("jsx_element", "jsx_self_closing_element"):
            return node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return None
