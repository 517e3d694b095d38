"""Completion, hover, definitions and renames."""

from __future__ import annotations

import pytest

from policy.tools import editor_queries
from tests.policy.policy_texts import SAMPLE, TOOLS, judge, small


def at(text: str, marked: str) -> tuple[str, int]:
    """Replace the first occurrence of `marked` without its `|`, and return the offset of the bar."""
    plain = marked.replace("|", "")
    assert plain in text
    return text, text.index(plain) + marked.index("|")


def suggested(text: str) -> set[str]:
    offset = text.index("|")
    return {s.text for s in editor_queries.complete(text.replace("|", ""), offset, TOOLS)}


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("policy p v 1\nallow |", {"fs.read", "payments.refund"}, {"amount"}),
        ("policy p v 1\nallow pay|", {"payments.refund"}, {"amount"}),
        ("policy p v 1\nallow payments.refund when |", {"amount", "currency", "session.mfa"}, {"rows", "note"}),
        (
            "policy p v 1\nlet senior = session.mfa\nallow payments.refund when amount <= 5 and |",
            {"senior", "currency"},
            {"fs.read"},
        ),
        ("policy p v 1\nallow payments.refund when currency == |", {"eur", "usd"}, {"amount"}),
        ("policy p v 1\nallow payments.refund when currency in { eur, |", {"gbp"}, {"amount"}),
        ("policy p v 1\nset big = { eur }\nallow payments.refund when currency in |", {"eur", "big"}, {"amount"}),
        ("policy p v 1\nallow fs.read rate 5/min per |", {"session", "tenant"}, {"fs.read"}),
        ("policy p v 1\nlimit run { |", {"cpu", "memory"}, {"language"}),
        ("policy p v 1\ndeny any with effects { |", {"write", "network"}, {"fs.read"}),
        ("policy p v 1\nhook h on before fs.write run |", {"python", "wasm"}, {"fs.read"}),
        ("policy p v 1\nhook h on before |", {"fs.write"}, {"python"}),
        ('policy p v 1\nhook h on before run run python "h.py" timeout 1s on_error |', {"block"}, {"python"}),
        ("policy p v 1\nprove no |", {"run"}, {"amount"}),
        ('policy p v 1\ntest "t" {\n  as { tenant a }\n  payments.refund { |', {"amount", "currency"}, {"eur"}),
        ('policy p v 1\ntest "t" {\n  as { tenant a }\n  payments.refund { currency |', {"eur"}, {"amount"}),
        ("policy p v 1\nallow secret.use when caller == |", {"user", "tenant", "name"}, {"caller", "plan"}),
        ("policy p v 1\nallow fs.read when path |", {"under", "like", "ends", "any"}, {"starts"}),
        ("policy p v 1\nallow secret.use when name |", {"like", "starts", "ends"}, {"under", "any"}),
        ("policy p v 1\nallow net.connect when host |", {"like"}, {"starts", "ends", "under"}),
        ("policy p v 1\nallow fs.read when path any |", {"segment"}, {"path"}),
        ("policy p v 1\nallow fs.read when path any segment |", {"in", "starts", "ends"}, {"path"}),
        ('policy p v 1\nset hidden = { ".env" }\nallow fs.read when path any segment in |', {"hidden"}, {"path"}),
        ('policy p v 1\nset roots = { "/a" }\nallow fs.read when path under |', {"roots"}, {"path"}),
        ("policy p v 1\nallow run\n|", {"deny", "limit", "because"}, {"run"}),
        ("|", {"allow"}, {"run"}),
    ],
)
def test_completion_offers_what_fits(text: str, wanted: set[str], unwanted: set[str]) -> None:
    found = suggested(text)
    assert wanted <= found
    assert not unwanted & found


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("allow payments.ref|und", "Refund a payment"),
        ("when amo|unt <= 500", "whole units of the currency"),
        ("and sen|ior", "let senior"),
        ("scope ten|ant == acme", "on whose behalf"),
        ("host in part|ners", "api.stripe.com"),
        ("au|to when session", "Approval by rule"),
        ("limit run                   { c|pu", "processor time"),
    ],
)
def test_hover_tells_meaning_and_type(place: str, words: str) -> None:
    found = editor_queries.hover(*at(SAMPLE, place), TOOLS)
    assert found is not None
    assert words in found[0]


def test_hover_tells_what_a_digest_is_for() -> None:
    text = f'policy p v 1\nhook h on before run run wasm "h.wasm" sha2|56:{"0" * 64} timeout 1s on_error block\n'
    found = editor_queries.hover(*at(text.replace("|", ""), 'wasm" sha2|56'), TOOLS)
    assert found is not None and "digest of a hook's program" in found[0]


def test_hover_is_silent_in_comments_and_strings() -> None:
    assert editor_queries.hover(*at(SAMPLE, "# Mo|ney"), TOOLS) is None
    assert editor_queries.hover(*at(SAMPLE, '"reporting is re|ad-only'), TOOLS) is None


NAMES_EVERYWHERE = """policy p v 1
set x = { x, y }  # x
let good = tenant == x
hook h on before fs.read when good run python "x" timeout 1s on_error block
scope good {
  deny db.query when table in x and table != "x" or not good because "x"
}
ask db.query when table in x by x within 5m auto when good
test "x" { as { tenant x, user good } db.query { table x, rows 1 } => deny }
"""


def renamed(marked: str, name: str) -> str | None:
    text, offset = at(NAMES_EVERYWHERE, marked)
    found = editor_queries.references(text, offset)
    if found is None:
        return None
    for start, end in reversed(found[1]):
        text = text[:start] + name + text[end:]
    return text


def test_rename_of_a_set_leaves_values_fields_strings_and_comments_alone() -> None:
    wanted = NAMES_EVERYWHERE.replace("set x", "set z").replace("table in x", "table in z")
    assert renamed("table in |x by", "z") == wanted
    assert renamed("set |x =", "z") == wanted


def test_rename_of_a_let_follows_it_into_scopes_rules_hooks_and_approvals() -> None:
    wanted = NAMES_EVERYWHERE.replace("user good", "user GOOD").replace("good", "fine").replace("GOOD", "good")
    assert renamed("scope go|od {", "fine") == wanted


@pytest.mark.parametrize(
    "marked", ["{ |x, y }", "tenant == |x", "tenant |x, user", "by |x within", "table |!= ", "deny db.qu|ery"]
)
def test_word_that_is_no_definition_is_not_renamed(marked: str) -> None:
    assert renamed(marked, "z") is None


def test_text_that_cannot_be_read_is_not_renamed() -> None:
    assert editor_queries.references("policy p v 1\nset x = { a }\nalow fs.read\n", 18) is None


@pytest.mark.parametrize("name", ["a b", "", "1x", "allow", "good", "h", "table", "fs.read", "tenant", "true", "x-y"])
def test_definition_cannot_take_a_wrong_or_taken_name(name: str) -> None:
    assert editor_queries.name_fault(NAMES_EVERYWHERE, name, TOOLS) is not None
    assert editor_queries.name_fault(NAMES_EVERYWHERE, "free_name", TOOLS) is None


def test_outline_names_every_statement_where_it_stands() -> None:
    text = (
        'policy p v 1\nset roots = { "/a" }\nlet mine = user == tenant\nscope mine {\n  allow fs.read when path under roots\n'
        "  deny any with effects { write }\n}\nlimit run { cpu 1s }\nprove no fs.* when not mine\n"
        'hook h on turn_end run wasm "h.wasm" timeout 1s on_error block\n'
        'test "t" { as { tenant a } run { language python } => deny }\n'
    )
    found = editor_queries.symbols(text)
    assert [(one.kind, one.name) for one in found] == [
        ("set", "roots"),
        ("let", "mine"),
        ("rule", "allow fs.read"),
        ("rule", "deny any with effects { write }"),
        ("limit", "limit run"),
        ("claim", "prove no fs.*"),
        ("hook", "h"),
        ("test", "t"),
    ]
    for one in found:
        line = text[one.place.start : one.place.end]
        assert "\n" not in line and line == line.strip()
        assert one.place.start <= one.name_place.start < one.name_place.end <= one.place.end
    assert editor_queries.symbols("policy p v 1\nallow (((") == []


@pytest.mark.parametrize(
    ("text", "marked", "fixed"),
    [
        ('allow fs.read when pth under "/a"', "pth", "path"),
        ("allow fs.reed", "fs.reed", "fs.read"),
        ("deny fs.read when tenant in { user }", "user", '"user"'),
        ('allow fs.read when path under "a"', '"a"', None),
    ],
)
def test_fix_is_what_the_hint_says(text: str, marked: str, fixed: str | None) -> None:
    found = [(d, editor_queries.find_fix(d)) for d in judge(small(text)).diagnostics if d.severity == "error"]
    assert [fix.text if fix else None for _, fix in found] == [fixed]
    span = found[0][0].span
    assert span is not None and span.text() == marked


def test_name_of_a_set_is_found_wherever_sets_may_stand() -> None:
    text = 'policy p v 1\nset keys = { ".pem" }\nallow fs.read when path ends keys and not path any segment in keys\n'
    found = editor_queries.references(text, text.index("keys") + 1)
    assert found is not None and [text[place.start : place.end] for place in found[1]] == ["keys"] * 3
