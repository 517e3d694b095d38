"""What an archive may hold to be taken for a package, and what is refused of it."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Callable

import pytest

from sandbox.errors import RequestError
from sandbox.packages import wheels
from sandbox.packages.unpacking import unpack
from sandbox.packages.wheels import read_wheel
from tests.wheels import make_wheel, pack

GOOD = {"demo/__init__.py": "x = 1\n", "demo/data.txt": "data"}


def test_a_wheel_is_read_with_its_name_version_and_files() -> None:
    wheel = read_wheel(*make_wheel("Demo_Pkg", "1.2", {**GOOD, "Demo_Pkg-1.2.data/purelib/more.py": "y = 2\n"}))
    assert (wheel.name, wheel.version) == ("demo-pkg", "1.2")
    assert wheel.files["demo/data.txt"] == b"data" and wheel.files["more.py"] == b"y = 2\n"
    assert wheel.files["Demo_Pkg-1.2.dist-info/INSTALLER"] == b"hatchway\n"


def test_scripts_and_headers_of_an_archive_are_left_out() -> None:
    wheel = read_wheel(
        *make_wheel("demo", "1.0", {**GOOD, "demo-1.0.data/scripts/run": "#!python", "demo-1.0.data/headers/h.h": ""})
    )
    assert not any(".data" in path for path in wheel.files)


def refused(name: str, data: bytes) -> str:
    with pytest.raises(RequestError) as error:
        read_wheel(name, data)
    assert error.value.error.code == "PACKAGE_REFUSED"
    return str(error.value)


@pytest.mark.parametrize(
    "path",
    ["../out.py", "/etc/passwd", "demo/../../x", "demo//x", "a\\b.py", "nul\x01l.py", "./x.py", "x" * 300, "/".join("d" * 90)],
)
def test_tm_pkg_archive_a_path_that_leads_out_or_is_odd_refuses_the_wheel(path: str) -> None:
    assert "which no package needs" in refused(*make_wheel("demo", files={**GOOD, path: "x"}))


def test_tm_pkg_archive_names_that_differ_by_case_or_are_a_directory_too_are_refused() -> None:
    assert "another case" in refused(*make_wheel("demo", files={**GOOD, "Demo/__init__.py": "x"}))
    assert "as a file and as a directory" in refused(*make_wheel("demo", files={**GOOD, "demo": "x"}))
    assert "as a file and as a directory" in refused(*make_wheel("demo", files={"a": "x", "demo-1.0.data/purelib/a/b.py": "y"}))


@pytest.mark.parametrize("kind", [0o120777, 0o020666, 0o060666, 0o010666, 0o140777])
def test_tm_pkg_archive_links_devices_and_pipes_are_refused(kind: int) -> None:
    name, data = make_wheel("demo", files=GOOD)
    packed = io.BytesIO(data)
    with zipfile.ZipFile(packed, "a") as archive:
        member = zipfile.ZipInfo("demo/odd")
        member.external_attr = kind << 16
        archive.writestr(member, "target")
    assert "neither a file nor a directory" in refused(name, packed.getvalue())


def test_tm_pkg_archive_what_expands_without_end_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "FILES_BYTES_MAX", 1 << 20)
    assert "MiB of files" in refused(*make_wheel("demo", files={**GOOD, "demo/zeros": b"\0" * (2 << 20)}))
    monkeypatch.setattr(wheels, "FILES_MAX", 50)
    assert "more than 50 files" in refused(*make_wheel("demo", files={f"demo/{n}": "" for n in range(60)}))
    monkeypatch.setattr(wheels, "WHEEL_BYTES_MAX", 100)
    assert "MiB" in refused(*make_wheel("demo", files=GOOD))


def test_tm_pkg_archive_an_archive_that_lies_about_sizes_is_refused() -> None:
    name, data = make_wheel("demo", files={**GOOD, "demo/zeros": b"\0" * 100_000})
    entry = data.rindex(b"demo/zeros") - 46
    lie = data[: entry + 24] + (5).to_bytes(4, "little") + data[entry + 28 :]
    assert "cannot be read" in refused(name, lie)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: make_wheel("demo", files=GOOD, record={"demo/data.txt": "sha256=AAAA"}), "is not what its RECORD says"),
        (lambda: make_wheel("demo", files=GOOD, unlisted={"demo/evil.py": b"x"}), "has no hash in its RECORD"),
        (lambda: make_wheel("demo", files=GOOD, record={"demo/data.txt": "md5=AAAA"}), "has no hash in its RECORD"),
        (lambda: make_wheel("demo", files={**GOOD, "demo/fast.so": "ELF"}), "native code"),
        (lambda: make_wheel("demo", files=GOOD, tag="cp315-cp315-linux_x86_64"), "for one platform only"),
        (lambda: ("demo-1.0-py3-none-any.whl", pack({"demo.py": b"x"})), "no .dist-info"),
        (lambda: ("demo-1.0-py3-none-any.whl", pack({"demo-1.0.dist-info/METADATA": b""})), "has no WHEEL"),
        (lambda: ("demo-1.0-py3-none-any.whl", b"PK\x05\x06" + bytes(18)), "no .dist-info"),
        (lambda: ("demo-1.0-py3-none-any.whl", b"no archive"), "cannot be read"),
        (lambda: ("demo-1.0-py3-none-any.whl", b""), "cannot be read"),
    ],
)
def test_what_is_no_pure_wheel_is_refused_with_the_reason(change: Callable[[], tuple[str, bytes]], said: str) -> None:
    assert said in refused(*change())


def test_a_record_that_names_what_is_not_there_is_refused() -> None:
    name, data = make_wheel("demo", files=GOOD)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        kept = {member: archive.read(member) for member in archive.namelist() if member != "demo/data.txt"}
    assert "lacks 'demo/data.txt'" in refused(name, pack(kept))


def test_every_truncation_and_many_changed_bytes_of_a_wheel_are_refused_or_change_nothing() -> None:
    name, data = make_wheel("demo", files=GOOD)
    whole = read_wheel(name, data).files
    for length in range(0, len(data), 7):
        refused(name, data[:length])
    for place in range(0, len(data), 5):
        changed = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        with contextlib.suppress(RequestError):
            assert read_wheel(name, changed).files == whole  # in what no reader looks at, such as a time


def test_tm_pkg_archive_it_is_unpacked_in_a_child_whose_end_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    name, data = make_wheel("demo", files={**GOOD, "demo/zeros": b"\0" * (200 << 20)})
    monkeypatch.setattr("sandbox.packages.unpacking._LIMITS", {"as": 300 << 20})
    with pytest.raises(RequestError, match="too much time or memory") as error:
        unpack(name, data)
    assert error.value.error.code == "PACKAGE_REFUSED"
    with pytest.raises(RequestError, match="native code"):
        unpack(*make_wheel("demo", files={"demo.so": "x"}))
