"""What is written at one place, and where diagnostics point."""

from __future__ import annotations

from sandbox.typescript.editor import Editor, span_of
from sandbox.typescript.edits import apply_edits
from sandbox.typescript.grammar import read


def test_what_is_inside_ends_first_and_ends_come_before_beginnings() -> None:
    text = b"f(1)2"
    editor = Editor(text)
    whole = read(b"f(1)").root_node.named_children[0]
    editor.insert(4, "<next>")
    editor.close(whole, "</outer>")
    editor.close(whole, "</inner>")
    assert apply_edits(text, editor.blanks, editor.inserts).split("\n")[0] == "f(1)</inner></outer><next>2"


def test_names_that_are_made_differ() -> None:
    editor = Editor(b"")
    assert editor.new_name() != editor.new_name()


def test_refusal_says_where_in_code_points() -> None:
    editor = Editor("'é'; x".encode())
    editor.refuse(read("'é'; x".encode()).root_node.named_children[1], "no", "hint")
    (found,) = editor.diagnostics
    assert found.span is not None and (found.span.line, found.span.column, found.hint) == (1, 6, "hint")


def test_span_of_a_range_over_lines() -> None:
    span = span_of(b"a\nbc\nd", 3, 6)
    assert (span.line, span.column, span.end_line, span.end_column) == (2, 2, 3, 2)
