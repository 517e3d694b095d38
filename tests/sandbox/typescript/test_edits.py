"""Blanked ranges keep their shape; what is inserted is told at the end."""

from __future__ import annotations

from sandbox.typescript.edits import Blank, Insert, apply_edits


def test_blanked_range_keeps_its_line_breaks_and_code_points() -> None:
    assert apply_edits("a é\n変 b".encode(), [Blank(2, 8, head=";")], []) == "a ;\n  b"


def test_nested_blanks_are_blanked_once() -> None:
    assert apply_edits(b"abcdef", [Blank(1, 5), Blank(2, 3, head=";")], []) == "a    f"


def test_inserted_text_is_told_with_its_place_and_length() -> None:
    assert apply_edits(b"ab\ncd", [], [Insert(4, "XY"), Insert(1, "Z")]) == "aZb\ncXYd\n//# moves=1,2,1;2,2,2"


def test_text_that_is_inserted_inside_of_a_blank_comes_after_it() -> None:
    assert apply_edits(b"abc d", [Blank(0, 3)], [Insert(1, "X")]).startswith("   X d")


def test_texts_for_one_place_keep_their_order_and_the_end_of_a_text_is_a_place() -> None:
    assert apply_edits(b"a", [], [Insert(1, "1"), Insert(1, "2")]).split("\n")[0] == "a12"


def test_places_are_bytes() -> None:
    assert apply_edits("é=1".encode(), [], [Insert(3, "é")]) == "é=é1\n//# moves=1,4,2"
