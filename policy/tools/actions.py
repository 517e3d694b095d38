"""What each policy command does, and what it prints.

Rules: each action has the name of its command and returns an exit status: 0 when all is well, 1 when the policy or the change
is refused, 2 when the command could not be carried out. Results go to standard output, complaints to standard error, colour only
to a terminal.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from policy import checker
from policy.checker import Checked
from policy.errors import BundleError, PolicyError
from policy.lowering.loading import Folder, Library, Replaced
from policy.model.catalog import CatalogError, load_catalog
from policy.policies import Policy
from policy.text.diagnostics import Findings

OK, REFUSED, FAILED = 0, 1, 2


def attempt(action: Callable[[], int]) -> int:
    """Carry out one command; every failure becomes a message and an exit status."""
    try:
        return action()
    except BundleError as error:
        print(f"bundle refused: {error}", file=sys.stderr)
        return REFUSED
    except PolicyError as error:
        _show(error)
        return REFUSED
    except BrokenPipeError:
        # The reader of our output is gone; there is no one to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (OSError, CatalogError) as error:
        print(f"cannot do this: {error}", file=sys.stderr)
        return FAILED


def _show(error: PolicyError) -> None:
    from policy.text.render import to_text

    if error.diagnostics:
        print(to_text(error.diagnostics, colour=_may_colour(sys.stderr)), file=sys.stderr)
    else:
        print(f"refused: {error}", file=sys.stderr)


def _may_colour(stream: object) -> bool:
    return bool(getattr(stream, "isatty", lambda: False)()) and "NO_COLOR" not in os.environ


def _library(file: str) -> tuple[str, Library]:
    place = Path(file)
    if not place.is_file():
        raise FileNotFoundError(f"no such file: {file}")
    return place.name, Folder(place.parent)


def _judge(file: str, catalog: str | None = None, extra: str = "") -> Checked:
    """The policy in a file, with `extra` added at its end. Findings name files as the command line did."""
    name, library = _library(file)
    types = load_catalog(Path(catalog).read_bytes()) if catalog else None
    data = library.read(name) if extra else None
    if data is not None:
        library = Replaced(name, data + extra.encode("utf-8", "replace"), library)
    checked = checker.check(name, library, types)
    folder = os.path.dirname(file)
    for source in {checked.program.source, *(d.span.source for d in checked.diagnostics if d.span is not None)}:
        source.path = os.path.join(folder, source.path)
    return checked


def _load_understood(file: str, catalog: str | None, extra: str = "") -> Checked:
    """A policy whose every statement is understood, though its claims and tests may fail."""
    checked = _judge(file, catalog, extra)
    if checked.evaluator is None:
        raise PolicyError.from_diagnostics(checked.diagnostics)
    return checked


def check(a: argparse.Namespace) -> int:
    from policy.text.render import to_json, to_sarif, to_text

    judged = [(file, _judge(file, a.catalog)) for file in a.files]
    findings = [d for _, checked in judged for d in checked.diagnostics]
    errors = sum(d.severity == "error" or a.strict for d in findings)
    if a.json or a.sarif:
        sys.stdout.write((to_json(findings) if a.json else to_sarif(findings)).decode() + "\n")
        return REFUSED if errors else OK
    if findings:
        print(to_text(findings, colour=_may_colour(sys.stdout)))
    for file, checked in judged:
        failed = [d for d in checked.diagnostics if d.severity == "error"]
        policy = checked.program.ir
        if failed:
            print(f"{file}: {len(failed)} error(s), {len(checked.diagnostics) - len(failed)} warning(s)")
        else:
            print(
                f"{file}: {policy.name} v{policy.version}: {len(policy.rules)} rules, {len(checked.results)} tests passed, "
                f"{len(checked.proofs)} claims proved, {len(checked.diagnostics)} warning(s)"
            )
    return REFUSED if errors else OK


def test(a: argparse.Namespace) -> int:
    from policy.proofs import policy_tests
    from policy.text.render import to_text

    checked = _load_understood(a.file, a.catalog)
    program = checked.program
    results = [r for r in checked.results if not a.match or a.match in r.case.title]
    for result in results:
        line = result.case.span.source.position(result.case.span.start)[0]
        print(
            f"{'ok  ' if result.passed else 'FAIL'} {result.case.title}, line {line}: "
            f"{result.case.request.capability} => {result.decision.verdict}"
            + ("" if result.passed else f", expected {result.case.verdict}")
        )
    incomplete = [d for d in checked.diagnostics if d.code in ("HP090", "HP092")]
    for finding in incomplete:
        print(f"FAIL {finding.location()}: {finding.message}")
    failed = sum(not r.passed for r in results) + len(incomplete)
    if not results:
        print("no test matches: that is a failure" if a.match else "no tests: that is a failure")
        failed += 1
    print(f"{len(results)} requests, {failed} failed")
    if a.coverage:
        found = policy_tests.coverage(program, a.match or "")
        for item in found:
            if not item.both:
                print(f"  {'never hit' if not item.hit else 'never missed'}: {item.rule}")
        both = sum(item.both for item in found)
        print(f"coverage: {both} of {len(found)} rules both hit and missed ({100 * both // max(1, len(found))} %)")
    if a.mutants:
        tried, survivors = policy_tests.mutants(program, a.match or "")
        findings = Findings()
        for mutant in survivors:
            message = f"no test notices if this is flipped in `{mutant.rule}`"
            findings.add("HP105", message, mutant.span, "add a request that it decides")
        if survivors:
            print(to_text(findings.sort(), colour=_may_colour(sys.stdout)))
        print(f"mutants: {tried - len(survivors)} of {tried} noticed ({100 * (tried - len(survivors)) // max(1, tried)} %)")
    return REFUSED if failed else OK


def fmt(a: argparse.Namespace) -> int:
    """Each file by itself: one that cannot be formatted does not keep the others from it."""
    return max(attempt(partial(_fmt_one, file, a)) for file in a.files)


def _fmt_one(file: str, a: argparse.Namespace) -> int:
    from policy.syntax.formatter import format_text

    if file != "-":
        _library(file)
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        before = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise PolicyError(f"{file} is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}") from None
    after = format_text(before, file)
    if file == "-" and not (a.check or a.diff):
        sys.stdout.write(after)
    elif after != before and a.diff:
        sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), file, file))
    elif after != before and a.check:
        print(f"{file}: not formatted")
    elif after != before:
        Path(file).write_bytes(after.encode("utf-8"))
        print(f"{file}: formatted")
    return REFUSED if after != before and (a.check or a.diff) else OK


def _to_json(value: object) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def explain(a: argparse.Namespace) -> int:
    from policy.evaluation import explain as explanations
    from policy.tools.request_arguments import read_question

    checked = _load_understood(a.file, a.catalog)
    attributes = read_question(checked.program.catalog, a.event, a.fields)
    explanation = explanations.explain(checked.program.ir, a.event, attributes)
    print(_to_json(explanation) if a.json else explanation)
    return OK


def prove(a: argparse.Namespace) -> int:
    from policy.proofs.claims import show

    extra = "".join(f"\nprove {' '.join(claim.split())}" for claim in a.claim)
    checked = _load_understood(a.file, a.catalog, extra)
    for proof in checked.proofs:
        print(f"{'proved' if proof.holds else 'FALSE '} {proof.text}  ({proof.method})")
        if proof.witness is not None:
            print(f"         for example {show(proof.witness)}")
    claims = ("HP012", "HP060", "HP070", "HP080", "HP081", "HP082", "HP083")
    failed = [d for d in checked.diagnostics if d.code in claims]
    for finding in failed:
        if finding.code not in ("HP080", "HP083"):
            print(f"FALSE  {finding.message}" + "".join(f"\n         {note}" for note in finding.notes))
    base = checked.program.ir.narrows
    if base and not any(d.code in ("HP012", "HP081", "HP082") for d in failed):
        print(f"proved narrows {base}")
    if not checked.proofs and not base:
        print("nothing to prove: the policy makes no claims")
    return REFUSED if failed else OK


def diff(a: argparse.Namespace) -> int:
    from policy.tools import diff

    old, new = (_policy(_load_understood(file, a.catalog)) for file in (a.old, a.new))
    changes = diff.diff(old, new)
    loosening = [change for change in changes if change.loosens]
    if a.json:
        print(_to_json(changes))
        return REFUSED if loosening else OK
    for change in changes:
        print(change)
    if not changes:
        print("no request is answered differently")
    else:
        print(f"{len(changes)} class(es) of requests change, {len(loosening)} permit more (marked !)")
    return REFUSED if loosening else OK


def _policy(checked: Checked) -> Policy:
    """For comparison: its hooks bound to the programs that lie next to it."""
    return Policy(checked.program.ir.bind(checked.loaded.library.read), checked.program.catalog)


def _load_passing(a: argparse.Namespace) -> Policy:
    """A policy that may be deployed."""
    _library(a.file)
    return Policy.load(a.file, catalog=load_catalog(Path(a.catalog).read_bytes()) if a.catalog else None)


def bundle(a: argparse.Namespace) -> int:
    from policy.tools import bundles

    if a.new_key:
        private, public = bundles.make_key()
        descriptor = os.open(f"{a.new_key}.key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(private)
        Path(f"{a.new_key}.pub").write_bytes(public)
        print(f"wrote {a.new_key}.key (keep it secret) and {a.new_key}.pub")
        return OK
    if a.verify:
        trusted = [bundles.read_public_key(Path(file).read_bytes()) for file in a.trust]
        payload = bundles.open_bundle(Path(a.verify).read_bytes(), trusted)
        print(
            f"{payload.policy.name} v{payload.policy.version}, digest {payload.policy_sha256}, "
            f"{payload.tests_passed} tests passed, {len(payload.proofs)} claims proved"
        )
        return OK
    if not (a.file and a.key and a.output):
        print("bundle needs FILE.hatch, --key and --output (or --verify, or --new-key)", file=sys.stderr)
        return FAILED
    policy = _load_passing(a)
    data = bundles.make_bundle(policy, bundles.read_private_key(Path(a.key).read_bytes()))
    Path(a.output).write_bytes(data)
    print(f"wrote {a.output}: {policy.name} v{policy.version}, digest {policy.digest}")
    return OK


def replay(a: argparse.Namespace) -> int:
    from policy.tools import replay

    policy = _load_passing(a)
    with open(a.records, "rb") as lines:
        result = replay.replay(policy, lines)
    for found in result.kept:
        mark = "!" if found.loosens else " "
        print(
            f"{mark} line {found.line}: {found.record.event}: "
            f"{found.record.verdict} → {found.decision.verdict} ({found.decision.rule})"
        )
    print(f"{result.total} decisions replayed, {result.changed} changed, {result.loosened} permit more")
    if not result.total:
        print(f"{a.records} holds no decision: nothing was replayed, which is a failure", file=sys.stderr)
        return REFUSED
    return REFUSED if result.loosened or (a.strict and result.changed) else OK


def catalog(a: argparse.Namespace) -> int:
    from policy.model.catalog import builtin_catalog

    catalog = load_catalog(Path(a.file).read_bytes()) if a.file else builtin_catalog()
    print(f'catalog "{catalog.name}@sha256:{catalog.digest[:32]}"')
    for capability in sorted(catalog.capabilities.values(), key=lambda c: c.name):
        print(f"{capability.name}  ({', '.join(capability.effects)})  {capability.doc}")
        for field in capability.fields.values():
            more = f" {{ {', '.join(field.values)} }}" if field.values else ""
            print(f"    {field.name}: {field.kind}{more}" + ("" if field.usable else ", optional: not usable in conditions"))
        for name, why in capability.left_out.items():
            print(f"    {name}: not usable in conditions: {why}")
    return OK


def lsp(a: argparse.Namespace) -> int:
    try:
        from policy.tools.language_server import serve
    except ImportError:
        print("the language server needs pygls: install the `lsp` extra", file=sys.stderr)
        return FAILED
    serve()
    return OK
