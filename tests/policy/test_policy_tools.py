"""Bundles, replays, tests and mutants, catalogs, rendering, formatting: what authors and operators use."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from policy_texts import SAMPLE, SAMPLES, TOOLS, judge, small

from policy import BundleError, CatalogError, Policy, PolicyError, compile_policy, load_catalog, make_catalog
from policy.proofs.policy_tests import coverage, mutants
from policy.syntax.formatter import WIDTH, format_text
from policy.text.render import to_json, to_sarif, to_text
from policy.tools.bundles import load_bundle, make_bundle, new_key, open_bundle, read_private_key, read_public_key
from policy.tools.replay import replay

PRIVATE, PUBLIC = new_key()
KEY, TRUSTED = read_private_key(PRIVATE), read_public_key(PUBLIC)


@pytest.fixture(scope="module")
def bundle() -> bytes:
    return make_bundle(Policy.load(SAMPLES / "acme.prod.hatch"), KEY)


def test_bundled_policy_decides_as_the_original(bundle: bytes) -> None:
    original, loaded = Policy.load(SAMPLES / "acme.prod.hatch"), load_bundle(bundle, [TRUSTED])
    assert loaded.digest == original.digest
    asked = {"tenant": "acme", "language": "python"}
    assert loaded.decide("run", asked) == original.decide("run", asked)


def test_bundle_carries_sources_places_catalog_and_results(bundle: bytes) -> None:
    payload = open_bundle(bundle, [TRUSTED])
    assert payload.sources["acme.prod.hatch"] == SAMPLE
    assert "platform.base.hatch" in payload.sources
    assert payload.source_map["allow:run#1"] == ("acme.prod.hatch", 10, 3)
    assert payload.catalog.digest == TOOLS.digest
    assert (payload.tests_passed, len(payload.proofs)) == (4, 4)


def test_bundle_is_the_same_bytes_every_time(bundle: bytes) -> None:
    assert make_bundle(Policy.load(SAMPLES / "acme.prod.hatch"), KEY) == bundle


def test_unsigned_bundle_does_not_load(bundle: bytes) -> None:
    raw = json.loads(bundle)
    for damage in ({"signature": ""}, {"key_id": ""}, {"signature": raw["sha256"]}):
        with pytest.raises(BundleError):
            load_bundle(json.dumps({**raw, **damage}).encode(), [TRUSTED])
    del raw["signature"]
    with pytest.raises(BundleError):
        load_bundle(json.dumps(raw).encode(), [TRUSTED])


def test_bundle_signed_by_a_stranger_does_not_load(bundle: bytes) -> None:
    with pytest.raises(BundleError):
        load_bundle(bundle, [read_public_key(new_key()[1])])
    with pytest.raises(BundleError):
        load_bundle(bundle, [])


def test_altered_bundle_does_not_load_wherever_it_is_altered(bundle: bytes) -> None:
    for at in range(0, len(bundle), 499):
        altered = bundle[:at] + bytes([bundle[at] ^ 1]) + bundle[at + 1 :]
        with pytest.raises(BundleError):
            load_bundle(altered, [TRUSTED])
    for length in range(0, len(bundle), 997):
        with pytest.raises(BundleError):
            load_bundle(bundle[:length], [TRUSTED])


def test_refused_policy_cannot_be_bundled(tmp_path: Path) -> None:
    file = tmp_path / "p.hatch"
    file.write_text("policy p v 1\nallow fs.read\n")
    with pytest.raises(PolicyError):
        Policy.load(file)


def line(event: str, verdict: str, **attributes: object) -> bytes:
    return json.dumps({"event": event, "attributes": attributes, "verdict": verdict}).encode()


def test_replay_counts_what_changes_and_what_permits_more() -> None:
    policy = compile_policy(small("allow payments.refund when amount <= 100 rate 1/h per tenant"), catalog=TOOLS)
    result = replay(
        policy,
        [
            line("payments.refund", "allow", amount=50),
            line("payments.refund", "deny", amount=50),
            b"",
            line("payments.refund", "allow", amount=500),
        ],
    )
    assert (result.total, result.changed, result.loosened) == (3, 2, 1)
    assert [found.line for found in result.kept] == [2, 4]


@pytest.mark.parametrize("bad", [b"{", b"[]", b'{"event": "x"}', b'{"event":"x","attributes":{},"verdict":"maybe"}', b"\xff"])
def test_replay_refuses_what_is_not_a_record(bad: bytes) -> None:
    policy = compile_policy(small("allow fs.read"))
    with pytest.raises(PolicyError, match="line 1"):
        replay(policy, [bad])


THOROUGH = """policy p v 1
allow payments.refund when amount <= 500 and currency == eur rate 1/h per tenant
test "both sides of both conditions" {
  as { tenant a }
  payments.refund { amount 500, currency eur } => allow
  payments.refund { amount 501, currency eur } => deny
  payments.refund { amount 500, currency usd } => deny
}
"""


def test_thorough_tests_cover_every_rule_and_kill_every_mutant() -> None:
    program = judge(THOROUGH).program
    assert [item.both for item in coverage(program)] == [True]
    assert mutants(program) == (2, [])


def test_mutant_survives_where_a_condition_is_untested() -> None:
    careless = THOROUGH.replace("  payments.refund { amount 500, currency eur } => allow\n", "")
    careless = careless.replace("  payments.refund { amount 500, currency usd } => deny\n", "")
    tried, survivors = mutants(judge(careless).program)
    assert tried == 2
    assert {mutant.span.text() for mutant in survivors} == {"currency == eur"}


ONE_READ = 'test "t" { as { tenant a } fs.read { path "/a" } => allow }'


def test_rule_with_a_condition_that_is_only_hit_is_not_covered() -> None:
    (item,) = coverage(judge(f'policy p v 1\nallow fs.read when path under "/a"\n{ONE_READ}').program)
    assert (item.hit, item.missed, item.both) == (True, False, False)


def test_rule_without_a_condition_is_covered_once_hit() -> None:
    checked = judge(f"policy p v 1\nallow fs.read\n{ONE_READ}")
    (item,) = coverage(checked.program)
    assert (item.hit, item.missed, item.both) == (True, False, True)
    assert "HP104" not in [d.code for d in checked.diagnostics]
    (unhit,) = coverage(judge(small("allow fs.read")).program)
    assert not unhit.both


def test_coverage_and_mutants_of_some_tests_look_at_no_others() -> None:
    program = judge(THOROUGH).program
    assert [item.both for item in coverage(program, "no such title")] == [False]
    assert len(mutants(program, "no such title")[1]) == 2


def test_condition_of_an_automatic_approval_is_flipped_too() -> None:
    ask = "ask fs.read by boss within 5m auto when session.mfa"
    test = 'test "t" {{ as {{ tenant a, session.mfa true }} fs.read {{ path "/a" }} => {} }}'
    assert mutants(judge(f"policy p v 1\n{ask}\n{test.format('auto')}").program) == (1, [])
    tried, (survivor,) = mutants(judge(f"policy p v 1\n{ask}\n{test.format('ask')}").program)
    assert (tried, survivor.span.text()) == (1, "session.mfa")


def schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def test_json_schema_properties_become_typed_fields() -> None:
    definition = {
        "name": "tool.x",
        "side_effect": "write",
        "input_schema": schema(
            flag={"type": "boolean"},
            pick={"type": "string", "enum": ["b", "a"]},
            count={"type": "integer", "minimum": 1, "exclusiveMaximum": 10},
            free={"type": "integer"},
            text={"type": "string"},
            host={"type": "string", "format": "hostname"},
            file={"type": "string", "format": "path"},
            size={"type": "integer", "x-type": "size"},
            inner=schema(deep={"type": "boolean"}),
            ratio={"type": "number"},
            many={"type": "array"},
            either={"anyOf": [{"type": "string"}]},
        ),
    }
    fields = make_catalog("t", [definition]).capabilities["tool.x"].fields
    kinds = {name: field.kind for name, field in fields.items()}
    assert kinds == {
        **{"flag": "bool", "pick": "enum", "count": "int", "free": "int", "text": "name", "host": "host"},
        **{"file": "path", "size": "size", "inner.deep": "bool"},
    }
    assert (fields["count"].low, fields["count"].high, fields["pick"].values) == (1, 9, ("a", "b"))
    assert fields["free"].high == 2**53 - 1


def test_optional_property_is_usable_only_with_a_default() -> None:
    part = {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean", "default": False}}}
    fields = make_catalog("t", [{"name": "x", "input_schema": part}]).capabilities["x"].fields
    assert (fields["a"].usable, fields["b"].usable) == (False, True)


def test_catalog_digest_changes_with_any_change_and_survives_its_own_file() -> None:
    one = make_catalog("t", [{"name": "x", "side_effect": "read", "input_schema": schema(n={"type": "integer", "maximum": 5})}])
    two = make_catalog("t", [{"name": "x", "side_effect": "read", "input_schema": schema(n={"type": "integer", "maximum": 6})}])
    assert one.digest != two.digest
    assert load_catalog(one.to_json()).digest == one.digest


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"capabilities": [{"name": "run"}]}',
        '{"capabilities": [{"name": "a b"}]}',
        '{"capabilities": [{"name": "a", "side_effect": "magic"}]}',
        '{"capabilities": [{"name": "a", "egress": ["*.com"]}]}',
        '{"capabilities": [5]}',
        '{"capabilities": 5}',
        '{"context": {"x": {"kind": "float"}}}',
        '{"secrets": {"s": ["1.2.3.4"]}}',
        '{"capabilities": [{"name": "a", "input_schema": {"properties": {"x": {"type": "boolean", "default": 5}}}}]}',
        "[" * 100_000,
    ],
)
def test_malformed_catalog_is_refused(text: str) -> None:
    with pytest.raises(CatalogError):
        load_catalog(text.encode())


def test_built_in_capabilities_are_in_every_catalog() -> None:
    names = {"run", "fs.read", "fs.write", "net.connect", "secret.use", "session.create", "session.fork"}
    names |= {"snapshot.take", "snapshot.restore"}
    assert names <= set(make_catalog("t", []).capabilities)


def test_text_shows_line_caret_and_hint() -> None:
    shown = to_text(d for d in judge(small("allow payments.refund when amout <= 500")).diagnostics if d.code == "HP021")
    assert shown == (
        "error[HP021]: payments.refund has no field `amout`\n"
        " --> p.hatch:2:28\n"
        "  |\n"
        "2 | allow payments.refund when amout <= 500\n"
        "  |                            ^^^^^\n"
        "  = hint: did you mean `amount`?\n"
    )


def test_carets_stand_below_the_place_after_wide_characters_and_before_windows_line_ends() -> None:
    text = 'policy p v 1\r\nallow fs.read because "漢字" whn\r\n'
    shown = to_text(d for d in judge(text).diagnostics if d.code == "HP001").splitlines()
    assert shown[3] == '2 | allow fs.read because "漢字" whn'
    assert shown[4] == "  |                              ^^^"


def test_colour_only_when_asked_for() -> None:
    findings = judge(small("allow fs.reed")).diagnostics
    assert "\x1b[" not in to_text(findings)
    assert "\x1b[31;1merror[HP020]" in to_text(findings, colour=True)


def test_source_text_cannot_write_to_the_terminal() -> None:
    shown = to_text(judge('policy p v 1\nallow fs.read because "\x1b[2J"\n').diagnostics)
    assert "\x1b" not in shown


def test_json_has_the_contracts_error_object() -> None:
    (found,) = [d for d in json.loads(to_json(judge(small("allow fs.reed")).diagnostics)) if d["severity"] == "error"]
    assert found["code"] == "HP020"
    assert found["hint"] == "did you mean `fs.read`?"
    assert found["span"] == {"line": 2, "column": 7, "end_line": 2, "end_column": 14}


def test_sarif_names_rule_level_and_region() -> None:
    log = json.loads(to_sarif(judge(small("allow fs.reed")).diagnostics))
    (run,) = log["runs"]
    result = next(r for r in run["results"] if r["level"] == "error")
    assert log["version"] == "2.1.0"
    assert result["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 7


def test_formatting_keeps_comments_and_meaning_of_the_sample() -> None:
    once = format_text(SAMPLE)
    assert format_text(once) == once
    assert once.count("#") == SAMPLE.count("#")
    files = {"platform.base.hatch": (SAMPLES / "platform.base.hatch").read_text()}
    assert judge(once, files).program.ir.digest() == judge(SAMPLE, files).program.ir.digest()


@pytest.mark.parametrize("name", ["acme.prod.hatch", "platform.base.hatch"])
def test_samples_are_formatted_and_pass(name: str) -> None:
    assert Policy.load(SAMPLES / name).digest
    text = (SAMPLES / name).read_text(encoding="utf-8")
    assert format_text(format_text(text)) == format_text(text)


def test_formatting_wraps_long_statements() -> None:
    names = " and ".join(f"tenant != tenant_number_{i}" for i in range(12))
    formatted = format_text(f"policy p v 1\nallow fs.read when {names}\n")
    assert all(len(text) <= WIDTH for text in formatted.splitlines())
    assert formatted.splitlines()[2].startswith("    and ")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("policy p v 1 allow run", "policy p v 1\nallow run\n"),
        ("policy p v 1\n\n\n\nallow run", "policy p v 1\n\nallow run\n"),
        ("policy p v 1\nset a={b,c}", "policy p v 1\nset a = { b, c }\n"),
        ("policy p v 1\nset a={}", "policy p v 1\nset a = {}\n"),
        ("policy p v 1\nallow run # why\n# next\ndeny run", "policy p v 1\nallow run  # why\n# next\ndeny run\n"),
        ("policy p v 1\nallow x when a in 1 .. 5 and(b)", "policy p v 1\nallow x when a in 1..5 and (b)\n"),
        ('policy p v 1\ndeny fs .* because "x"', 'policy p v 1\ndeny fs.*\n  because "x"\n'),
        ("policy p v 1\nscope a{allow run\n}", "policy p v 1\nscope a {\n  allow run\n}\n"),
        ("policy p v 1\nscope a in {b}{}", "policy p v 1\nscope a in { b } {\n}\n"),
        (
            'policy p v 1\ntest "t"{as{}x{a 1}=>deny y{}=>ask}',
            'policy p v 1\ntest "t" {\n  as {}\n  x { a 1 } => deny\n  y {} => ask\n}\n',
        ),
    ],
)
def test_layout(before: str, after: str) -> None:
    assert format_text(before) == after
    assert format_text(after) == after


def test_broken_text_is_not_formatted() -> None:
    with pytest.raises(PolicyError):
        format_text("policy p v 1\nallow\n")


def test_canonical_form_round_trips_through_its_bytes() -> None:
    from policy.model import ir

    policy = Policy.load(SAMPLES / "acme.prod.hatch").ir
    assert msgspec.json.decode(policy.encode(), type=ir.Policy) == policy


def test_catalog_can_add_facts_about_the_caller() -> None:
    catalog = load_catalog(b'{"name": "t", "context": {"region": {"kind": "enum", "values": ["eu", "us"], "required": true}}}')
    policy = compile_policy(small("allow fs.read when region == eu"), catalog=catalog)
    assert policy.decide("fs.read", {"region": "eu"}).verdict == "allow"
    assert policy.decide("fs.read", {}).rule == "invalid"


def test_failure_of_the_compiler_itself_refuses_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    from policy import checker

    def broken(*arguments: object, **options: object) -> object:
        raise RuntimeError("a bug")

    monkeypatch.setattr(checker, "analyse", broken)
    with pytest.raises(PolicyError, match="HP099"):
        compile_policy(small("allow fs.read"))
    monkeypatch.setattr(checker, "load", broken)
    with pytest.raises(PolicyError, match="HP099"):
        compile_policy(small("allow fs.read"))
