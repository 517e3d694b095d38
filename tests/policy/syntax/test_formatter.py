"""One standard layout that keeps comments and meaning."""

from __future__ import annotations

import pytest

from policy import Policy, PolicyError
from policy.syntax.formatter import WIDTH, format_text
from tests.policy.policy_texts import SAMPLE, SAMPLES, judge


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
        (
            f'policy p v 1\nhook h on before run run wasm "h.wasm"\n sha256:{"0" * 64} timeout 1s on_error block',
            f'policy p v 1\nhook h on before run\n  run wasm "h.wasm" sha256:{"0" * 64} timeout 1s on_error block\n',
        ),
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
