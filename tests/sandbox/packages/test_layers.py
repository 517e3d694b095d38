"""Sessions with packages: they import, share, and come back from snapshots with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import hatchway
from sandbox.encoding.sealing import local_keys
from sandbox.engine.cache import Cache
from sandbox.errors import RequestError
from sandbox.packages import layers as packages
from sandbox.packages.layers import Layers
from sandbox.packages.mounting import Layer
from tests.wheels import make_wheel

DEMO = {
    "demo/__init__.py": """
import pathlib
from demo.inner import answer
text = pathlib.Path(__file__).with_name("data.txt").read_text()
""",
    "demo/inner.py": """
def answer():
    return 42
def fail():
    raise ValueError('from a package')
""",
    "demo/broken.py": "print 'python 2'\n",
    "demo/data.txt": "data",
}


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layers:
    """The layers of this process, in a folder of their own."""
    made = Layers(Cache(tmp_path / "packages"))
    for name in ("sandbox.packages.layers", "sandbox.snapshots.snapshot_format", "sandbox.snapshots.recordings"):
        monkeypatch.setattr(f"{name}.layers", made)
    return made


def lock(folder: Path, *layers: Layer) -> Path:
    path = folder / "pylock.toml"
    parts = ['lock-version = "1.0"\ncreated-by = "test"\n']
    for layer in layers:
        name = f"{layer.name}-{layer.version}-py3-none-any.whl"
        wheel = f'{{name = "{name}", path = "{name}", hashes = {{sha256 = "{layer.digest}"}}}}'
        parts.append(f'[[packages]]\nname = "{layer.name}"\nversion = "{layer.version}"\nwheels = [{wheel}]\n')
    path.write_text("".join(parts))
    return path


def test_a_package_of_a_lock_is_imported_with_its_data_and_metadata(shelf: Layers, tmp_path: Path) -> None:
    with hatchway.Sandbox(packages=lock(tmp_path, shelf.add(*make_wheel("demo", "1.5", DEMO)))) as box:
        assert box.run("import demo\ndemo.answer(), demo.text").result == [42, "data"]
        assert box.run("import importlib.metadata\nimportlib.metadata.version('demo')").result == "1.5"
        assert box.run("python3 -c 'import demo; print(demo.answer())'", language="shell").stdout == "42\n"
        assert box.run("import pandas\npandas.__name__").result == "pandas"
    with hatchway.Sandbox() as plain:
        assert plain.run("import demo").status == "runtime_error"


def test_its_bytecode_is_used_and_its_sources_stand_in_tracebacks(shelf: Layers, tmp_path: Path) -> None:
    layer = shelf.add(*make_wheel("demo", files=DEMO))
    assert "demo/__pycache__/inner.cpython-315.pyc" in layer.files
    assert "demo/__pycache__/broken.cpython-315.pyc" not in layer.files
    with hatchway.Sandbox(packages=lock(tmp_path, layer)) as box:
        assert box.run("import demo.inner\ndemo.inner.__spec__.cached.endswith('inner.cpython-315.pyc')").result is True
        failed = box.run("demo.inner.fail()")
        assert "raise ValueError('from a package')" in failed.stderr
        assert box.run("import demo.broken").error.code == "SYNTAX_ERROR"


def test_programs_cannot_change_a_package(shelf: Layers, tmp_path: Path) -> None:
    layer = shelf.add(*make_wheel("demo", files=DEMO))
    with hatchway.Sandbox(packages=lock(tmp_path, layer)) as box:
        place = "/usr/local/lib/python3.15/site-packages"
        for attack in (
            f"open('{place}/demo/inner.py', 'w')",
            f"import os; os.remove('{place}/demo/inner.py')",
            f"import os; os.rename('{place}/demo', '/workspace/demo')",
            f"import os; os.symlink('/workspace', '{place}/x')",
            f"import os; os.chmod('{place}/demo/inner.py', 0o777)",
            f"import os; os.utime('{place}/demo/inner.py', (1, 1))",
            f"import os; os.link('{place}/demo/inner.py', '/workspace/l'); open('/workspace/l', 'w')",
        ):
            assert box.run(attack).status == "runtime_error", attack
        assert box.run("import demo\ndemo.answer()").result == 42


def test_forks_snapshots_and_recordings_have_the_packages_by_digest_only(shelf: Layers, tmp_path: Path) -> None:
    big = {**DEMO, "demo/large.bin": os.urandom(1 << 20)}
    path = lock(
        tmp_path, shelf.add(*make_wheel("demo", files=big)), shelf.add(*make_wheel("other", files={"other.py": "y = 2\n"}))
    )
    with hatchway.Sandbox(packages=path, record=True) as box, hatchway.Sandbox() as plain:
        box.run(
            "import demo\nopen('mine.txt', 'w').write('mine')\nfile = open('/usr/local/lib/python3.15/site-packages/other.py')"
        )
        with box.fork() as child:
            assert child.run("demo.answer(), open('mine.txt').read()").result == [42, "mine"]
        blob = box.snapshot()
        plain.run("x = 1")
        assert len(blob) < len(plain.snapshot()) + (256 << 10)
        with hatchway.Sandbox.restore(blob) as again:
            assert again.run("import other\ndemo.answer(), other.y, file.read()").result == [42, 2, "y = 2\n"]
            assert again.snapshot() and again.run("open('mine.txt').read()").result == "mine"
        assert box.run("import demo\ndemo.answer()").result == 42
        assert box.recording is not None
        assert hatchway.replay(box.recording).result.result == 42


def test_a_snapshot_says_which_package_is_missing_where_it_is_restored(
    shelf: Layers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hatchway.Sandbox(packages=lock(tmp_path, shelf.add(*make_wheel("demo", files=DEMO)))) as box:
        box.run("import demo")
        blob = box.snapshot()
    empty = Layers(Cache(tmp_path / "elsewhere"))
    monkeypatch.setattr("sandbox.snapshots.snapshot_format.layers", empty)
    with pytest.raises(RequestError, match="not on this machine") as error:
        hatchway.Sandbox.restore(blob, keys=local_keys())
    assert error.value.error.code == "PACKAGE_MISSING" and "packages fetch" in (error.value.error.hint or "")


def test_a_lock_whose_packages_are_not_here_names_the_first_that_is_missing(shelf: Layers, tmp_path: Path) -> None:
    path = lock(tmp_path, Layer("ab" * 32, "demo", "1.0", {}))
    with pytest.raises(RequestError, match=r"demo 1\.0 of the lock") as error:
        hatchway.Sandbox(packages=path)
    assert error.value.error.code == "PACKAGE_MISSING"
    with pytest.raises(RequestError, match="not both"):
        hatchway.Sandbox(packages=path, template="any")
    with pytest.raises(RequestError, match="packages must be the path"):
        hatchway.Sandbox(packages=7)  # type: ignore[arg-type]


def test_two_packages_with_the_same_file_are_refused_and_namespaces_are_shared(shelf: Layers, tmp_path: Path) -> None:
    one = shelf.add(*make_wheel("one", files={"space/one.py": "x = 1\n"}))
    two = shelf.add(*make_wheel("two", files={"space/two.py": "x = 2\n"}))
    same = shelf.add(*make_wheel("same", files={"space/one.py": "x = 3\n"}))
    file = shelf.add(*make_wheel("file", files={"space": "no directory\n"}))
    with hatchway.Sandbox(packages=lock(tmp_path, one, two)) as box:
        assert box.run("from space import one, two\none.x, two.x").result == [1, 2]
    for clash in (same, file):
        with pytest.raises(RequestError) as error:
            hatchway.Sandbox(packages=lock(tmp_path, one, two, clash))
        assert error.value.error.code == "PACKAGES_CLASH"


def test_a_layer_is_made_once_found_again_and_deleted(shelf: Layers, tmp_path: Path) -> None:
    name, data = make_wheel("demo", files=DEMO)
    told: list[str] = []
    layer = shelf.add(name, data, told.append)
    assert told and shelf.add(name, data, told.append) is layer
    second = Layers(Cache(tmp_path / "packages"))
    assert second.add(name, data, pytest.fail).files.keys() == layer.files.keys()
    assert [(stored.name, stored.version) for stored in second.list()] == [("demo", "1.0")]
    assert second.remove(layer.digest) and second.list() == [] and not second.remove(layer.digest)


def test_tm_iso_code_a_layer_that_was_changed_on_disk_is_not_used(shelf: Layers, tmp_path: Path) -> None:
    layer = shelf.add(*make_wheel("demo", files=DEMO))
    (file,) = (tmp_path / "packages").glob("*.layer")
    file.write_bytes(file.read_bytes().replace(b"return 42", b"return 43"))
    assert Layers(Cache(tmp_path / "packages")).find(layer.digest) is None


def test_a_template_is_built_with_packages_and_its_forks_have_them_imported(shelf: Layers, tmp_path: Path) -> None:
    from sandbox.packages.locks import read_lock_file
    from sandbox.snapshots.templates import templates

    path = lock(tmp_path, shelf.add(*make_wheel("demo", files=DEMO)))
    try:
        assert templates.build("test-of-packages", "import demo", base=shelf.open_lock(read_lock_file(path))).ok
        with hatchway.Sandbox(template="test-of-packages") as box:
            assert box.run("demo.answer()").result == 42
    finally:
        templates.remove("test-of-packages")


def test_a_process_shows_a_bounded_number_of_sets(shelf: Layers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "STANDARDS_MAX", 1)
    one, two = shelf.add(*make_wheel("one", files=DEMO)), shelf.add(*make_wheel("two", files={"two.py": ""}))
    first = shelf.standard([one.digest])
    assert shelf.standard([one.digest]) is first
    with pytest.raises(RequestError) as error:
        shelf.standard([one.digest, two.digest])
    assert error.value.error.code == "QUOTA_EXCEEDED"
