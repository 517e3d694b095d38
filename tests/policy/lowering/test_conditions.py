"""Conditions: lets, sets, types and ranges."""

from __future__ import annotations

import pytest

from policy import make_catalog
from policy.evaluation.explain import describe
from policy.model.ir import literals
from tests.policy.policy_texts import judge, small


def hints(text: str) -> list[str | None]:
    return [d.hint for d in judge(text).diagnostics if d.severity == "error"]


@pytest.mark.parametrize(
    ("definition", "condition", "written"),
    [
        ('set roots = { "/b", "/a" }', "path under roots", 'path under { "/a", "/b" }'),
        ('set keys = { ".pem", ".key" }', "path ends keys", 'path ends { ".key", ".pem" }'),
        ('set hidden = { ".env", ".git" }', "path any segment in hidden", 'path any segment in { ".env", ".git" }'),
        ('set logs = { "/a/*.log" }', "path like logs", 'path like "/a/*.log"'),
    ],
)
def test_set_stands_wherever_texts_do(definition: str, condition: str, written: str) -> None:
    named, plain = (
        judge(small(f"{before}allow fs.read when {c}")) for before, c in ((f"{definition}\n", condition), ("", written))
    )
    assert named.ok and plain.ok
    assert named.program.ir.rules == plain.program.ir.rules
    assert describe(plain.program.ir.rules[0].guard, {f.name: f for f in plain.program.ir.reads["fs.read"]}) == written  # type: ignore[arg-type]


def test_mistake_in_a_set_is_reported_where_the_set_is_defined() -> None:
    (found,) = (
        d for d in judge(small('set keys = { "a/" }\nallow fs.read when path ends keys')).diagnostics if d.code == "HP049"
    )
    assert found.location() == "p.hatch:2:14"


@pytest.mark.parametrize(
    ("condition", "code", "hint"),
    [
        ('path starts "/data"', "HP030", 'write `path under "/data"`'),
        ('path like "/data"', "HP049", "compare the whole with `==`, or write `/data*`"),
        ('path like "/*/*"', "HP049", "one `*` stands for any run of characters"),
        ('path like "*.pem"', "HP049", 'as in `/data/*.csv`; or write `ends ".csv"`'),
        ('path like "/a/../*"', "HP049", 'as in `/data/*.csv`; or write `ends ".csv"`'),
        ('path like "/a?*"', "HP049", "one `*` stands for any run of characters in a segment"),
        ('path ends "*.pem"', "HP049", "leave it out, or use `like` with one `*`"),
        ('path ends ""', "HP049", "write what the text must hold"),
        ('path ends "/"', "HP049", 'as in `ends ".pem"` or `ends "/.env"`'),
        ('path ends "\u0301a"', "HP049", "compare the whole text with `==`"),
        ('path any segment == "a/b"', "HP049", "write one segment without `/`, as in `.env`"),
        ('path any segment == ".."', "HP049", "write one segment without `/`, as in `.env`"),
        ('path any segment != "a"', "HP030", "write `not … any segment == …`"),
        ("path any segment in { }", "HP033", "an empty set matches nothing; write the values"),
        ("path ends pem", "HP030", 'write `"pem"`'),
        ('session.risk like "1*"', "HP030", "write `session.risk <= 10`"),
        ('plan like "f*"', "HP030", "write `plan == enterprise`"),
        ('tenant any segment == "a"', "HP030", 'write `tenant == "text"`'),
        ('tenant like "*"', "HP049", "leave the condition out"),
    ],
)
def test_pattern_that_decides_nothing_is_refused_with_what_to_write(condition: str, code: str, hint: str) -> None:
    found = [(d.code, d.hint) for d in judge(small(f"allow fs.read when {condition}")).diagnostics if d.severity == "error"]
    assert found == [(code, hint)]


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("build-*.acme.example", None),
        ("*-build.acme.example", None),
        ("*.acme.example", "HP049"),
        ("acme-*.com", "HP035"),
        ("acme-*.run.app", "HP035"),
        ("api.acme.*", "HP035"),
        ("10.0.0.*", "HP035"),
        ("A*.acme.example", "HP038"),
    ],
)
def test_star_in_a_host_stays_in_one_label_of_names_that_have_one_owner(pattern: str, code: str | None) -> None:
    found = judge(small(f'allow net.connect when host like "{pattern}" and port == 443')).diagnostics
    assert [d.code for d in found if d.severity == "error"] == ([code] if code else [])


def test_number_some_member_of_a_family_can_hold_is_in_range() -> None:
    def tool(name: str, most: int) -> dict[str, object]:
        part = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 0, "maximum": most}}}
        return {"name": name, "side_effect": "none", "input_schema": part}

    catalog = make_catalog("t", [tool("t.a", 10), tool("t.b", 100)])
    assert [d.code for d in judge(small("deny t.* when n > 50"), catalog=catalog).diagnostics if d.severity == "error"] == []
    assert [d.code for d in judge(small("deny t.* when n > 500"), catalog=catalog).diagnostics if d.severity == "error"] == [
        "HP032"
    ]


@pytest.mark.parametrize(
    ("condition", "code", "hint"),
    [
        ("user == plan", "HP030", 'write `"plan"` if the text is meant; names are compared with `==` and `!=`'),
        ("user == path", "HP030", 'write `"path"` if the text is meant; names are compared with `==` and `!=`'),
        ("user < tenant", "HP030", 'write `"tenant"` if the text is meant; names are compared with `==` and `!=`'),
        ("session.risk == user", "HP030", 'write `"user"` if the text is meant; names are compared with `==` and `!=`'),
        ("user == user", "HP030", "delete the condition"),
        ('path under "/home/{usr}"', "HP021", "did you mean `user`?"),
        ('path under "/home/{plan}"', "HP030", "only a name stands for a segment"),
        ('path under "/home/{user}/{tenant}"', "HP039", 'as in `under "/home/{user}"`'),
        ('path under "/home/x{user}"', "HP039", 'as in `under "/home/{user}"`'),
        ('path under "home/{user}"', "HP039", 'as in `under "/home/{user}"`'),
        ('path under "/home/../{user}"', "HP039", 'as in `under "/home/{user}"`'),
        ('path == "/home/{user}"', "HP039", 'write `under "/home/{user}"`'),
    ],
)
def test_fields_that_cannot_be_compared_are_refused_with_what_to_write(condition: str, code: str, hint: str) -> None:
    found = [(d.code, d.hint) for d in judge(small(f"allow fs.read when {condition}")).diagnostics if d.severity == "error"]
    assert found == [(code, hint)]


def test_two_fields_are_compared_in_one_canonical_way_and_written_back() -> None:
    rules = [judge(small(f"allow fs.read when {c}")).program.ir.rules[0] for c in ("user == tenant", "tenant == user")]
    assert rules[0].guard == rules[1].guard
    policy = judge(
        small('set mine = { "/home/{user}/x", "/tmp" }\nallow fs.read when path under mine and user != tenant')
    ).program.ir
    fields = {field.name: field for field in policy.reads["fs.read"]}
    assert set(fields) == {"path", "tenant", "user"}
    assert [describe(lit, fields) for lit in literals(policy.rules[0].guard)] == [
        "tenant != user",
        'path under "/home/{user}/x"',
        'path under "/tmp"',
    ]
