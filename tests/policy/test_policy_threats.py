"""One test per threat id cited in `policy/`, and the other way round."""

from __future__ import annotations

import hashlib
import re
import time
import types
import unicodedata
from pathlib import Path

import pytest

from policy import BundleError, Policy, UnsettledClaim, compile_policy
from policy.evaluation import interpreter
from policy.evaluation.emitter import emit_event
from policy.syntax.parser import MAX_SYNTAX_REPORTS, MAX_TEXT_CHARS
from policy.text.diagnostics import MAX_FINDINGS
from policy.tools import bundles
from tests.policy.policy_texts import PASSING_TEST, SAMPLES, TOOLS, errors, judge, small

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
    private, public = bundles.make_key()
    data = bundles.make_bundle(Policy.load(SAMPLES / "acme.prod.hatch"), bundles.read_private_key(private))
    stranger = bundles.read_public_key(bundles.make_key()[1])

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
    assert all(re.fullmatch(r"[a-z]+\d*|c_\w+|__class__|Failure", name) for name in names), names
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


def narrow(base: str, child: str) -> list[str]:
    """The errors of a policy that narrows a base."""
    return errors(f"policy p v 1 narrows base\n{child}\n{PASSING_TEST}", {"base.hatch": f"policy base v 1\n{base}\n"})


def test_tm_pol_005_a_copy_of_a_base_with_hundreds_of_rated_rules_is_proved_at_once() -> None:
    rules = [f'allow fs.read when path under "/d{i}" rate {i + 1}/h per session' for i in range(400)]
    begun = time.process_time()
    assert narrow("\n".join(rules), "\n".join([*rules, 'deny fs.read when path == "/d7/x"'])) == []
    assert time.process_time() - begun < 8


@pytest.mark.parametrize(
    "lets",
    [
        "let g = session.mfa or z\nlet z = tenant == b",
        "let g = session.mfa or g",
        "let g = session.mfa or z\nlet z = tenant == b or g",
        "let y = z\nlet z = tenant == b\nlet g = y",
    ],
)
@pytest.mark.parametrize(
    "use", ["deny fs.read when g", "prove no fs.read when g", "scope g { deny fs.read }", "limit fs.read when g { timeout 1s }"]
)
def test_tm_pol_008_no_rule_vanishes_with_a_let_that_has_no_meaning(lets: str, use: str) -> None:
    checked = judge(small(f'{lets}\nallow fs.read when path under "/a"\n{use}'))
    assert "HP022" in [d.code for d in checked.diagnostics]
    assert checked.evaluator is None


def test_tm_pol_008_a_fault_without_a_reason_refuses_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    from policy.lowering.conditions import Conditions

    monkeypatch.setattr(Conditions, "_refuse_early_uses", lambda self, name: None, raising=False)
    assert errors(small("let g = session.mfa or z\nlet z = tenant == b\nallow fs.read\ndeny fs.read when g")) == ["HP099"]


AUTOMATIC = "ask run by boss within 5m auto when session.risk >= 0"
LIMIT = "limit run { cpu 1s memory 1MiB output 1KiB }"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (f"allow run rate 1/h per tenant\n{LIMIT}", f"{AUTOMATIC}\n{LIMIT}", "HP081"),
        (f"allow run\n{LIMIT}", f"{AUTOMATIC}\n{LIMIT.replace('cpu 1s', 'cpu 1h')}", "HP082"),
        (
            f'allow run\n{LIMIT}\nhook h on before run run wasm "h.wasm" timeout 1s on_error block',
            f"{AUTOMATIC}\n{LIMIT}",
            "HP081",
        ),
    ],
    ids=["rate", "limit", "hook"],
)
def test_tm_pol_009_an_automatic_ask_does_not_hide_what_became_weaker(old: str, new: str, code: str) -> None:
    from policy.tools.diff import diff

    before, after = compile_policy(small(old)), compile_policy(small(new))
    assert [change.loosens for change in diff(before, after)] == [True]
    assert diff(before, before) == []
    assert narrow(old, new) == [code]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "auto when session.risk >= 0"),
        ("auto when session.risk <= 10", "auto when session.risk <= 11"),
        ("auto when session.risk <= 10", "auto when session.risk >= 11"),
    ],
)
def test_tm_pol_009_an_ask_that_a_rule_approves_does_not_narrow_one_that_a_person_approves(old: str, new: str) -> None:
    from policy.tools.diff import diff

    before, after = (f"ask fs.read by boss within 1h {auto}" for auto in (old, new))
    assert narrow(before, after) == ["HP081"] and narrow(before, before) == []
    assert any(change.loosens for change in diff(compile_policy(small(before)), compile_policy(small(after))))
    if not old:
        assert narrow(after, before) == []


def test_tm_pol_005_a_copy_of_a_base_of_many_rated_rules_is_no_question_for_the_prover() -> None:
    from policy.model import ir
    from policy.proofs.strictness import find_weaknesses

    rules = "\n".join(f'allow fs.read when path under "/{i}" rate {i + 1}/h per tenant' for i in range(300))
    policy = compile_policy(small(rules)).ir
    asked: list[ir.Expr] = []
    assert list(find_weaknesses(policy, policy, "fs.read", lambda condition: bool(asked.append(condition)))) == []
    assert {condition for condition in asked if condition != ir.FALSE} == set()


@pytest.mark.parametrize(
    ("rates", "narrows"),
    [((10, 9, 8, 7), False), ((10, 10, 10, 10), True), ((4, 3, 2, 1), True), ((9, 9, 9, 9), True), ((5, 6, 5, 6), False)],
)
def test_tm_pol_009_a_rate_that_is_split_does_not_narrow(rates: tuple[int, ...], narrows: bool) -> None:
    from policy.tools.diff import diff

    base = "allow fs.read rate 10/h per tenant"
    split = "\n".join(f'allow fs.read when path under "/{i}" rate {n}/h per tenant' for i, n in enumerate(rates))
    assert narrow(base, split) == ([] if narrows else ["HP081"])
    changes = diff(compile_policy(small(base)), compile_policy(small(split)))
    assert any(change.loosens for change in changes) != narrows


@pytest.mark.parametrize(
    ("base", "child", "narrows"),
    [
        ("2s on_error warn", "1ms on_error warn", False),
        ("2s on_error warn", "3s on_error warn", True),
        ("2s on_error warn", "1ms on_error block", True),
        ("2s on_error block", "1s on_error block", True),
        ("2s on_error block", "3s on_error block", False),
        ("2s on_error block", "2s on_error warn", False),
    ],
)
def test_tm_pol_009_a_hook_with_another_timeout_narrows_only_if_it_fails_no_more_openly(
    base: str, child: str, narrows: bool
) -> None:
    hook = 'allow fs.read\nhook guard on before fs.read run shell "guard.sh" timeout'
    assert narrow(f"{hook} {base}", f"{hook} {child}") == ([] if narrows else ["HP081"])


@pytest.mark.parametrize("rule", ['allow fs.read when path under "/"', "allow fs.read"])
@pytest.mark.parametrize("path", [None, "/../etc/shadow", "data", "/data/", "/data//x", "/data/e\u0301", 7])
def test_tm_pol_010_a_path_is_in_normal_form_before_any_rule_though_none_looks_at_it(rule: str, path: object) -> None:
    policy = compile_policy(small(rule))
    assert policy.decide("fs.read", {"path": "/elsewhere"}).verdict == "allow"
    assert policy.decide("fs.read", {} if path is None else {"path": path}).rule == "invalid"
    assert policy.open_session({"tenant": "acme"}).decide("fs.read", {} if path is None else {"path": path}).rule == "invalid"


def test_tm_pol_010_a_decomposed_spelling_does_not_pass_a_rule_about_the_composed_one() -> None:
    policy = compile_policy(small('allow fs.read when not path under "/data/\u00e9"'))
    assert policy.decide("fs.read", {"path": "/data/\u00e9/x"}).verdict == "deny"
    assert policy.decide("fs.read", {"path": "/data/e\u0301/x"}).rule == "invalid"


def test_tm_pol_010_a_decomposed_name_does_not_pass_a_rule_about_the_composed_one() -> None:
    policy = compile_policy(small('allow secret.use\ndeny secret.use when name == "caf\u00e9"'))
    for name in ("caf\u00e9", "cafe\u0301"):
        asked = policy.attributes("secret.use", {}, {"name": name, "caller": "run"})
        assert policy.decide("secret.use", asked).rule == "deny:secret.use#1"
    assert policy.decide("secret.use", {"name": "cafe\u0301", "caller": "run"}).rule == "invalid"


@pytest.mark.parametrize("host", [None, "API.acme.example", "10.0.0.1", "api.acme.example.", "api.acme.example:443", 7])
def test_tm_pol_010_a_host_is_in_normal_form_before_any_rule_though_none_looks_at_it(host: object) -> None:
    policy = compile_policy(small("allow net.connect when port == 443"))
    assert policy.decide("net.connect", {"port": 443, "host": "api.acme.example"}).verdict == "allow"
    assert policy.decide("net.connect", {"port": 443} if host is None else {"port": 443, "host": host}).rule == "invalid"


def test_tm_pol_011_a_wildcard_in_a_path_is_refused() -> None:
    assert errors(small('allow fs.read\ndeny fs.read when path under "/data/*"')) == ["HP029"]
    assert errors(small('allow fs.read\ndeny fs.read when path == "/data?"')) == ["HP029"]
    assert errors(small("allow fs.read\ndeny any with effects { }")) == ["HP001"]


def test_tm_pol_011_a_promise_in_an_imported_header_is_refused() -> None:
    shared = {"shared.hatch": "policy shared v 1 narrows base\n", "base.hatch": "policy base v 1\n"}
    assert errors(small('import "shared.hatch"\nallow fs.read'), shared) == ["HP012"]


@pytest.mark.parametrize(("digits", "codes"), [(8, ["HP014"]), (15, ["HP014"]), (16, []), (64, [])])
def test_tm_pol_011_a_pin_has_sixteen_digits_or_more(digits: int, codes: list[str]) -> None:
    pinned = f'v 1 catalog "tools@sha256:{TOOLS.digest[:digits]}"'
    assert errors(small("allow fs.read").replace("v 1", pinned, 1)) == codes


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


HOOK = 'allow fs.read\nhook guard on before fs.read run shell "{}"{} timeout 1s on_error block'


@pytest.mark.parametrize(
    ("hook", "files", "narrows"),
    [
        (HOOK.format("guard.sh", ""), {"guard.sh": b"exit 0"}, False),
        (HOOK.format("guard.sh", ""), {}, False),
        (HOOK.format("guard.sh", f" sha256:{digest(b'exit 0')}"), {"guard.sh": b"exit 0"}, False),
        (HOOK.format("guard.sh", ""), {"guard.sh": b"judge"}, True),
        (HOOK.format("mine/other.sh", ""), {"mine/other.sh": b"judge"}, True),
        (HOOK.format("guard.sh", f" sha256:{digest(b'judge')}"), {}, True),
    ],
    ids=["another program", "no program", "another digest", "the same program", "another name", "the digest alone"],
)
@pytest.mark.parametrize("is_written", [False, True])
def test_tm_pol_012_a_no_op_under_the_name_of_the_bases_hook_program_does_not_narrow(
    hook: str, files: dict[str, bytes], narrows: bool, is_written: bool
) -> None:
    from policy.checker import check
    from policy.lowering.loading import Base, Memory

    base = HOOK.format("guard.sh", f" sha256:{digest(b'judge')}" if is_written else "")
    operators = Base(Memory({"base.hatch": f"policy base v 1\n{base}", "guard.sh": b"judge"}))
    sources = {"p.hatch": small(hook).replace("v 1", "v 1 narrows base", 1), **files}
    found = [d.code for d in check("p.hatch", Memory(sources), None, operators).diagnostics if d.severity == "error"]
    assert found == ([] if narrows else ["HP081"])


def _hooks(*names: str, phase: str = "before") -> str:
    own, *lines = "allow fs.read", *(f'hook {n} on {phase} fs.read run shell "{n}.sh" timeout 1s on_error block' for n in names)
    return "\n".join([own, *lines])


@pytest.mark.parametrize(
    ("base", "mine", "phase", "narrows"),
    [
        (["guard"], ["own", "guard"], "before", True),
        (["guard"], ["guard", "own"], "before", False),
        (["guard", "last"], ["guard", "own", "last"], "before", False),
        (["guard", "last"], ["last", "guard"], "before", False),
        (["guard", "last"], ["own", "guard", "last"], "before", True),
        (["redact"], ["redact", "own"], "after", True),
        (["redact"], ["own", "redact"], "after", False),
        (["greet"], ["greet", "own"], "session_start", True),
    ],
)
def test_tm_pol_013_no_hook_may_rewrite_what_the_bases_hook_has_judged(
    base: list[str], mine: list[str], phase: str, narrows: bool
) -> None:
    def text(names: list[str]) -> str:
        return (
            _hooks(*names, phase=phase).replace(" fs.read run", " run")
            if phase == "session_start"
            else _hooks(*names, phase=phase)
        )

    found = errors(small(text(mine)).replace("v 1", "v 1 narrows base", 1), {"base.hatch": f"policy base v 1\n{text(base)}"})
    assert found == ([] if narrows else ["HP081"])


def test_tm_pol_013_a_guard_on_both_sides_or_another_condition_is_enough() -> None:
    guard = 'hook guard on before fs.read when user == a run shell "g.sh" timeout 1s on_error block\n'
    other = 'hook own on before fs.read when user == {} run shell "o.sh" timeout 1s on_error block\n'
    for user, expected in (("b", []), ("a", ["HP081"])):
        mine = small("allow fs.read\n" + guard + other.format(user)).replace("v 1", "v 1 narrows base", 1)
        assert errors(mine, {"base.hatch": f"policy base v 1\nallow fs.read\n{guard}"}) == expected


def test_tm_pol_012_diff_compares_hook_programs_by_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from policy.tools.commands import main

    for folder, program in (("old", "judge"), ("new", "exit 0"), ("same", "judge")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "guard.sh").write_text(program)
        (tmp_path / folder / "p.hatch").write_text(small(HOOK.format("guard.sh", "")))
    assert main(["diff", str(tmp_path / "old/p.hatch"), str(tmp_path / "new/p.hatch")]) == 1
    assert f"sha256:{digest(b'exit 0')[:16]}" in capsys.readouterr().out
    assert main(["diff", str(tmp_path / "old/p.hatch"), str(tmp_path / "same/p.hatch")]) == 0


def test_tm_pol_011_no_rule_is_about_a_text_that_only_looks_like_another() -> None:
    """`deny … when tenant == "acme⠀"` would read like a rule about acme, and protect nothing."""
    seen = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"  # marks that are drawn
    blank = ["\u2800", "\u2d7f", "\u3164", "\uffa0", "\u115f", "\U00016fe4", "\U0001d159", "\u034f", "\ufe0f"]
    for number in range(0x110000):
        if unicodedata.category(chr(number)) in ("Zs", "Zl", "Zp", "Cf") and chr(number) not in " " + seen:
            blank.append(chr(number))
    assert len(blank) > 160
    for char in blank:
        found = errors(small(f'allow fs.read\ndeny fs.read when tenant == "acme{char}"'))
        assert set(found) & {"HP004", "HP026"}, f"U+{ord(char):04X} {found}"


def test_tm_pol_011_a_replay_of_nothing_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from policy.tools.commands import main

    file, records = tmp_path / "p.hatch", tmp_path / "none.jsonl"
    file.write_text(small("allow fs.read"))
    records.write_text("\n")
    assert main(["replay", str(file), str(records)]) == 1
    assert "nothing was replayed" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--mutants"]])
def test_tm_pol_011_a_test_run_that_matches_nothing_fails(tmp_path: Path, more: list[str]) -> None:
    from policy.tools.commands import main

    file = tmp_path / "p.hatch"
    file.write_text(small("allow fs.read"))
    assert main(["test", str(file), *more, "--match", "no such title"]) == 1


@pytest.mark.parametrize("pattern", ["acme-*.com", "acme-*.run.app", "*-acme.github.io", "acme.*"])
def test_tm_pol_014_a_pattern_of_hosts_covers_no_name_that_others_can_register(pattern: str) -> None:
    assert errors(small(f'allow net.connect when host like "{pattern}" and port == 443')) == ["HP035"]
    assert errors(small('allow net.connect when host like "a-*.acme.example" and port == 443')) == []


@pytest.mark.parametrize("user", ["", ".", "..", "a/b", "ann/..", "../ann", "/"])
@pytest.mark.parametrize("path", ["/", "/home", "/home/ann", "/home/a", "/home/a/b", "/ann"])
@pytest.mark.parametrize("folder", ["/home/{user}", "/{user}"])
def test_tm_pol_015_a_name_that_is_no_segment_is_no_folder(folder: str, user: str, path: str) -> None:
    policy = compile_policy(small(f'allow fs.read when path under "{folder}"'))
    attributes = {"path": path, "user": user}
    assert policy.decide("fs.read", attributes).verdict == "deny"
    assert interpreter.decide(policy.ir, "fs.read", attributes).verdict == "deny"
    assert policy.decide("fs.read", {"path": "/home/ann/x", "user": "home" if folder == "/{user}" else "ann"}).verdict == "allow"
