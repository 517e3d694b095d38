"""`hatchway packages`, as people use it, with a folder of wheels."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.engine.cache import Cache
from sandbox.packages.layers import Layers
from tests.hatchway.commanding import Command
from tests.wheels import make_wheel


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, and a place of the test's own for what is brought here."""
    shelf = Layers(Cache(tmp_path / "packages"))
    for name in (
        "sandbox.packages.layers",
        "hatchway.cli.packages",
        "hatchway.cli.templates",
        "sandbox.snapshots.snapshot_format",
    ):
        monkeypatch.setattr(f"{name}.layers", shelf)
    monkeypatch.delenv("HATCHWAY_PACKAGE_INDEX", raising=False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "wheels"
    folder.mkdir()
    for wheel, data in (
        make_wheel("app", "2.0", {"app.py": "import base\nname = 'app with ' + base.name\n"}, needs=["base>=1"]),
        make_wheel("base", "1.5", {"base.py": "name = 'base'\n"}),
    ):
        (folder / wheel).write_bytes(data)
    return folder


def test_packages_are_locked_brought_here_and_imported(house: Path, command: Command) -> None:
    Path("requirements.txt").write_text("# what we need\napp>=1\n")
    done = command("packages", "lock", "requirements.txt", "--find-links", str(house))
    assert done.returncode == 0 and done.stdout == "app 2.0\nbase 1.5\n"
    assert "pylock.toml: 2 packages, sha256" in done.stderr and "2 packages brought here" in done.stderr
    assert command("run", "--packages", "pylock.toml", "-c", "import app; print(app.name)").stdout == "app with base\n"
    assert [line.split()[:2] for line in command("packages", "list").stdout.splitlines()] == [["app", "2.0"], ["base", "1.5"]]
    again = command("packages", "fetch", "pylock.toml", "--find-links", str(house))
    assert again.returncode == 0 and "0 packages brought here, 2 were here" in again.stderr


def test_a_lock_goes_to_another_machine_and_is_fetched_there(house: Path, command: Command) -> None:
    assert command("packages", "lock", "app", "--no-fetch", "--find-links", str(house)).returncode == 0
    missing = command("run", "--packages", "pylock.toml", "-c", "import app")
    assert missing.returncode == 2 and "app 2.0 of the lock is not on this machine" in missing.stderr
    assert "hatchway packages fetch LOCK" in missing.stderr
    assert command("packages", "fetch", "pylock.toml", "--find-links", str(house)).returncode == 0
    assert command("run", "--packages", "pylock.toml", "-c", "import app; print(app.name)").returncode == 0


def test_templates_are_built_with_packages(house: Path, command: Command) -> None:
    command("packages", "lock", "app", "--find-links", str(house))
    built = command("template", "build", "test-with-app", "-c", "import app", "--packages", "pylock.toml")
    try:
        assert built.returncode == 0
        assert command("run", "--template", "test-with-app", "-c", "print(app.name)").stdout == "app with base\n"
    finally:
        command("template", "rm", "test-with-app")


def test_wheels_are_added_and_deleted(house: Path, command: Command) -> None:
    wheel = house / "base-1.5-py3-none-any.whl"
    assert command("packages", "add", str(wheel)).stdout.startswith("base 1.5  sha256 ")
    assert command("packages", "rm", "base==1.5").returncode == 0
    assert command("packages", "list").stdout == ""
    gone = command("packages", "rm", "base")
    assert gone.returncode == 2 and "there is no package 'base' here" in gone.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lock", "app"], "no source of packages is named"),
        (["lock", "app", "--index", "ftp://a.example"], "is not the address of an index"),
        (["lock", "app>=9", "--find-links", "wheels"], "the newest app that can be used here is 2.0"),
        (["lock", "nothing", "--find-links", "wheels"], "no source knows nothing"),
        (["lock", "missing.txt", "--find-links", "wheels"], "missing.txt"),
        (["lock", "app", "--find-links", "nowhere"], "cannot be read"),
        (["lock", "app", "--find-links", "wheels", "-o", "no/such/folder/lock"], "cannot write"),
        (["fetch", "missing.toml"], "cannot be read"),
        (["add", "wheels"], "wheels"),
    ],
)
def test_mistakes_are_told_in_one_line_with_a_hint(house: Path, command: Command, arguments: list[str], said: str) -> None:
    done = command("packages", *arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_a_policy_and_packages_do_not_go_together_yet_and_say_so(house: Path, command: Command) -> None:
    command("packages", "lock", "app", "--find-links", str(house))
    Path("p.hatch").write_text("policy p\nallow run\n")
    done = command("run", "--policy", "p.hatch", "--packages", "pylock.toml", "-c", "1")
    assert done.returncode == 2 and "--packages does not go together with --policy" in done.stderr
