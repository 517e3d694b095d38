"""Templates: warmed up once, started from any number of times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hatchway
from sandbox.encoding.sealing import Keys
from sandbox.engine.cache import Cache
from sandbox.errors import RequestError
from sandbox.guests.images import Images
from sandbox.sessions.session import Session
from sandbox.snapshots.templates import Templates, templates
from sandbox.wire import Language


@pytest.fixture
def named() -> Iterator[str]:
    name = "test-of-templates"
    yield name
    templates.remove(name)


def test_a_session_starts_with_what_the_setup_left(named: str) -> None:
    result = templates.build(
        named, "import json\ndef double(x): return 2 * x\nopen('data.txt', 'w').write('hello')", files={"given.txt": b"given"}
    )
    assert result.ok
    with hatchway.Sandbox(template=named) as box:
        assert box.run("double(21), open('data.txt').read(), open('given.txt').read()").result == [42, "hello", "given"]


def test_sessions_of_one_template_are_independent_and_differ_in_randomness(named: str) -> None:
    templates.build(named, "var list = [1, 2, 3]", language=Language.JAVASCRIPT)
    boxes = [hatchway.Sandbox(template=named) for _ in range(3)]
    boxes[0].run("list.push(4)")
    assert [box.run("list.length").result for box in boxes] == [4, 3, 3]
    assert len({box.run("Math.random()").result for box in boxes}) == 3
    for box in boxes:
        box.close()


def test_a_template_of_a_shell_keeps_its_functions(named: str) -> None:
    templates.build(named, "greet() { echo hello $1; }", language=Language.SHELL)
    with hatchway.Sandbox(template=named) as box:
        assert box.run("greet you").stdout == "hello you\n"


def test_a_setup_that_fails_leaves_no_template_and_not_the_old_one_changed(named: str) -> None:
    assert templates.build(named, "var x = 1", language=Language.JAVASCRIPT).ok
    assert not templates.build(named, "var x = 2; throw new Error('no')", language=Language.JAVASCRIPT).ok
    with hatchway.Sandbox(template=named) as box:
        assert box.run("x").result == 1


def test_a_template_that_is_built_again_is_new_for_sessions_that_start_later(named: str) -> None:
    templates.build(named, "var x = 1", language=Language.JAVASCRIPT)
    before = hatchway.Sandbox(template=named)
    templates.build(named, "var x = 2", language=Language.JAVASCRIPT)
    with hatchway.Sandbox(template=named) as after:
        assert (before.run("x").result, after.run("x").result) == (1, 2)
    before.close()


def test_memory_of_a_template_is_not_charged_to_its_sessions(named: str) -> None:
    templates.build(named, "a = bytearray(100 << 20)")
    with hatchway.Sandbox(template=named) as box:
        assert box.run("b = bytearray(40 << 20)\nlen(a)").result == 100 << 20
        assert box.run("c = bytearray(40 << 20)").error.code == "MEMORY_EXCEEDED"  # type: ignore[union-attr]


def test_a_session_of_a_template_can_be_snapshotted_without_it(named: str) -> None:
    templates.build(named, "function f() { return 'from the template' }", language=Language.JAVASCRIPT)
    with hatchway.Sandbox(template=named) as box:
        box.run("var y = 5")
        keys = Keys.of(bytes(32))
        blob = box.snapshot(keys=keys)
    templates.remove(named)
    with hatchway.Sandbox.restore(blob, keys=keys) as again:
        assert again.run("[f(), y]").result == ["from the template", 5]


def test_a_removed_template_is_gone_and_its_sessions_go_on(named: str) -> None:
    templates.build(named, "x=1", language=Language.SHELL)
    with hatchway.Sandbox(template=named) as box:
        assert templates.remove(named)
        assert not templates.remove(named)
        assert box.run("echo still").stdout == "still\n"
    with pytest.raises(RequestError, match="no template"):
        hatchway.Sandbox(template=named)


@pytest.mark.parametrize("name", ["", "UPPER", "../x", "a/b", "x" * 65, "-x"])
def test_a_name_that_could_be_a_path_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match="not a template's name"):
        templates.load(name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images") / "cache"


@pytest.fixture
def own(folder: Path) -> tuple[Images, Templates]:
    """Images and templates in a cache of their own."""
    store = Images(Cache(folder))
    return store, Templates(store)


def test_a_template_of_another_image_is_stale(own: tuple[Images, Templates]) -> None:
    store, mine = own
    mine.build("warm", "x=1", language=Language.SHELL)
    assert [one.stale for one in mine.list()] == [False]
    store.get("shell").memory_digest = "00" * 32
    assert [one.stale for one in Templates(store).list()] == [True]
    with pytest.raises(RequestError) as refused:
        Templates(store).load("warm")
    assert refused.value.error.code == "SNAPSHOT_VERSION_MISMATCH"


def test_a_damaged_template_is_not_used_and_a_lost_memory_is_written_again(own: tuple[Images, Templates]) -> None:
    store, mine = own
    mine.build("warm", "x=1", language=Language.SHELL)
    for path in store.cache.directory.glob("template-*.mem"):
        path.unlink()
    session = Session(language=Language.SHELL, state=Templates(store).load("warm"), store=store)
    session.close()
    path = store.cache.directory / "warm.template"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(RequestError, match="no template"):
        Templates(store).load("warm")


def test_pruning_the_cache_can_spare_templates(own: tuple[Images, Templates]) -> None:
    store, mine = own
    mine.build("warm", "x=1", language=Language.SHELL)
    store.cache.prune(mine.cache_names())
    assert {path.name for path in store.cache.directory.glob("*.mem")} == {n for n in mine.cache_names() if n.endswith(".mem")}
    assert (store.cache.directory / "warm.template").exists()


def memories(store: Images) -> set[str]:
    return {path.name for path in store.cache.directory.glob("*.mem")} & {
        path.name for path in store.cache.directory.glob("template-*")
    }


def test_a_template_that_is_built_again_leaves_no_memory_behind(own: tuple[Images, Templates]) -> None:
    store, mine = own
    for code in ("x=1", "x=2", "x=3"):
        mine.build("warm", code, language=Language.SHELL)
    assert memories(store) == {name for name in mine.cache_names() if name.endswith(".mem")}
    assert mine.remove("warm")
    assert memories(store) == set()


def test_what_a_crash_left_behind_is_collected_and_what_another_template_needs_is_kept(own: tuple[Images, Templates]) -> None:
    store, mine = own
    mine.build("one", "x=1", language=Language.SHELL)
    store.cache.store("template-0123456789abcdef0123-shell.mem", lambda path: path.touch())
    mine.build("two", "x=2", language=Language.SHELL)
    assert len(memories(store)) == 2
    assert mine.remove("two")
    assert memories(store) == {name for name in mine.cache_names() if name.endswith(".mem")} != set()
    assert mine.remove("one")
