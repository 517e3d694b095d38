"""Rules that are looked up: which index is chosen, and what its tables answer."""

from __future__ import annotations

import pytest

from policy.evaluation.emitter import count_worst_case
from policy.evaluation.evaluator import Evaluator
from policy.evaluation.indexes import Rules, choose_index, find_equal, find_folders, find_hosts, find_stretch, list_keys
from policy.evaluation.interpreter import decide
from policy.model import ir
from tests.policy.policy_campaign import lowered
from tests.policy.policy_generators import CATALOG

REQUEST = {"flag": True, "color": "red", "count": 3, "file": "/t7/a", "server": "a.t7.example", "session.mfa": True}


def rules(*guards: ir.Expr) -> Rules:
    return [(number, ir.Rule(f"r{number}", "allow", ("tool.two",), guard)) for number, guard in enumerate(guards)]


def policy(condition: str, count: int, more: str = "") -> ir.Policy:
    lines = [f"allow tool.two when {condition.format(i=i, next=i + 1)}{more}" for i in range(count)]
    return lowered("policy p v 1\n" + "\n".join(lines) + "\n").ir


@pytest.mark.parametrize(
    ("condition", "way", "attributes"),
    [
        ('file under "/t{i}"', "under", {"file": "/t7/a/b"}),
        ('file under {{ "/t{i}", "/t{i}/b" }}', "under", {"file": "/t7/b"}),
        ('file == "/t{i}"', "equal", {"file": "/t7"}),
        ('server in {{ "*.t{i}.example", "t{i}.example" }}', "host", {"server": "a.b.t7.example"}),
        ('server == "t{i}.example"', "host", {"server": "t7.example"}),
        ("session.risk in {i}..{next}", "range", {"session.risk": 7}),
    ],
)
@pytest.mark.parametrize("more", ["", " and session.mfa rate 5/min per session"])
def test_rule_is_found_without_trying_all(condition: str, way: str, attributes: dict[str, object], more: str) -> None:
    many = policy(condition, 100, more)
    index = choose_index([*enumerate(many.rules)], set())
    assert index is not None and index.way == way and index.most <= 3
    assert count_worst_case(many, "tool.two") < 20
    evaluator = Evaluator(many)
    for asked in ({**REQUEST, **attributes}, {**REQUEST, "file": "/x", "server": "x.example", "session.risk": 100}):
        assert evaluator.decide("tool.two", asked) == decide(many, "tool.two", asked)
    assert evaluator.decide("tool.two", {**REQUEST, **attributes}).verdict == "allow"


def test_ranges_that_lie_over_each_other_are_not_copied() -> None:
    nested = rules(*(ir.Lit("count", "range", (0, high)) for high in range(1, 60)))
    assert choose_index(nested, set()) is None
    assert choose_index(rules(*(ir.Lit("count", "range", (at, at + 3)) for at in range(60))), set()) is not None


def test_denied_and_many_conditions_are_no_keys() -> None:
    folder = ir.Lit("file", "under", ("/a",))
    assert list_keys(ir.conj([folder, ir.Lit("flag", "true")])) == {("under", "file"): folder}
    assert list_keys(ir.negate(folder)) == {}
    assert list_keys(ir.disj([folder, ir.Lit("flag", "true")])) == {}
    assert list_keys(ir.Lit("label", "in", tuple(f"n{i}" for i in range(17)))) == {}


def test_tables_give_all_that_is_found() -> None:
    def leaf(bits: int):  # type: ignore[no-untyped-def]
        return lambda *values: bits

    folders = {"/a": leaf(1), "/a/b": leaf(2), "/a/bc": leaf(4)}
    assert [find_folders(folders, path) for path in ("/a", "/a/b", "/a/b/c", "/a/bcd", "/", "/ab")] == [1, 3, 3, 1, 0, 0]
    hosts = {"a.x": leaf(1), ".x": leaf(2), ".a.x": leaf(4)}
    assert [find_hosts(hosts, host) for host in ("a.x", "b.x", "b.a.x", "x", "a.xx")] == [3, 2, 6, 0, 0]
    stretches = ((0, 5, 9), (leaf(1), None, leaf(4)))
    assert [find_stretch(stretches, number) for number in (-1, 0, 4, 5, 8, 9, 100)] == [0, 1, 1, 0, 0, 4, 4]
    assert find_equal({"a": leaf(1)}, "a") == 1 and find_equal({"a": leaf(1)}, "b") == 0


def test_catalog_has_the_fields_that_are_looked_up() -> None:
    assert {CATALOG.field("tool.two", name).kind for name in ("file", "server", "count")} == {"path", "host", "int"}  # type: ignore[union-attr]
