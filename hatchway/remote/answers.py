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

from hatchway.cli.terminal import printable, render_cell, show_differences, show_facts, show_table, show_verdict
from hatchway.client.client import Client
from hatchway.client.operations import Operation
from hatchway.client.requests import Refused

Answer = Any
_REFUSED: Final = 1
_STATUSES: Final[dict[str, Callable[[Answer], int | bool]]] = {
    "policy check": lambda answer: not answer["ok"],
    "policy diff": lambda answer: any(change["loosens"] for change in answer),
    "policy repin": lambda answer: answer["failed"] > 0,
    "audit verify": lambda answer: bool(answer["findings"]),
    "cancel": lambda answer: not answer["cancelled"],
    "runners cancel": lambda answer: not answer["cancelled"],
    "runners wait": lambda answer: 1 if answer["exit_code"] is None else answer["exit_code"],
}


def choose_status(operation: Operation, answer: Answer) -> int:
    if operation.name in _STATUSES:
        return int(_STATUSES[operation.name](answer))
    if isinstance(answer, Mapping) and answer.get("state") == "rejected":
        for finding in answer.get("diagnostics", []):
            print(f"{finding['severity']}: {printable(finding['message'])}", file=sys.stderr)
        return _REFUSED
    return 0


def show_refused(client: Client, arguments: Mapping[str, Any], place: Path, refused: Refused) -> int:
    """Every mistake of a policy that was refused, with its file and line. The refusal itself names one."""
    from hatchway.remote.policy_sources import is_coloured, render

    asked = {name: arguments[name] for name in ("sources", "main")}
    findings = client.do("policy check", **asked)["findings"]
    if not findings:
        raise refused
    print(render(findings, asked["sources"], place, colour=is_coloured(sys.stderr)), file=sys.stderr)
    print(f"{place}: refused, {_count_findings(findings)}", file=sys.stderr)
    return _REFUSED


def _count_findings(findings: list[Any]) -> str:
    errors = sum(item["severity"] == "error" for item in findings)
    return f"{errors} error(s), {len(findings) - errors} warning(s)"


def _show_check(answer: Answer, options: argparse.Namespace) -> None:
    from hatchway.remote.policy_sources import is_coloured, read_sources, render

    place = Path(options.given_sources)
    if answer["findings"]:
        sources, _ = read_sources(place, getattr(options, "given_main", None))
        print(render(answer["findings"], sources, place, colour=is_coloured()))
    if answer["ok"]:
        facts = f"{answer['rules']} rules, {answer['tests']} tests passed, {len(answer['proofs'])} claims proved"
        print(f"{place}: {answer['name']} v{answer['version']}: {facts}, {len(answer['findings'])} warning(s)")
    else:
        print(f"{place}: {_count_findings(answer['findings'])}")


def _show_deployed(answer: Answer, options: argparse.Namespace) -> None:
    policy, replayed = answer["policy"], answer["replayed"]
    state = {"active": "is in force", "shadow": "is in the shadow"}.get(policy["state"], policy["state"])
    print(f"{policy['name']} v{policy['version']} {state}: {policy['digest']}")
    if replayed["total"]:
        print(
            f"of the {replayed['total']} newest decisions {replayed['changed']} would change, {replayed['loosened']} permit more"
        )


def _show_repinned(answer: Answer, options: argparse.Namespace) -> None:
    dry, end = "given_dry_run" in options, "given_end" in options
    for item in answer["sessions"]:
        wrong = f"  cannot: {item['error']}" if item["error"] else "  a run waits for an approval" if item["is_waiting"] else ""
        print(printable(f"{item['id']}  {item['policy_name'] or item['policy'][:16]}  {item['user']}  {item['title']}{wrong}"))
    verb = "would be" if dry else "were" if end else "are now"
    then = "ended" if end else f"under {answer['policy_name']}"
    print(printable(f"{answer['changed']} session(s) {verb} {then}, {answer['failed']} cannot be"))


def _show_changes(answer: Answer, options: argparse.Namespace) -> None:
    for item in answer:
        asked = ", ".join(f"{name} {render_cell(value, name)}" for name, value in item["attributes"].items())
        print(f"{'!' if item['loosens'] else ' '} {item['capability']}: {item['what']}")
        print(f"    e.g. {item['capability']} {{ {printable(asked)} }}\n    {item['before']}  →  {item['after']}")
    loosened = sum(item["loosens"] for item in answer)
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


def _show_runners(answer: Answer, options: argparse.Namespace) -> None:
    abilities = [
        {"id": item["id"], "can": [name for name, able in item["capabilities"].items() if able is True]}
        for item in answer["providers"]
    ]
    for title, items, columns in (
        ("providers", abilities, ("id", "can")),
        ("destinations", answer["destinations"], ("id", "provider_id")),
        ("threads", [{"id": item} for item in answer["threads"]], ("id",)),
    ):
        print(f"{title}{'' if items else ': none'}")
        show_table(items, columns)


def _show_command(answer: Answer, options: argparse.Namespace) -> None:
    sys.stdout.write(answer["stdout"])
    sys.stderr.write(answer["stderr"])
    if answer.get("status", "exited") != "exited":
        print(f"the command did not end by itself: {answer['status']}", file=sys.stderr)


def _show_transcript(answer: Answer, options: argparse.Namespace) -> None:
    for item in answer["items"]:
        for line in item["content"].splitlines() or [""]:
            print(f"{item['sequence']:>4} {item['role']}: {printable(line)}")


def _show_spawned(answer: Answer, options: argparse.Namespace) -> None:
    if answer.get("worker"):
        print(answer["worker"]["worker_id"])


def _show_cancelled(answer: Answer, options: argparse.Namespace) -> None:
    if not answer["cancelled"]:
        print("nothing is under way", file=sys.stderr)


_SILENT: Final = ("workers input", "workers stop", "workers cancel", "workers restore", "workers delete")
"""A refusal of these is told by `choose_status`, and there is nothing else to say."""
SHOWN: Final[dict[str, Callable[[Answer, argparse.Namespace], None]]] = {
    "cancel": _show_cancelled,
    "runners cancel": _show_cancelled,
    "decide": lambda answer, options: print(answer["id"], answer["verdict"]),
    "policy check": _show_check,
    "policy deploy": _show_deployed,
    "policy diff": _show_changes,
    "policy repin": _show_repinned,
    "policy explain": lambda answer, options: print("\n".join(map(printable, answer["text"].splitlines()))),
    "policy show": _show_policy,
    "tokens create": _show_token,
    "hooks muted": lambda answer, options: print("\n".join(map(printable, answer["patterns"])) or "none"),
    "hooks mute": lambda answer, options: print("\n".join(map(printable, answer["patterns"])) or "none"),
    "snapshots diff": lambda answer, options: show_differences(answer),
    "audit verify": lambda answer, options: show_verdict(answer),
    "runners list": _show_runners,
    "runners wait": _show_command,
    "workers spawn": _show_spawned,
    "workers transcript": _show_transcript,
    **dict.fromkeys(_SILENT, lambda answer, options: None),
}
