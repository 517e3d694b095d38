"""How `hatchway remote` shows answers that are neither a table nor a list of facts, and what its exit status says about them.

Rules: a function of `SHOWN` gets the answer as plain values and writes it for people. Exit status 1: the answer is a no, though
the gateway carried out what it was asked (a policy is refused, or permits more; a log is broken; a worker takes no input).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from hatchway.cli.output import cell, printable, show_facts, show_table
from hatchway.client.client import Client
from hatchway.client.operations import Operation
from hatchway.client.requests import Refused

Answer = Any
_REFUSED: Final = 1


def choose_status(operation: Operation, answer: Answer) -> int:
    if operation.name == "policy check":
        return 0 if answer["ok"] else _REFUSED
    if operation.name == "policy diff":
        return _REFUSED if any(one["loosens"] for one in answer) else 0
    if operation.name == "audit verify":
        return _REFUSED if answer["findings"] else 0
    if operation.name == "cancel":
        return 0 if answer["cancelled"] else _REFUSED
    if operation.name == "runners run":
        return int(answer["exit_code"]) if answer["exit_code"] is not None else 1
    if isinstance(answer, Mapping) and answer.get("state") == "rejected":
        for one in answer.get("diagnostics", []):
            print(f"{one['severity']}: {printable(one['message'])}", file=sys.stderr)
        return _REFUSED
    return 0


def show_refused(client: Client, arguments: Mapping[str, Any], place: Path, refused: Refused) -> int:
    """Every mistake of a policy that was refused, with its file and line. The refusal itself names one."""
    from hatchway.remote.policy_sources import is_coloured, rendered

    asked = {name: arguments[name] for name in ("sources", "main")}
    findings = client.do("policy check", **asked)["findings"]
    if not findings:
        raise refused
    print(rendered(findings, asked["sources"], place, colour=is_coloured(sys.stderr)), file=sys.stderr)
    print(f"{place}: refused, {_counted(findings)}", file=sys.stderr)
    return _REFUSED


def _counted(findings: list[Any]) -> str:
    errors = sum(one["severity"] == "error" for one in findings)
    return f"{errors} error(s), {len(findings) - errors} warning(s)"


def _show_check(answer: Answer, options: argparse.Namespace) -> None:
    from hatchway.remote.policy_sources import is_coloured, read_sources, rendered

    place = Path(options.given_sources)
    if answer["findings"]:
        sources, _ = read_sources(place, getattr(options, "given_main", None))
        print(rendered(answer["findings"], sources, place, colour=is_coloured()))
    if answer["ok"]:
        facts = f"{answer['rules']} rules, {answer['tests']} tests passed, {len(answer['proofs'])} claims proved"
        print(f"{place}: {answer['name']} v{answer['version']}: {facts}, {len(answer['findings'])} warning(s)")
    else:
        print(f"{place}: {_counted(answer['findings'])}")


def _show_deployed(answer: Answer, options: argparse.Namespace) -> None:
    policy, replayed = answer["policy"], answer["replayed"]
    state = {"active": "is in force", "shadow": "is in the shadow"}.get(policy["state"], policy["state"])
    print(f"{policy['name']} v{policy['version']} {state}: {policy['digest']}")
    if replayed["total"]:
        print(
            f"of the {replayed['total']} newest decisions {replayed['changed']} would change, {replayed['loosened']} permit more"
        )


def _show_changes(answer: Answer, options: argparse.Namespace) -> None:
    for one in answer:
        asked = ", ".join(f"{name} {cell(value, name)}" for name, value in one["attributes"].items())
        print(f"{'!' if one['loosens'] else ' '} {one['capability']}: {one['what']}")
        print(f"    e.g. {one['capability']} {{ {printable(asked)} }}\n    {one['before']}  →  {one['after']}")
    loosened = sum(one["loosens"] for one in answer)
    print(f"{len(answer)} class(es) of requests change, {loosened} permit more (marked !)" if answer else "nothing changes")


def _show_policy(answer: Answer, options: argparse.Namespace) -> None:
    show_facts({name: value for name, value in answer.items() if name not in ("sources", "catalog")})
    for name, text in answer["sources"].items():
        print(f"\n--- {printable(name)}")
        print("\n".join(printable(line) for line in text.splitlines()))


def _show_token(answer: Answer, options: argparse.Namespace) -> None:
    token = answer["token"]
    print(f"{token['id']}: a token for {token['role']} of {token['tenant']}, shown this once:", file=sys.stderr)
    print(answer["secret"])


def _show_snapshots(answer: Answer, options: argparse.Namespace) -> None:
    groups = [("file", answer["files"]), *((f"{name} variable", one) for name, one in answer["variables"].items())]
    for title, change in groups:
        for sign, kind in (("+", "added"), ("-", "removed"), ("~", "changed")):
            for name in change.get(kind, ()):
                print(f"{sign} {title} {printable(name)}")
    for name, count in answer["pages"].items():
        print(f"  {count} pages of {name} memory differ")


def _show_verdict(answer: Answer, options: argparse.Namespace) -> None:
    span = f"records {answer['first']} to {answer['head'].partition(':')[0]}" if answer["records"] else "no records"
    print(f"{'BROKEN' if answer['findings'] else 'whole'}, {span}, head {answer['head']}")
    for one in answer["findings"]:
        print(f"  {one['problem']}: {printable(one['message'])}")


def _show_runners(answer: Answer, options: argparse.Namespace) -> None:
    abilities = [
        {"id": one["id"], "can": [name for name, able in one["capabilities"].items() if able is True]}
        for one in answer["providers"]
    ]
    for title, items, columns in (
        ("providers", abilities, ("id", "can")),
        ("destinations", answer["destinations"], ("id", "provider_id")),
        ("threads", [{"id": one} for one in answer["threads"]], ("id",)),
    ):
        print(f"{title}{'' if items else ': none'}")
        show_table(items, columns)


def _show_command(answer: Answer, options: argparse.Namespace) -> None:
    sys.stdout.write(answer["stdout"])
    sys.stderr.write(answer["stderr"])
    if answer.get("status", "exited") != "exited":
        print(f"the command did not end by itself: {answer['status']}", file=sys.stderr)


def _show_transcript(answer: Answer, options: argparse.Namespace) -> None:
    for one in answer["items"]:
        for line in one["content"].splitlines() or [""]:
            print(f"{one['sequence']:>4} {one['role']}: {printable(line)}")


def _show_spawned(answer: Answer, options: argparse.Namespace) -> None:
    if answer.get("worker"):
        print(answer["worker"]["worker_id"])


def _say_nothing(answer: Answer, options: argparse.Namespace) -> None:
    """A refusal is told by `choose_status`."""


def _show_cancelled(answer: Answer, options: argparse.Namespace) -> None:
    if not answer["cancelled"]:
        print("nothing is under way", file=sys.stderr)


SHOWN: Final[dict[str, Callable[[Answer, argparse.Namespace], None]]] = {
    "cancel": _show_cancelled,
    "decide": lambda answer, options: print(answer["id"], answer["verdict"]),
    "policy check": _show_check,
    "policy deploy": _show_deployed,
    "policy diff": _show_changes,
    "policy explain": lambda answer, options: print("\n".join(map(printable, answer["text"].splitlines()))),
    "policy show": _show_policy,
    "tokens create": _show_token,
    "hooks muted": lambda answer, options: print("\n".join(map(printable, answer["patterns"])) or "none"),
    "hooks mute": lambda answer, options: print("\n".join(map(printable, answer["patterns"])) or "none"),
    "snapshots diff": _show_snapshots,
    "audit verify": _show_verdict,
    "runners list": _show_runners,
    "runners run": _show_command,
    "workers spawn": _show_spawned,
    "workers input": _say_nothing,
    "workers transcript": _show_transcript,
    "workers stop": _say_nothing,
    "workers cancel": _say_nothing,
    "workers restore": _say_nothing,
    "workers delete": _say_nothing,
}
