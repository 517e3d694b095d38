"""Compiles JSX into calls of `React.createElement`, or of what the source's own `@jsx` comment names.

Rules: an element's expressions stay where they are; its tags become the call around them. Text is trimmed as JSX says: lines are
joined by a space, and empty ones are left out. Does not know: what the function is; the guest has a small `React` of its own.
"""

from __future__ import annotations

import html
import json
import re
from typing import Final

from tree_sitter import Node

from sandbox.typescript.editor import Editor

_ELEMENTS: Final = ("jsx_element", "jsx_self_closing_element")
_TEXTS: Final = ("jsx_text", "html_character_reference")
_FACTORY: Final = re.compile(rb"@jsx\s+([\w$.]+)")
_FRAGMENT: Final = re.compile(rb"@jsxFrag\s+([\w$.]+)")


class Jsx:
    """Writes into the edits of the text that `editor` has."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        factory, fragment = _FACTORY.search(editor.text), _FRAGMENT.search(editor.text)
        self.factory = factory[1].decode() if factory else "React.createElement"
        self.fragment = fragment[1].decode() if fragment else "React.Fragment"

    def self_closing(self, node: Node) -> bool:
        self._open(node)
        self.editor.close(node, ")")
        return True

    def element(self, node: Node) -> bool:
        opening, closing = node.child_by_field_name("open_tag"), node.child_by_field_name("close_tag")
        if opening is None or closing is None:
            return True
        self._open(opening)
        self._children([child for child in node.children if child not in (opening, closing)])
        self.editor.replace(closing, ")")
        return True

    def closing(self, node: Node) -> bool:
        """Its name is that of the opening tag."""
        return False

    def _open(self, tag: Node) -> None:
        name = tag.child_by_field_name("name")
        attributes = tag.children_by_field_name("attribute")
        ends = [child for child in tag.children if child.type in (">", "/>")]
        shown = self.fragment if name is None else self._name(name)
        self.editor.insert(tag.start_byte, f"{self.factory}({shown}, {'{' if attributes else 'null'}")
        self.editor.blank(tag.start_byte, tag.start_byte + 1 if name is None else name.end_byte)
        for attribute in attributes:
            self._attribute(attribute)
        if attributes:
            self.editor.insert(ends[-1].start_byte, "}")
        self.editor.blank(ends[0].start_byte, tag.end_byte)

    def _name(self, name: Node) -> str:
        """Tags of HTML are text: those in small letters, and names with a dash or a colon."""
        text = self.editor.read(name)
        is_text = name.type == "jsx_namespace_name" or "-" in text or ("." not in text and text[0].islower())
        return json.dumps(text) if is_text else text

    def _attribute(self, node: Node) -> None:
        if node.type == "jsx_expression":
            self._expression(node, "")
        else:
            name = node.named_children[0]
            value = node.named_children[1] if len(node.named_children) > 1 else None
            key = f" {json.dumps(self.editor.read(name))}: "
            self.editor.insert(node.start_byte, f"{key}true" if value is None else key)
            self.editor.blank(node.start_byte, node.end_byte if value is None else value.start_byte)
            if value is not None and value.type == "string":
                self.editor.replace(value, json.dumps(html.unescape(self.editor.read(value)[1:-1])))
            elif value is not None and value.type == "jsx_expression":
                self._expression(value, "")
        self.editor.close(node, ",")

    def _expression(self, node: Node, before: str) -> None:
        """`{x}` is x; `{...xs}` are many. A comment in braces is nothing."""
        if all(child.type in ("{", "}", "comment") for child in node.children):
            self.editor.blank_node(node)
            return
        self.editor.insert(node.start_byte, before)
        self.editor.blank(node.start_byte, node.start_byte + 1)
        self.editor.blank(node.end_byte - 1, node.end_byte)

    def _children(self, children: list[Node]) -> None:
        at = 0
        while at < len(children):
            child = children[at]
            run = at
            while run < len(children) and children[run].type in _TEXTS:
                run += 1
            if run > at:
                self._text(children[at:run])
                at = run
                continue
            if child.type == "jsx_expression":
                self._expression(child, ", ")
            elif child.type in _ELEMENTS:
                self.editor.insert(child.start_byte, ", ")
            at += 1

    def _text(self, nodes: list[Node]) -> None:
        source = self.editor.text[nodes[0].start_byte : nodes[-1].end_byte].decode("utf-8")
        lines = source.split("\n")
        kept = [line.lstrip(" \t\r") if index else line for index, line in enumerate(lines)]
        kept = [line.rstrip(" \t\r") if index < len(kept) - 1 else line for index, line in enumerate(kept)]
        text = " ".join(line for line in kept if line)
        if text:
            self.editor.insert(nodes[0].start_byte, f", {json.dumps(html.unescape(text))}")
        self.editor.blank(nodes[0].start_byte, nodes[-1].end_byte)
