"""What a lock file says, and what is refused of one."""

from __future__ import annotations

import pytest

from sandbox.errors import RequestError
from sandbox.packages import locks
from sandbox.packages.locks import read_lock

HEAD = 'lock-version = "1.0"\ncreated-by = "test"\n'
DIGEST = "ab" * 32
SOURCES = f"""
[[packages]]
name = "demo"
version = "1.0"
sdist = {{url = "https://a.example/demo-1.0.tar.gz", hashes = {{sha256 = "{DIGEST}"}}}}
"""


def package(name: str, *wheels: str, more: str = "") -> str:
    rows = ", ".join(f'{{url = "https://a.example/{wheel}", hashes = {{sha256 = "{DIGEST}"}}}}' for wheel in wheels)
    return f'[[packages]]\nname = "{name}"\nversion = "1.0"\n{more}wheels = [{rows}]\n'


def test_the_wheel_for_every_platform_is_chosen_and_markers_are_judged_by_the_guests_python() -> None:
    text = HEAD + package("demo", "demo-1.0-cp315-cp315-linux_x86_64.whl", "demo-1.0-py3-none-any.whl")
    text += package("windows", "windows-1.0-py3-none-any.whl", more="marker = \"sys_platform == 'win32'\"\n")
    text += package("wasi", "wasi-1.0-py2.py3-none-any.whl", more="marker = \"sys_platform == 'wasi'\"\n")
    lock = read_lock(text.encode())
    assert [(one.name, one.file_name) for one in lock.packages] == [
        ("demo", "demo-1.0-py3-none-any.whl"),
        ("wasi", "wasi-1.0-py2.py3-none-any.whl"),
    ]
    assert lock.packages[0].digest == DIGEST and lock.packages[0].url == "https://a.example/demo-1.0-py3-none-any.whl"


def test_the_digest_of_a_lock_names_its_packages_and_not_how_it_is_written() -> None:
    one, two = package("a", "a-1.0-py3-none-any.whl"), package("b", "b-1.0-py3-none-any.whl").replace(DIGEST, "cd" * 32)
    assert read_lock((HEAD + one + two).encode()).digest == read_lock((HEAD + "# note\n" + two + one).encode()).digest
    assert read_lock((HEAD + one).encode()).digest != read_lock((HEAD + two).encode()).digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no lock"),
        ("[[", "is no TOML"),
        (b"\xff\xfe", "is no TOML"),
        ("a = " + "[" * 5000, "is no TOML"),
        (HEAD.replace("1.0", "2.0"), "is no lock"),
        (HEAD + package("native", "native-1.0-cp315-cp315-linux_x86_64.whl"), "does not fit Python 3.15"),
        (HEAD + SOURCES, "has no wheel of demo"),
        (HEAD + package("demo", "demo-1.0-py3-none-any.whl").replace("sha256", "md5"), "has no SHA-256"),
        (HEAD + package("demo", "demo-1.0-py3-none-any.whl").replace(DIGEST, "../../etc/passwd"), "has no SHA-256"),
        (HEAD + 'requires-python = ">=3.99"\n' + package("demo", "demo-1.0-py3-none-any.whl"), "does not fit Python 3.15"),
        (b"#" * ((4 << 20) + 1), "MiB"),
    ],
)
def test_what_is_no_lock_or_does_not_fit_is_refused_with_the_reason(text: str | bytes, said: str) -> None:
    with pytest.raises(RequestError) as error:
        read_lock(text.encode() if isinstance(text, str) else text)
    assert error.value.error.code == "LOCK_INVALID" and said in str(error.value)


def test_a_lock_names_at_most_as_many_packages_as_a_session_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LAYERS_MAX", 1)
    with pytest.raises(RequestError, match="more than a session can have"):
        read_lock((HEAD + package("a", "a-1.0-py3-none-any.whl") + package("b", "b-1.0-py3-none-any.whl")).encode())
