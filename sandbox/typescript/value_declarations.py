"""Compiles the declarations of TypeScript that have a value at run time: enums, namespaces, parameter properties, `import =` and
`export =`.

Rules: what a declaration becomes stands where it stood, line by line. An enum and a namespace are a `var` that a function fills,
so that a later program of the session, or a second declaration, finds it. Exports of a namespace that can change are accessors
of its object (`$typescript.share`), so that nothing that uses them must be rewritten; what another declaration of the same
namespace exports is only found under the namespace's name. Does not know: types, other files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from sandbox.languages import LANGUAGES, Language
from sandbox.typescript.editor import Editor

NAMESPACES: Final = ("internal_module", "module")
PROPERTY_MODIFIERS: Final = ("accessibility_modifier", "override_modifier", "readonly")
_CLASSES: Final = ("class_declaration", "abstract_class_declaration")
_FUNCTIONS: Final = ("function_declaration", "generator_function_declaration")
_VARIABLES: Final = ("lexical_declaration", "variable_declaration")
_KEYWORDS: Final = LANGUAGES[Language.TYPESCRIPT].reserved
_WITH_DEFAULT: Final = ("assignment_pattern", "object_assignment_pattern")
_NAMES: Final = ("identifier", "shorthand_property_identifier_pattern")


class Declarations:
    """Writes into the edits of the text that `editor` has."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self._seen: set[str] = set()

    def _find_declared(self, name: str) -> str:
        """What a declaration adds to: the value that this source has given the name, not one of an earlier program."""
        is_new = name not in self._seen and name not in self._names_around(_FUNCTIONS)
        self._seen.add(name)
        return "{}" if is_new else f"{name} || {{}}"

    # Enums

    def enum(self, node: Node) -> bool:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return True
        enum = self.editor.read(name)
        for child in node.children:
            if child.type == "const":
                self.editor.blank_node(child)
            elif child.type == "enum":
                self.editor.replace(child, "var")
        self.editor.insert(name.end_byte, f" = (({enum}) =>")
        before: str | None = None
        for member in body.named_children:
            if member.type != "comment":
                before = self._member(enum, member, before)
        for child in body.children:
            if child.type == ",":
                self.editor.replace(child, ";")
        self._close(body, enum, self._find_declared(enum))
        return True

    def _member(self, enum: str, member: Node, before: str | None) -> str:
        """Write one member, whose value is the one before plus one unless it is said. Returns its key."""
        name, value = member, None
        if member.type == "enum_assignment":
            name, value = member.child_by_field_name("name") or member, member.child_by_field_name("value")
        word = self.editor.read(name)
        is_plain = name.type == "property_identifier"
        key = json.dumps(word) if is_plain else word.removeprefix("[").removesuffix("]")
        declared = f"const {word} = " if is_plain and word not in _KEYWORDS and word != enum else ""
        start = f"{declared}$typescript.member({enum}, {key}, "
        if value is None:
            following = "0" if before is None else f"{enum}[{before}] + 1"
            self.editor.replace(name, f"{start}{following})")
        else:
            self.editor.insert(name.start_byte, start)
            self.editor.blank(name.start_byte, value.start_byte)
            self.editor.close(value, ")")
        return key

    # Namespaces

    def namespace(self, node: Node) -> bool:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return True
        names = [part.strip() for part in self.editor.read(name).split(".")]
        first = names[0]
        around = self._find_exporting_namespace()
        joins_class = first in self._names_around(_CLASSES)
        found = first if joins_class else f"{first} || {around}.{first} || {{}}" if around else self._find_declared(first)
        opening = f";(({first}) =>" if joins_class else f"var {first} = (({first}) =>"
        self.editor.insert(node.start_byte, opening)
        self.editor.blank(node.start_byte, body.start_byte)
        outer = first
        for inner in names[1:]:
            self.editor.insert(body.start_byte, f" {{ {outer}.{inner} = (({inner}) =>")
            outer = inner
        ends = ""
        for owner, inner in zip(names[-2::-1], names[:0:-1], strict=True):
            ends += f")({owner}.{inner} || {{}}); return {owner} }}"
        self._close(body, outer, found, ends, f" {around}.{first} = {first};" if around else "")
        return True

    def _close(self, body: Node, value: str, argument: str, inside: str = "", after: str = "") -> None:
        self.editor.insert(body.end_byte - 1, f"; return {value} ")
        self.editor.close(body, f"{inside})({argument});{after}")

    def _find_exporting_namespace(self) -> str | None:
        """The namespace that exports what is visited, if one does."""
        path = self.editor.path
        if path and path[-1].type == "export_statement":
            return self.owner(path[:-1])
        return None

    def owner(self, path: list[Node]) -> str | None:
        """The innermost name of the namespace whose body is the last of `path`."""
        if len(path) >= 2 and path[-1].type == "statement_block" and path[-2].type in NAMESPACES:
            name = path[-2].child_by_field_name("name")
            return self.editor.read(name).split(".")[-1].strip() if name is not None else None
        return None

    def _names_around(self, kinds: tuple[str, ...]) -> set[str]:
        """The names of the declarations next to what is visited. A namespace adds to a class or a function of its name."""
        path = self.editor.path
        skipped = 2 if path and path[-1].type in ("export_statement", "expression_statement") else 1
        found = set()
        for sibling in path[-skipped].named_children if len(path) >= skipped else ():
            declared = sibling.child_by_field_name("declaration") if sibling.type == "export_statement" else sibling
            if declared is not None and declared.type in kinds and (name := declared.child_by_field_name("name")) is not None:
                found.add(self.editor.read(name))
        return found

    def export_from_namespace(self, node: Node, owner: str) -> bool:
        """`export` inside of a namespace: the declaration stays, and its names become properties of the namespace."""
        self.editor.blank_node(node.children[0])
        declared = node.child_by_field_name("declaration")
        if declared is None or declared.type in NAMESPACES:
            return True
        names = [self.editor.read(name) for name in _list_declared_names(declared)]
        if declared.type in _FUNCTIONS:
            body = self.editor.path[-1]
            self.editor.insert(body.start_byte + 1, "".join(f" {owner}.{name} = {name};" for name in names))
        elif declared.type in _VARIABLES and declared.children[0].type != "const":
            shared = (f" $typescript.share({owner}, '{n}', () => {n}, ($value) => {n} = $value);" for n in names)
            self.editor.close(node, ";" + "".join(shared))
        else:
            self.editor.close(node, ";" + "".join(f" {owner}.{name} = {name};" for name in names))
        return True

    # Parameter properties

    def constructor(self, node: Node) -> bool:
        """Assign the parameters that are properties, after the call of `super` where there is one."""
        parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        if parameters is None or body is None:
            return True
        names = [
            self.editor.read(pattern)
            for parameter in parameters.named_children
            if any(child.type in PROPERTY_MODIFIERS for child in parameter.children)
            and (pattern := parameter.child_by_field_name("pattern")) is not None
        ]
        if names:
            at = next((s.end_byte for s in body.named_children if _calls_super(s)), body.start_byte + 1)
            self.editor.insert(at, ";" * (at > body.start_byte + 1) + "".join(f" this.{name} = {name};" for name in names))
            if node.parent is not None and node.parent.type == "class_body":  # they are its first fields
                self.editor.insert(node.parent.start_byte + 1, "".join(f" {name};" for name in names))
        return True

    # Imports and exports

    def import_equals(self, node: Node) -> bool:
        """`import x = require('y')` and `import A = B.C` are constants."""
        self.editor.replace(node.children[0], "const")
        return False

    def export_equals(self, node: Node) -> bool:
        self.editor.replace(node.children[0], "module.exports")
        return True


def _list_declared_names(declared: Node) -> Iterator[Node]:
    name = declared.child_by_field_name("name")
    if name is not None:
        yield name
    elif declared.type == "import_alias":
        yield declared.named_children[0]
    waiting = [v.child_by_field_name("name") for v in declared.named_children if v.type == "variable_declarator"][::-1]
    while waiting:
        pattern = waiting.pop()
        if pattern is None:
            continue
        if pattern.type in _WITH_DEFAULT:
            waiting.append(pattern.child_by_field_name("left"))
        elif pattern.type in _NAMES:
            yield pattern
        elif pattern.type == "pair_pattern":
            waiting.append(pattern.child_by_field_name("value"))
        else:
            waiting += pattern.named_children[::-1]


def _calls_super(statement: Node) -> bool:
    call = statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else None
    function = call.child_by_field_name("function") if call is not None and call.type == "call_expression" else None
    return function is not None and function.type == "super"
