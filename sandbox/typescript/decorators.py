"""Compiles decorators into calls of `$typescript`, which the guest has.

Rules: decorators are those of the standard. A source that decorates parameters, or says `PropertyDescriptor`, `propertyKey` or
`reflect-metadata`, was written for TypeScript's `experimentalDecorators` and gets those. The expression of a decorator stays
where it stands: for a member as a static part of the class before it, for a class as a statement before it. Fields with an
experimental decorator are assigned, not defined, as TypeScript does for such sources. Metadata of types is not emitted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from tree_sitter import Node

from sandbox.typescript.editor import Editor

_EXPERIMENTAL: Final = re.compile(rb"\b(?:Typed)?PropertyDescriptor\b|\bpropertyKey\b|\breflect-metadata\b")
_STANDARD: Final = re.compile(rb"DecoratorContext\b")
_MEMBERS: Final = ("method_definition", "public_field_definition")
_EXPRESSION: Final = ("decorators of a class expression are not supported", "give the class a declaration of its own")
_PRIVATE: Final = ("decorators of private methods are not supported", "decorate a public method that calls it")


class Decorators:
    """Writes into the edits of the text that `editor` has."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.is_experimental = bool(_EXPERIMENTAL.search(editor.text)) and not _STANDARD.search(editor.text)

    def expression(self, node: Node) -> bool:
        """`class` in an expression."""
        decorators = [child for child in node.children if child.type == "decorator"]
        return self.editor.refuse(decorators[0], *_EXPRESSION) if decorators else True

    def declaration(self, node: Node) -> bool:
        """A class: what decorates it is held until it is there."""
        name = node.child_by_field_name("name")
        exported = self.editor.path[-1] if self.editor.path and self.editor.path[-1].type == "export_statement" else None
        inside = [child for child in node.children if child.type == "decorator"]
        decorators = [child for child in exported.children if child.type == "decorator"] + inside if exported else inside
        if not decorators or name is None:
            return True
        class_name = self.editor.read(name)
        self._list(decorators, ";$typescript.hold([", "]);")
        after = f" {class_name} = $typescript.decorateClass({class_name});"
        if exported is not None and inside:
            is_default = any(child.type == "default" for child in exported.children)
            self.editor.blank_tokens(exported, "export", "default")
            after += f" export {{ {class_name}{' as default' if is_default else ''} }};"
        self.editor.close(node, after)
        return True

    def body(self, node: Node) -> bool:
        """The members of a class. Those of methods stand before them, those of fields are a part of them."""
        parent = self.editor.path[-1].child_by_field_name("name") if self.editor.path else None
        waiting: list[Node] = []
        for child in node.children:
            if child.type == "decorator":
                waiting.append(child)
            elif child.type in _MEMBERS:
                decorators = waiting + [inner for inner in child.children if inner.type == "decorator"]
                parameters = _list_decorated_parameters(child)
                if decorators or parameters:
                    self._member(child, decorators, parameters, self.editor.read(parent) if parent is not None else None)
                waiting = []
        return True

    def _member(
        self, node: Node, decorators: Sequence[Node], parameters: Sequence[tuple[int, Node]], class_name: str | None
    ) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        if class_name is None:
            self.editor.refuse(decorators[0] if decorators else parameters[0][1], *_EXPRESSION)
        elif name.type == "private_property_identifier" and node.type == "method_definition":
            self.editor.refuse(node, *_PRIVATE)
        elif self.is_experimental or parameters:
            self._experimental(node, name, decorators, parameters)
        else:
            self._standard(node, name, decorators, class_name)

    def _standard(self, node: Node, name: Node, decorators: Sequence[Node], class_name: str) -> None:
        made, is_static = self.editor.new_name(), _has(node, "static")
        kind = "field" if node.type == "public_field_definition" else next((k for k in ("get", "set") if _has(node, k)), "method")
        opening = f" static {made} = $typescript.decorate(this, {self._key(name)}, '{kind}', {json.dumps(is_static)}, ["
        starting = f" {'static ' * is_static}{self.editor.new_name()} = {class_name}.{made}.start(this);"
        self._list(decorators, opening, "]);" + starting)
        if kind == "field":
            value = node.child_by_field_name("value")
            if value is not None:
                self.editor.wrap(value, f"{class_name}.{made}.initialize(this, ", ")")
            else:
                self.editor.close(node, f" = {class_name}.{made}.initialize(this)")

    def _experimental(self, node: Node, name: Node, decorators: Sequence[Node], parameters: Sequence[tuple[int, Node]]) -> None:
        is_static = _has(node, "static")
        opening = f" static {{ $typescript.decorateExperimentally(this, {self._key(name)}, {json.dumps(is_static)}, ["
        moved = ""
        for index, decorator in parameters:
            moved += f"$typescript.parameter({index}, {self.editor.read(decorator)[1:]}), "
            self.editor.blank_node(decorator)
        if decorators:
            self._list(decorators, opening + moved, "]); }")
        else:
            self.editor.insert(node.start_byte, f"{opening}{moved}]); }} ")
        if node.type == "public_field_definition" and name.type == "property_identifier":
            if node.child_by_field_name("value") is not None:
                self.editor.insert(name.start_byte, f"{self.editor.new_name()} = this.")
            else:
                start = decorators[-1].end_byte
                self.editor.blank(start, node.end_byte)

    def _list(self, decorators: Sequence[Node], opening: str, closing: str) -> None:
        """Make a list of their expressions, where they stand."""
        for index, decorator in enumerate(decorators):
            self.editor.insert(decorator.start_byte, ", " if index else opening)
            self.editor.blank(decorator.start_byte, decorator.start_byte + 1)
        self.editor.close(decorators[-1], closing)

    def _key(self, name: Node) -> str:
        text = self.editor.read(name)
        if name.type == "computed_property_name":
            return text[1:-1]
        return json.dumps(text) if name.type in ("property_identifier", "private_property_identifier") else text


def _list_decorated_parameters(member: Node) -> list[tuple[int, Node]]:
    parameters = member.child_by_field_name("parameters")
    if parameters is None:
        return []
    listed = [child for child in parameters.named_children if child.type in ("required_parameter", "optional_parameter")]
    return [(i, inner) for i, child in enumerate(listed) for inner in child.children if inner.type == "decorator"]


def _has(node: Node, token: str) -> bool:
    return any(child.type == token for child in node.children)
