"""Finds what to blank in the tree of a TypeScript program, and has the rest of what JavaScript lacks compiled.

Purpose: `Eraser(text).walk(tree)` collects `blanks`, `inserts` and `diagnostics` in one pass.

Rules: one visitor per kind of node; a visitor returns whether the children are to be visited. No recursion: the tree is
walked with a cursor. Offsets are bytes of the original text. Does not know how edits are applied or where programs come from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from tree_sitter import Node, Tree

from sandbox.typescript.decorators import Decorators
from sandbox.typescript.editor import Editor
from sandbox.typescript.edits import LINE_ENDS
from sandbox.typescript.grammar import start_of_arguments
from sandbox.typescript.jsx import Jsx
from sandbox.typescript.value_declarations import NAMESPACES, PROPERTY_MODIFIERS, Declarations

MAX_TREE_DEPTH: Final = 2_000
MAX_DIAGNOSTICS: Final = 20

_BEGINNINGS: Final = frozenset({"let", "const", "var", "function", "class", "interface", "type", "enum", "import", "export"})
"""A statement of one line that begins like this and is not understood at the end of the source has not ended."""

#: Nodes that are types and nothing else wherever they stand.
_TYPES: Final = frozenset(
    {
        "type_annotation",
        "type_predicate_annotation",
        "asserts_annotation",
        "omitting_type_annotation",
        "adding_type_annotation",
        "opting_type_annotation",
        "type_arguments",
        "implements_clause",
    }
)
#: Statements and class members that leave nothing behind but a semicolon.
_TYPE_STATEMENTS: Final = frozenset(
    {
        "interface_declaration",
        "type_alias_declaration",
        "ambient_declaration",
        "function_signature",
        "method_signature",
        "abstract_method_signature",
        "index_signature",
    }
)
_VALUES: Final = frozenset({"identifier", "shorthand_property_identifier"})
_NOTHING: Final = frozenset({"comment", "empty_statement"})
#: Statements that end where their last expression ends when the author left the semicolon out.
_CLOSED_BY_NEWLINE: Final = frozenset(
    {
        "expression_statement",
        "variable_declaration",
        "lexical_declaration",
        "return_statement",
        "throw_statement",
        "public_field_definition",
        "export_statement",
    }
)
_MODIFIERS: Final = frozenset({"accessibility_modifier", "override_modifier", "readonly", "declare", "abstract"})

_CONTEXTUAL_NAMES: Final = frozenset({b"get", b"set", b"static", b"async", b"accessor"})

_ANGLE_ASSERTION: Final = ("a type assertion in angle brackets may not span lines", "write it as: value as Type")


class Eraser(Editor):
    """Collects edits in one pass over the tree."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.declarations = declarations = Declarations(self)
        decorators, jsx = Decorators(self), Jsx(self)
        self.imports: list[Node] = []
        self.values: set[str] = set()
        self.visitors: dict[str, Callable[[Node], bool]] = {
            "ERROR": self.syntax_error,
            "arrow_function": self.arrow_function,
            "type_parameters": self.blank_node,
            "as_expression": self.as_expression,
            "satisfies_expression": self.as_expression,
            "template_string": self.template_string,
            "non_null_expression": self.non_null_expression,
            "type_assertion": self.type_assertion,
            "required_parameter": self.parameter,
            "optional_parameter": self.parameter,
            "variable_declarator": lambda node: self.blank_tokens(node, "!"),
            "public_field_definition": self.member,
            "method_definition": lambda node: self.member(node) and declarations.constructor(node),
            "enum_declaration": declarations.enum,
            "import_alias": declarations.import_equals,
            "class": decorators.expression,
            "class_declaration": decorators.declaration,
            "abstract_class_declaration": lambda node: self.blank_tokens(node, "abstract") and decorators.declaration(node),
            "class_body": decorators.body,
            "jsx_element": jsx.element,
            "jsx_self_closing_element": jsx.self_closing,
            "jsx_closing_element": jsx.closing,
            "import_statement": self.import_statement,
            "export_specifier": self.export_specifier,
            "export_statement": self.export_statement,
            "internal_module": self.namespace,
            "module": self.namespace,
            **dict.fromkeys(_TYPES, self.type_node),
            **dict.fromkeys(_TYPE_STATEMENTS, self.type_statement),
        }

    def walk(self, tree: Tree) -> None:
        """Visits every node that is not inside a blanked one. A visitor returns whether its children are to be visited."""
        cursor = tree.walk()
        while True:
            node = cursor.node
            assert node is not None
            visit = self.visitors.get(node.type)
            if node.is_missing and not _is_unwritten(node, self.path):
                self.complain(f"{_quote(node.type)} expected", node)
            if node.type in _VALUES:
                self.values.add(self.read(node))
            # Errors are told wherever they are, also inside of what is blanked.
            descend = node.child_count > 0 and (visit is None or visit(node) or (node.has_error and node.type != "ERROR"))
            if len(self.diagnostics) >= MAX_DIAGNOSTICS:
                return
            if len(self.path) >= MAX_TREE_DEPTH:
                self.complain("the source is nested too deeply", node)
                return
            if descend and cursor.goto_first_child():
                self.path.append(node)
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    self.drop_imported_types()
                    return
                self.path.pop()

    def syntax_error(self, node: Node) -> bool:
        """Only the first place where the parser lost its way is worth telling."""
        if _is_type_keyword(node) or self.diagnostics:
            return False
        lost = self.text[node.start_byte : node.end_byte]
        word = lost.split(maxsplit=1)
        shown = word[0][:20].decode("utf-8", "replace") if word else "end of input"
        if shown in _BEGINNINGS and node.end_byte >= len(self.text.rstrip()) and len(lost.strip().splitlines()) == 1:
            self.complain("unexpected end of input", node, node.end_byte)
        else:
            self.complain(f"unexpected {_quote(shown)}", node)
        return False

    # Types

    def type_node(self, node: Node) -> bool:
        parent = self.path[-1]
        if node.type != "type_arguments" and parent.type == "arrow_function" and self.has_line_end(node):
            # `): T⏎=>` must not leave a line break before the arrow, so the bracket moves behind the type.
            parameters = parent.child_by_field_name("parameters")
            if parameters is not None:
                self.blank(parameters.end_byte - 1, parameters.end_byte)
                self.blank(node.start_byte, node.end_byte, tail=")")
                return False
        self.blank(node.start_byte, self.end_of_type(node))
        return False

    def type_statement(self, node: Node) -> bool:
        self.blank(node.start_byte, self.end_of_type(node), head=";")
        return False

    def arrow_function(self, node: Node) -> bool:
        """`async <⏎T>(x) => …` must not leave a line break behind `async`, so the bracket moves before the type."""
        types, parameters = node.child_by_field_name("type_parameters"), node.child_by_field_name("parameters")
        if types is not None and parameters is not None and self.has_line_end(types):
            self.blank(types.start_byte, types.end_byte, head="(")
            self.blank(parameters.start_byte, parameters.start_byte + 1)
        return True

    def as_expression(self, node: Node) -> bool:
        keyword = next(c for c in node.children if c.type in ("as", "satisfies"))
        # A statement that ended here by its line break alone must still end here: the next line may start with a bracket.
        self.blank(keyword.start_byte, self.end_of_assertion(node), head=";" if self.ends_statement(node) else " ")
        return True

    def end_of_assertion(self, node: Node) -> int:
        """The grammar may end the type of `x as keyof A.B.C | D` at its second name and read the rest as JavaScript."""
        end = self.end_of_type(node)
        for outer in reversed(self.path):
            names = outer.type in ("member_expression", "instantiation_expression")
            joins = outer.type == "binary_expression" and outer.children[1].type in ("|", "&") and end > node.end_byte
            if outer.start_byte != node.start_byte or not (names or joins):
                break
            end = outer.end_byte
        return end

    def template_string(self, node: Node) -> bool:
        """The grammar reads sql<Row>`…` as two comparisons; TypeScript reads a tag with a type argument."""
        if self.text[node.start_byte - 1 : node.start_byte] == b">":
            start = start_of_arguments(self.text, node.start_byte - 1)
            if start is not None:
                self.blank(start, node.start_byte)
        return True

    def non_null_expression(self, node: Node) -> bool:
        if not node.children[-1].is_missing:
            self.blank(node.end_byte - 1, node.end_byte)
        return True

    def type_assertion(self, node: Node) -> bool:
        types = node.children[0]
        if self.has_line_end(types):
            return self.refuse(types, *_ANGLE_ASSERTION)
        return True

    # Declarations

    def parameter(self, node: Node) -> bool:
        pattern = node.child_by_field_name("pattern")
        if pattern is not None and pattern.type == "this":
            self.blank(node.start_byte, self.find_comma_end(node))
            return False
        for child in node.children:
            if child.type in PROPERTY_MODIFIERS:
                self.blank_node(child)
        return self.blank_tokens(node, "?")

    def member(self, node: Node) -> bool:
        """A field or method of a class: modifiers go, and a field that is only declared goes whole."""
        kinds = {child.type for child in node.children}
        if "declare" in kinds or "abstract" in kinds:
            self.blank(node.start_byte, node.end_byte, head=";")
            return False
        last = max((c.end_byte for c in node.children if c.type in _MODIFIERS), default=0)
        rest = self.text[last : node.end_byte].lstrip()[:1]
        # `x = 1⏎private [y]() {}`: without the modifier the bracket would continue the line before.
        head = ";" if last and rest in (b"[", b"*") and "static" not in kinds and "async" not in kinds else " "
        for child in node.children:
            if child.type in _MODIFIERS:
                self.blank(child.start_byte, child.end_byte, head=head)
                head = " "
        self.blank_tokens(node, "?", "!")
        self.close_field(node)
        return True

    def close_field(self, node: Node) -> None:
        """`get: T⏎f() {}`: without its type and a semicolon, such a field would read as a modifier of the next member."""
        name, types = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is None or types is None or node.child_by_field_name("value") is not None:
            return
        if name.text in _CONTEXTUAL_NAMES:
            self.blank(types.start_byte, types.end_byte, head=";")

    def namespace(self, node: Node) -> bool:
        if _has_only_types(node):
            self.blank(node.start_byte, node.end_byte, head=";")
            return False
        return self.declarations.namespace(node)

    # Imports and exports

    def import_statement(self, node: Node) -> bool:
        if any(child.type == "type" for child in node.children):
            self.blank(node.start_byte, node.end_byte, head=";")
            return False
        if any(child.type == "import_require_clause" for child in node.children):
            return self.declarations.import_equals(node)
        self.imports.append(node)
        for _, whole in _list_imported(node):
            self.specifier(whole)
        return False

    def specifier(self, node: Node) -> bool:
        if _is_type(node):
            self.blank(node.start_byte, self.find_comma_end(node))
        return False

    def export_specifier(self, node: Node) -> bool:
        self.values.add(self.read(node.named_children[0]))
        return self.specifier(node)

    def drop_imported_types(self) -> None:
        """An import that is used as a type and never as a value is a type. One that is not used at all stays: a later program
        of the session may use it."""
        erased = b" ".join(self.text[blank.start : blank.end] for blank in self.blanks) if self.imports else b""
        for statement in self.imports:
            imported = [(self.read(bound), whole) for bound, whole in _list_imported(statement) if not _is_type(whole)]
            types = [whole for name, whole in imported if name not in self.values and _names(erased, name)]
            if types and len(types) == len(imported):
                self.blank(statement.start_byte, statement.end_byte, head=";")
            for whole in types:
                self.blank(whole.start_byte, self.find_comma_end(whole))

    def export_statement(self, node: Node) -> bool:
        kinds = ["type" if _is_type_keyword(child) else child.type for child in node.children]
        if "=" in kinds:
            return self.declarations.export_equals(node)
        declared = node.child_by_field_name("declaration") or node.child_by_field_name("value")
        if "type" in kinds or "namespace" in kinds or (declared is not None and self.is_type_only(declared)):
            self.blank(node.start_byte, node.end_byte, head=";")
            return False
        owner = self.declarations.owner(self.path)
        return self.declarations.export_from_namespace(node, owner) if owner is not None else True

    def is_type_only(self, node: Node) -> bool:
        return node.type in _TYPE_STATEMENTS or (node.type in NAMESPACES and _has_only_types(node))

    # Looking around

    def has_line_end(self, node: Node) -> bool:
        return self.breaks_line(node.start_byte, node.end_byte)

    def breaks_line(self, start: int, end: int) -> bool:
        # Offsets, not points: reading Point.row of tree-sitter 0.26.0 gives away a reference it does not own.
        return any(c in LINE_ENDS for c in self.text[start:end].decode("utf-8", "replace"))

    def end_of_type(self, node: Node) -> int:
        """Where a type at the end of `node` really ends: the grammar carries `T⏎[0]` on over the line break, TypeScript not."""
        end = node.end_byte
        at = node
        while at.child_count > 0:
            indexed = at.type in ("lookup_type", "array_type")
            if indexed and self.breaks_line(at.children[0].end_byte, at.children[1].start_byte):
                end = at.children[0].end_byte
            at = at.children[0 if indexed else -1]
        return end

    def find_comma_end(self, node: Node) -> int:
        """The end of the comma after `node`, or of the node when none follows. Comments between them go too."""
        after = node.next_sibling
        while after is not None and after.type == "comment":
            after = after.next_sibling
        return after.end_byte if after is not None and after.type == "," else node.end_byte

    def ends_statement(self, node: Node) -> bool:
        """Whether the statement around `node` ends where the node does, without a semicolon of its own."""
        parent = self.path[-1]
        if parent.type in ("call_expression", "subscript_expression") and parent.children[0] == node:
            return True  # the grammar reads `x as T⏎(y)` as a call, TypeScript as two statements
        for outer in reversed(self.path):
            if outer.end_byte != node.end_byte:
                return False
            if outer.type in _CLOSED_BY_NEWLINE:
                return True
        return False


def _is_type(specifier: Node) -> bool:
    return specifier.child_count > 1 and specifier.children[0].type == "type"


def _names(text: bytes, name: str) -> bool:
    return re.search(rb"(?<![\w$])" + re.escape(name.encode()) + rb"(?![\w$])", text) is not None


def _list_imported(statement: Node) -> Iterator[tuple[Node, Node]]:
    """The names that an import statement binds, each with all that is written for it."""
    clauses = [child for child in statement.named_children if child.type == "import_clause"]
    for part in (part for clause in clauses for part in clause.named_children):
        if part.type == "named_imports":
            for specifier in part.named_children:
                bound = specifier.child_by_field_name("alias") or specifier.child_by_field_name("name")
                if bound is not None:
                    yield bound, specifier
        elif part.type == "identifier":
            yield part, part
        elif part.type == "namespace_import":
            yield part.named_children[0], part


def _has_only_types(namespace: Node) -> bool:
    """True when nothing in the namespace exists at run time, looking into nested namespaces."""
    queue = [namespace]
    while queue:
        body = queue.pop().child_by_field_name("body")
        for statement in body.named_children if body is not None else ():
            inner = statement
            while inner.type in ("export_statement", "expression_statement"):
                inside = inner.child_by_field_name("declaration") or (inner.named_children[0] if inner.named_children else None)
                if inside is None or inner.child_by_field_name("value") is not None:
                    break
                inner = inside
            if inner.type in NAMESPACES:
                queue.append(inner)
            elif inner.type not in _TYPE_STATEMENTS and inner.type not in _NOTHING:
                return False
    return True


def _is_type_keyword(node: Node) -> bool:
    """The grammar does not know `export type * from`: it sees an error that says `type`."""
    return node.type == "ERROR" and node.text == b"type"


def _is_unwritten(node: Node, path: list[Node]) -> bool:
    """The grammar reads `[a as any] = b` as if it were `[a as any]! = b`."""
    return node.type == "!" and path[-1].type == "non_null_expression"


def _quote(word: str) -> str:
    return word if " " in word else f"'{word}'"
