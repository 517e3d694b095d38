"""`hatchway doctor`: what works on this machine, what is compiled, and what it would take."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from hatchway.cli.options import add_parser
from hatchway.cli.terminal import paint
from sandbox.engine.memory import kernel
from sandbox.engine.wasmtime import VERSION
from sandbox.errors import SandboxError
from sandbox.guests.images import Images, check_pins, images, source_of
from sandbox.languages import GUESTS
from sandbox.workers.jail import jail


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. `state` is good, slow (works, with less) or bad."""

    what: str
    state: str
    detail: str


def add_command(commands: Any) -> None:
    about = "Check this machine: what works, what works with less (note), what is missing (FAIL, and exit status 1)."
    doctor = add_parser(commands, "doctor", description=about)
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.add_argument("--verify", action="store_true", help="hash every cached file and every guest again (takes seconds)")


def run(options: argparse.Namespace) -> int:
    findings = examine(images, verify=options.verify)
    if options.json:
        print(msgspec.json.encode([asdict(finding) for finding in findings]).decode())
    else:
        for finding in findings:
            mark, colour = {"good": ("ok  ", "green"), "slow": ("note", "yellow"), "bad": ("FAIL", "red")}[finding.state]
            print(f"{paint(mark, colour, sys.stdout)}  {finding.what:22} {finding.detail}")
    return 1 if any(finding.state == "bad" for finding in findings) else 0


def examine(store: Images, *, verify: bool = False) -> list[Finding]:
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    findings = [
        Finding("python", "good" if sys.version_info >= (3, 11) else "bad", platform.python_version()),
        Finding("platform", "good" if sys.platform == "linux" else "bad", system),
        _examine_engine(),
        _examine_memory_tracking(),
        Finding("cores", "good" if (os.cpu_count() or 1) > 1 else "slow", f"{os.cpu_count()}; as many guests compute at once"),
    ]
    try:
        findings.append(Finding("cache", "good", f"{store.cache.directory} (private, sealed)"))
        findings.extend(_examine_guest(store, name, verify) for name in GUESTS)
    except SandboxError as error:
        findings.append(Finding("cache", "bad", str(error)))
    findings.extend(_describe_layer(layer) for layer in jail.examine())
    return findings


def _describe_layer(layer: jail.Layer) -> Finding:
    """A layer of the jail of worker processes. Without a required one `hatchway serve` needs `jail = "best_effort"`."""
    if layer.applied:
        return Finding(f"jail: {layer.name}", "good", layer.detail)
    needed = "; workers start only with jail = best_effort" if layer.required else ""
    return Finding(f"jail: {layer.name}", "slow", layer.detail + needed)


def _examine_engine() -> Finding:
    ends = find_end_of_fixes(VERSION)
    if datetime.date.today() <= ends:
        return Finding("engine", "good", f"wasmtime {VERSION}, a release line with security fixes until {ends}")
    return Finding("engine", "slow", f"wasmtime {VERSION}, whose security fixes ended on {ends}: update Hatchway")


def find_end_of_fixes(version: str) -> datetime.date:
    """wasmtime makes a release line on the 20th of each month (36 was August 2025) and fixes it for two months. Its Python
    package has no patches of the lines that are fixed for longer."""
    months = 7 + int(version.partition(".")[0]) - 36 + 2
    return datetime.date(2025 + months // 12, months % 12 + 1, 20)


def _examine_memory_tracking() -> Finding:
    method = kernel().method
    if method == "pagemap scan with write tracking":
        return Finding("written pages", "good", f"{method}: checkpoints copy only what changed")
    faster = "Linux 6.7 or newer with userfaultfd is faster (sysctl vm.unprivileged_userfaultfd=1)"
    return Finding("written pages", "slow", f"by {method}; {faster}")


def _examine_guest(store: Images, name: str, verify: bool) -> Finding:
    try:
        source = source_of(name)
        if verify:
            check_pins(source)
        found = [store.cache.find(entry, verify=verify) for entry in store.names(source, False)]
    except SandboxError as error:
        return Finding(f"{name} guest", "bad", str(error))
    if all(found):
        return Finding(f"{name} guest", "good", "compiled and started" + (", contents verified" if verify else ""))
    seconds = max(1, round(source.wasm.stat().st_size / 1e6 * 0.75))
    return Finding(f"{name} guest", "slow", f"not compiled yet; hatchway images build takes about {seconds} s, once")
