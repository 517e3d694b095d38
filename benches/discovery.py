"""Finding scenarios: every module of a package under `benches/` that has a list `SCENARIOS`.

Rules: names are unique, and so are the names of a scenario's promises. A module that cannot be imported is not
skipped: it is returned as broken, with the reason, and the command fails because of it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass

import benches
from benches.harness import Scenario


@dataclass(frozen=True, slots=True)
class Found:
    scenarios: dict[str, Scenario]
    broken: dict[str, str]


def find() -> Found:
    scenarios: dict[str, Scenario] = {}
    broken: dict[str, str] = {}
    for name in _modules():
        try:
            listed: list[Scenario] = getattr(importlib.import_module(name), "SCENARIOS", [])
            for scenario in listed:
                _check(scenario, scenarios)
                scenarios[scenario.name] = scenario
        except Exception as error:
            broken[name] = f"{type(error).__name__}: {error}"
    return Found(scenarios, broken)


def _modules() -> Iterator[str]:
    """Packages directly under `benches/`, and the modules in them; a name that starts with an underscore is private."""
    for package in pkgutil.iter_modules(benches.__path__):
        if package.ispkg and not package.name.startswith("_"):
            yield f"benches.{package.name}"
            folder = [f"{path}/{package.name}" for path in benches.__path__]
            for module in pkgutil.iter_modules(folder):
                if not module.name.startswith("_"):
                    yield f"benches.{package.name}.{module.name}"


def _check(scenario: Scenario, others: dict[str, Scenario]) -> None:
    if others.get(scenario.name, scenario) is not scenario:
        raise ValueError(f"two scenarios are called {scenario.name!r}")
    names = [promise.name for promise in scenario.promises]
    if len(set(names)) != len(names):
        raise ValueError(f"the scenario {scenario.name!r} makes one promise twice")
