"""One test per threat id cited in `policy/`, and the other way round."""

from __future__ import annotations

import re
import types
from pathlib import Path

import pytest

from policy import BundleError, Policy, UnsettledClaim, compile_policy
from policy.evaluation.emitter import emit_event
from policy.syntax.parser import MAX_SYNTAX_REPORTS, MAX_TEXT_CHARS
from policy.text.diagnostics import MAX_FINDINGS
from policy.tools import bundles
from tests.policy.policy_texts import SAMPLES, TOOLS, errors, judge, small

ROOT = Path(__file__).parent.parent.parent


def test_every_threat_cited_in_the_package_has_a_test_here_and_the_other_way_round() -> None:
    cited = {n for file in (ROOT / "policy").rglob("*.py") for n in re.findall(r"THREAT\[TM-POL-(\d{3})\]", file.read_text())}
    tested = set(re.findall(r"def test_tm_pol_(\d{3})_", Path(__file__).read_text()))
    assert cited == tested


def test_tm_pol_001_untrusted_text_is_bounded_in_size_depth_and_reports() -> None:
    assert errors("policy p v 1\n" + "x" * MAX_TEXT_CHARS) == ["HP003"]
    assert errors("policy p v 1\nallow run when " + "(" * 5000 + "a" + ")" * 5000)[0] == "HP002"
    assert len(errors("policy p v 1\n" + "allow\n" * 5000)) == MAX_SYNTAX_REPORTS
    assert len(judge("policy p v 1\n" + "allow nothing\n" * 5000).diagnostics) <= MAX_FINDINGS


@pytest.mark.parametrize("path", ["../x.hatch", "/etc/x.hatch", "a/../../x.hatch", "a\\..\\x.hatch", "x.txt", "link.hatch"])
def test_tm_pol_002_an_import_cannot_leave_its_folder(path: str, tmp_path: Path) -> None:
    from policy.checker import check
    from policy.lowering.loading import Folder

    (tmp_path / "x.hatch").write_text("policy secret v 1\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.hatch").symlink_to(tmp_path / "x.hatch")
    (inner / "p.hatch").write_text(small(f'import "{path}"'))
    found = [d for d in check("p.hatch", Folder(inner)).diagnostics if d.severity == "error"]
    assert [d.code for d in found] == ["HP010"]
    assert "secret" not in found[0].message


def test_tm_pol_003_arguments_cannot_pose_as_facts_about_the_caller() -> None:
    policy = compile_policy(small("allow payments.refund when tenant == acme and amount <= 5 rate 1/h per tenant"), catalog=TOOLS)
    posing = {"tenant": "acme", "session.mfa": True, "amount": 1}
    attributes = policy.attributes("payments.refund", {"tenant": "evil"}, posing)
    assert attributes == {"tenant": "evil", "amount": 1}
    assert policy.attributes("payments.refund", {}, posing) == {"amount": 1}
    assert policy.decide("payments.refund", policy.attributes("payments.refund", {}, posing)).rule == "invalid"


def test_tm_pol_004_nothing_in_a_bundle_is_parsed_before_its_signature_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = bundles.new_key()
    data = bundles.make_bundle(Policy.load(SAMPLES / "acme.prod.hatch"), bundles.read_private_key(private))
    stranger = bundles.read_public_key(bundles.new_key()[1])

    def never(*arguments: object, **options: object) -> object:
        raise AssertionError("the payload was decoded")

    decode = bundles.msgspec.json.decode
    monkeypatch.setattr(
        bundles.msgspec.json, "decode", lambda raw, type: decode(raw, type=type) if type is bundles.Envelope else never()
    )
    with pytest.raises(BundleError):
        bundles.open_bundle(data, [stranger])
    with pytest.raises(AssertionError):
        bundles.open_bundle(data, [bundles.read_public_key(public)])


def test_tm_pol_005_all_claims_together_may_spend_a_bounded_effort() -> None:
    from policy.solver.solver import Effort, solve
    from tests.policy.solver.test_solver import hard_claim, hard_universe

    effort = Effort(1_000)
    with pytest.raises(UnsettledClaim):
        solve(hard_claim(8), hard_universe(8), effort)
    assert effort.left < 1_000


def test_tm_pol_006_text_of_a_policy_reaches_generated_code_only_as_constants() -> None:
    evil = "__import__('os').system('x')"
    allow = f'allow secret.use when name == "{evil}" and caller == evil_name because "{evil}"'
    policy = compile_policy(small(allow + f'\ndeny secret.use when tenant == "{evil}"'))
    code = emit_event(policy.ir, "secret.use").__code__
    names: set[str] = set()
    pending = [code]
    while pending:
        current = pending.pop()
        names.update(current.co_names, current.co_varnames)
        pending += [constant for constant in current.co_consts if isinstance(constant, types.CodeType)]
    assert all(re.fullmatch(r"[a-z]+\d*|c_\w+|__class__|Failure|is_host|is_path", name) for name in names), names
    assert not any("evil" in name or "import" in name or name == "os" for name in names)
    assert policy.decide("secret.use", {"tenant": "a", "name": evil, "caller": "evil_name"}).verdict == "allow"


def test_tm_pol_007_a_missing_or_malformed_attribute_denies_before_any_rule_is_read() -> None:
    policy = compile_policy(
        small("allow payments.refund when not (amount > 5 or currency == usd) rate 1/h per tenant"), catalog=TOOLS
    )
    good = {"amount": 5, "currency": "eur"}
    assert policy.decide("payments.refund", good).verdict == "allow"
    for broken in (
        {"amount": 5},
        {"currency": "eur"},
        {**good, "amount": "5"},
        {**good, "amount": 0},
        {**good, "currency": "EUR"},
    ):
        assert policy.decide("payments.refund", broken).rule == "invalid"
