"""`hatchway-client`: the clients alone, as a wheel that has no engine and needs none."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.gateway.serving import Gateway

ROOT = Path(__file__).parents[3]
DESCRIBED = ROOT / "hatchway" / "client"
IMPORT_ALL = """
import json, sys
import hatchway
hatchway.Client, hatchway.AsyncClient, hatchway.RunResult, hatchway.RequestError
rooms = ("hatchway", "sandbox", "gateway", "policy", "wasmtime")
print(json.dumps([name for name in sys.modules if name.split(".")[0] in rooms]))
"""
USE = """
import sys
sys.path[:0] = sys.argv[3:]
import hatchway
with hatchway.Client(sys.argv[1], sys.argv[2]) as client, client.sandbox() as box:
    assert box.run("6 * 7").result == 42
    assert box.run(7).error.code == "INVALID_ARGUMENT"
    box.files.write("a.txt", b"hi")
    assert box.files.read("a.txt") == b"hi"
    assert [child.run("1").result for child in box.fork(2)] == [1, 1]
assert "wasmtime" not in sys.modules
try:
    hatchway.Sandbox()
except ImportError as error:
    print(error)
"""


def list_needed(name: str) -> set[str]:
    """A distribution and those that it needs here."""
    found: set[str] = set()
    pending = [name]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            needs = [Requirement(text) for text in distribution(one).requires or ()]
            pending += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(DESCRIBED)], check=True)
    (made,) = folder.glob("hatchway_client-*-py3-none-any.whl")
    return made


def test_it_lists_just_what_the_clients_import_and_no_engine(wheel: Path) -> None:
    loaded = subprocess.run([sys.executable, "-c", IMPORT_ALL], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    needed = set(json.loads(loaded))
    assert not {name for name in needed if name.startswith(("wasmtime", "gateway", "policy", "sandbox.engine"))}
    with zipfile.ZipFile(wheel) as archive:
        modules = {name for name in archive.namelist() if name.endswith(".py")}
    named = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in modules}
    assert named == needed


def test_its_dependencies_are_those_of_the_whole_package() -> None:
    own = tomllib.loads((DESCRIBED / "pyproject.toml").read_text())["project"]["dependencies"]
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(own) <= {*whole["dependencies"], *whole["optional-dependencies"]["gateway"]}


def test_installed_alone_it_asks_a_gateway_and_says_what_it_has_not(wheel: Path, gateway: Gateway, tmp_path: Path) -> None:
    place, others = tmp_path / "site", tmp_path / "others"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    others.mkdir()
    for name in ("msgspec", "httpx2"):
        for one in list_needed(name):
            for file in distribution(one).files or ():
                if not file.parts[0].startswith("..") and not (others / file.parts[0]).exists():
                    (others / file.parts[0]).symlink_to(distribution(one).locate_file(file.parts[0]))
    command = [sys.executable, "-I", "-S", "-c", USE, gateway.url, gateway.token, str(place), str(others)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "hatchway.Sandbox needs the whole package, and only its clients are installed: pip install hatchway\n"
