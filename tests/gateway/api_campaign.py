"""Schemathesis against the whole service: requests made from the OpenAPI document, one by one and in chains that use what
earlier answers named.

    python -m tests.gateway.api_campaign --seconds 600 --seed 7 [--workers processes]

It fails on a 5xx, on an answer that the document does not describe, on something that lives on after its deletion or is not
there after its creation. The service's log is read afterwards: a mistake of ours that no check saw is a failure too. The seed
makes the requests repeatable.

Two passes: everything but what would take the campaign its own token away, then only those, with a token of a tenant that is
there for it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.gateway.serving import Gateway, serving

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "use_after_free",
    "ensure_resource_availability",
)
SETTINGS = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "501"]

[checks.negative_data_rejection]
expected-statuses = ["4xx"]
"""
"""501 is said on purpose, of what the contract names and this service does not do. A refusal is a refusal: a text that is too
long for a field may be too long for a URL before that."""
SUICIDAL = ("revoke_token", "delete_tenant")
"""Operations that, in a chain, take away the token that asks or its tenant."""


@dataclass
class Report:
    """What came of it. `findings` are sentences for people; `text` is all that Schemathesis said."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    text: str = ""

    def __str__(self) -> str:
        shown = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        return f"{self.requests} requests to {len(self.operations)} operations ({shown}), {len(self.findings)} findings"


def campaign(
    folder: Path, *, seconds: int, seed: int, workers: str = "in-process", phases: str = "", examples: int = 0
) -> Report:
    """Everything, for about so many seconds; with `examples`, so many requests to each operation, in the first pass alone."""
    report = Report()
    (folder / "schemathesis.toml").write_text(SETTINGS, "utf-8")
    with serving(folder / "data", workers=workers) as gateway:
        victim = _tenant_of_its_own(gateway)
        last = 0 if examples else max(2, seconds // 10)
        chosen = ["--phases", phases or "examples,coverage,fuzzing,stateful"]
        chosen += ["--max-examples", str(examples)] if examples else ["--max-time", str(seconds - last)]
        chosen += [f"--exclude-operation-id={one}" for one in SUICIDAL]
        _pass(report, folder, gateway.url, gateway.token, seed, seconds, chosen)
        if last:
            chosen = ["--phases", "coverage,fuzzing", "--max-time", str(last)]
            chosen += [f"--include-operation-id={one}" for one in SUICIDAL]
            _pass(report, folder, gateway.url, victim, seed, seconds, chosen)
    _read_log(report, folder / "data.log")
    return report


def _tenant_of_its_own(gateway: Gateway) -> str:
    _ask(gateway, "/v1/tenants", {"id": "victim"})
    secret: str = _ask(gateway, "/v1/tokens", {"name": "victim", "role": "operator"}, tenant="victim")["secret"]
    return secret


def _ask(gateway: Gateway, path: str, body: Any, tenant: str = "default") -> Any:
    headers = {"Authorization": f"Bearer {gateway.token}", "Content-Type": "application/json", "Hatchway-Tenant": tenant}
    request = urllib.request.Request(gateway.url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def _pass(report: Report, folder: Path, url: str, token: str, seed: int, seconds: int, chosen: list[str]) -> None:
    words = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--header", f"Authorization: Bearer {token}"]
    words += ["--seed", str(seed), "--checks", ",".join(CHECKS), "--continue-on-failure", "--suppress-health-check", "all"]
    words += ["--warnings", "off", "--no-color", "--request-timeout", "120", *chosen]
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=3 * seconds + 120,
            env={**os.environ, "COLUMNS": "160"},
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        report.findings.append(f"Schemathesis did not come to an end: {str(late.stdout or '')[-500:]}")
        return
    report.text += done.stdout + done.stderr
    if done.returncode == 0:
        return
    failed = re.findall(r"^_{2,} (.+?) _{2,}$|^(- .+)$", done.stdout, re.MULTILINE)
    report.findings += [heading or line for heading, line in failed] or [
        f"exit {done.returncode}: {done.stdout[-800:]}{done.stderr[-800:]}"
    ]


def _read_log(report: Report, log: Path) -> None:
    lines = log.read_text("utf-8", "replace").splitlines()
    for number, text in enumerate(lines):
        try:
            line = json.loads(text)
        except ValueError:
            if "Traceback" in text:
                report.findings.append("the service printed:\n" + "\n".join(lines[max(0, number - 3) : number + 40]))
            continue
        if line.get("logger") == "hatchway.access":
            report.requests += 1
            report.statuses[line["status"]] += 1
            report.operations[line["operation"]] += 1
        if line.get("status", 0) in (500, 507) or line.get("level") in ("error", "critical"):
            report.findings.append(f"in the log: {text[:2000]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--workers", choices=("in-process", "processes"), default="in-process")
    parser.add_argument("--phases", default="", help="some of examples,coverage,fuzzing,stateful (default: all)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hatchway-api-") as folder:
        report = campaign(
            Path(folder), seconds=options.seconds, seed=options.seed, workers=options.workers, phases=options.phases
        )
    if report.findings:
        print(report.text)
        print("\n".join(report.findings))
    print(f"seed {options.seed}: {report}")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
