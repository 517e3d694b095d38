"""Snapshots: a session as bytes, and back, under the receiver's rules."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hatchway
from sandbox.capabilities.registry import Capability, Registry
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.snapshot_format import Origin
from sandbox.wire import SideEffect
from tests.conftest import NewBox
from tests.sandbox.snapshot_refusals import KEYS, code_of

Restore = Callable[..., hatchway.Sandbox]


@pytest.fixture
def restore() -> Iterator[Restore]:
    made: list[hatchway.Sandbox] = []

    def again(blob: bytes, **options: Any) -> hatchway.Sandbox:
        made.append(hatchway.Sandbox.restore(blob, keys=KEYS, **options))
        return made[-1]

    yield again
    for box in made:
        box.close()


# --- there and back ----------------------------------------------------------------------------------------------------------


def test_a_python_session_comes_back_with_functions_classes_generators_and_open_files(
    box: hatchway.Sandbox, restore: Restore
) -> None:
    box.run(
        "import json, re\ndef half():\n    yield 1\n    yield 2\nit = half(); next(it)\nclass A:\n    def m(self): return 'm'\n"
        "a = A()\nf = open('/workspace/x', 'w+'); f.write('abc'); f.flush()\nnumbers = list(range(100_000))\n"
        "add = lambda x: x + 1"
    )
    again = restore(box.snapshot(keys=KEYS))
    done = again.run("next(it), a.m(), add(1), len(numbers), f.write('d'), f.flush(), open('x').read(), json.loads('[1]')")
    assert done.result == [2, "m", 2, 100_000, 1, None, "abcd", [1]]
    assert box.run("next(it), open('x').read()").result == [2, "abc"]


def test_all_three_languages_and_the_files_come_back(new_box: NewBox, restore: Restore) -> None:
    box = new_box(language="javascript")
    box.run("const f = (n) => n * 2; let m = new Map([[1, 2]])")
    box.run("x=5; g() { echo g$x; }; mkdir d; echo hi > d/a; ln -s d/a link; cd d", language="shell")
    box.run("y = 7", language="python")
    box.files.set_readonly("d/a", True)
    again = restore(box.snapshot(keys=KEYS))
    assert again.run("f(m.get(1))").result == 4
    assert again.run("g; pwd; cat ../link", language="shell").stdout == "g5\n/workspace/d\nhi\n"
    assert again.run("y", language="python").result == 7
    assert again.files.stat("d/a").readonly
    assert again.files.read_link("link") == "d/a"
    assert again.files.stat("d/a").mtime_ns == box.files.stat("d/a").mtime_ns
    assert (again.files.used_bytes, again.files.used_entries) == (box.files.used_bytes, box.files.used_entries)


def test_large_files_hard_links_and_holes_come_back(box: hatchway.Sandbox, restore: Restore) -> None:
    data = random.Random(1).randbytes(300_000)
    box.files.write_file("big", data)
    box.run("import os\nos.link('big', 'twin')\nf = open('hole', 'wb'); f.seek(500_000); f.write(b'x'); f.close()")
    again = restore(box.snapshot(keys=KEYS))
    assert again.files.read_file("twin") == data
    assert again.files.stat("big").ino == again.files.stat("twin").ino
    assert again.files.read_file("hole") == bytes(500_000) + b"x"
    again.run("open('big', 'ab').write(b'!')")
    assert again.files.read_file("twin") == data + b"!"


def test_a_restored_session_can_be_forked_snapshotted_and_limited_like_any_other(new_box: NewBox, restore: Restore) -> None:
    box = new_box(language="javascript")
    box.run("var a = 1")
    second = restore(box.snapshot(keys=KEYS))
    second.run("a += 1")
    third = restore(second.snapshot(keys=KEYS))
    assert third.run("a += 1; while (true) {}", timeout_ms=50).error is not None
    assert third.run("a").result == 2
    with third.fork() as fourth:
        assert fourth.run("a + 10").result == 12


def test_a_restored_session_is_the_same_before_its_first_run_as_after_one_that_failed(new_box: NewBox, restore: Restore) -> None:
    box = new_box()
    box.run("numbers = list(range(50_000)); names = {str(n): n for n in range(1000)}")
    box.run("let a = Array.from({length: 5000}, (_, n) => n)", language="javascript")
    state = box._session.freeze()
    again = restore(box.snapshot(keys=KEYS))
    restored = again._session.freeze()
    for name, guest in state.guests.items():
        assert dict(restored.guests[name].pages) == guest.read_changed_pages()
        assert restored.guests[name].memory_digest() == guest.memory_digest()
    with again.fork() as child:
        assert child.run("sum(numbers), names['7']").result == [sum(range(50_000)), 7]
    assert again.run("numbers.clear()\nwhile True: pass", timeout_ms=50).error is not None
    assert again.run("a.length = 0; while (true) {}", language="javascript", timeout_ms=50).error is not None
    rolled_back = again._session.freeze()
    for name, guest in state.guests.items():
        assert rolled_back.guests[name].memory_digest() == guest.memory_digest()
    assert again.run("len(numbers)").result == 50_000


def test_saving_again_gives_what_saving_anew_would_whichever_state_was_saved_before(new_box: NewBox) -> None:
    box = new_box()
    states = []
    for code in ("x = list(range(5000))", "x[7] = 'seven'", "del x", "y = 1"):
        box.run(code)
        states.append(box._session.freeze())
    assert len({id(state.guests["python"].sums) for state in states}) == 1  # what is remembered is shared by all of them
    for state in (*states, *reversed(states), states[2]):
        opened = snapshot_format.open_snapshot(snapshot_format.save(state, Origin(), KEYS), KEYS)
        snapshot_format.verify(opened)
        assert dict(opened.pages["python"]) == state.guests["python"].read_changed_pages()
        taken = snapshot_format.take(state, Origin())
        assert taken.manifest.guests == opened.manifest.guests


def test_a_restored_session_has_randomness_of_its_own(box: hatchway.Sandbox, restore: Restore) -> None:
    box.run("import random\nrandom.seed(1)")
    blob = box.snapshot(keys=KEYS)
    assert restore(blob).run("random.random()").result != restore(blob).run("random.random()").result


OTHER_PROCESS = """
import sys, hatchway
from sandbox.encoding.sealing import Keys
box = hatchway.Sandbox.restore(sys.stdin.buffer.read(), keys=Keys.of(bytes(range(32))))
print(box.run("next(it)").result, box.run("cat a", language="shell").stdout.strip())
"""


def test_a_snapshot_is_restored_in_another_process(box: hatchway.Sandbox) -> None:
    box.run("def g():\n    yield 1\n    yield 2\nit = g(); next(it)\nopen('a', 'w').write('file')")
    root = Path(hatchway.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS], input=box.snapshot(keys=KEYS), cwd=root, capture_output=True, check=True
    )
    assert done.stdout == b"2 file\n"


FORKED = """
import os, hatchway
from sandbox.encoding.sealing import Keys
keys = Keys.of(bytes(range(32)))
with hatchway.Sandbox() as box:
    box.run("numbers = list(range(100_000))")
    blob = box.snapshot(keys=keys)
if os.fork() == 0:
    again = hatchway.Sandbox.restore(blob, keys=keys)
    twice = hatchway.Sandbox.restore(again.snapshot(keys=keys), keys=keys)
    print(twice.run("len(numbers)").result, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_process_forked_from_one_that_saved_can_save_and_restore() -> None:
    """Compression has threads, and a forked process has none of them."""
    ended = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, "100000\n"), ended.stderr


def test_equal_states_have_equal_manifests_and_what_changed_shows() -> None:
    with hatchway.Sandbox(language="shell") as box:
        box.run("x=1")
        state = box._session.freeze()
        first, second = (snapshot_format.take(state, Origin()) for _ in range(2))
        assert first.manifest.guests == second.manifest.guests
        assert first.manifest.files == second.manifest.files
        box.run("x=2")
        assert snapshot_format.take(box._session.freeze(), Origin()).manifest.guests != first.manifest.guests


def test_a_snapshot_carries_no_host_objects_or_secrets(new_box: NewBox) -> None:
    secret = "canary-" + os.urandom(8).hex()

    def tool() -> int:
        return len(secret)

    box = new_box(tools={"tool": tool}, language="javascript")
    assert box.run("await tools.tool()").result == len(secret)
    state = box._session.freeze()
    opened = snapshot_format.take(state, Origin(capabilities=snapshot_format.capability_digests(box.registry)))
    everything = b"".join([opened.encoded, *opened.chunks.values(), *opened.pages["javascript"].values()])
    assert secret.encode() not in everything
    assert b"/" + os.getcwd().encode().lstrip(b"/") not in everything


# --- differences -------------------------------------------------------------------------------------------------------------


def test_a_difference_is_small_and_needs_its_base() -> None:
    with hatchway.Sandbox(language="javascript") as box:
        box.run("var big = Array.from({length: 20000}, (_, i) => 'item ' + i)")
        base = snapshot_format.take(box._session.freeze(), Origin())
        box.run("var more = 1")
        child = snapshot_format.take(box._session.freeze(), Origin(parent=base.id))
    whole = snapshot_format.seal_snapshot(child, KEYS)
    difference = snapshot_format.seal_snapshot(child, KEYS, base=base.manifest)
    assert len(difference) < len(whole) / 2
    assert code_of(difference) == "SNAPSHOT_CORRUPT"
    known = dict(base.chunks)
    for name, guest in base.manifest.guests.items():
        known.update({guest.digest_of_page()[number]: page for number, page in base.pages[name].items()})
    again = snapshot_format.open_snapshot(difference, KEYS, find=known.__getitem__)
    assert again.id == child.id
    assert again.pages == child.pages


# --- the receiver rules ------------------------------------------------------------------------------------------------------


def test_the_receivers_limits_rule_not_the_snapshots(new_box: NewBox, restore: Restore) -> None:
    box = new_box(language="javascript", limits={"wall_ms": 60_000, "cpu_ms": 60_000})
    box.run("var a = 1")
    again = restore(box.snapshot(keys=KEYS), limits={"wall_ms": 60})
    assert again.run("while (true) {}").error.code == "TIMEOUT_WALL"  # type: ignore[union-attr]


def test_memory_over_the_receivers_limit_is_refused(new_box: NewBox) -> None:
    box = new_box(limits={"memory_mb": 64})
    assert box.run("a = bytearray(40 << 20)").ok
    blob = box.snapshot(keys=KEYS)
    assert code_of(blob, limits={"memory_mb": 16}) == "MEMORY_EXCEEDED"
    hatchway.Sandbox.restore(blob, keys=KEYS).close()


@pytest.mark.parametrize("quota", [VfsLimits(total_bytes=1000), VfsLimits(file_bytes=1000), VfsLimits(entries_max=1)])
def test_files_over_the_receivers_quota_are_refused(new_box: NewBox, quota: VfsLimits) -> None:
    box = new_box(language="shell")
    box.files.write_file("a", bytes(2000))
    box.files.write_file("b", b"")
    assert code_of(box.snapshot(keys=KEYS), files=quota) == "INVALID_ARGUMENT"


def registry_of(*names: str, side_effect: SideEffect = SideEffect.NONE) -> Registry:
    registry = Registry()
    for name in names:
        registry.register(Capability(name=name, side_effect=side_effect), lambda: 1)
    return registry


def test_capabilities_must_be_there_and_declared_the_same(new_box: NewBox, restore: Restore) -> None:
    box = new_box(language="shell", tools=registry_of("one", "two"))
    blob = box.snapshot(keys=KEYS)
    assert code_of(blob) == "SNAPSHOT_CAPABILITY_MISMATCH"
    assert code_of(blob, tools=registry_of("one")) == "SNAPSHOT_CAPABILITY_MISMATCH"
    assert code_of(blob, tools=registry_of("one", "two", side_effect=SideEffect.WRITE)) == "SNAPSHOT_CAPABILITY_MISMATCH"
    restore(blob, tools=registry_of("one", "two", "three"))
    restore(blob, tools=registry_of("one", "two"), strict=True)
    assert code_of(blob, tools=registry_of("one", "two", "three"), strict=True) == "SNAPSHOT_CAPABILITY_MISMATCH"


def test_tools_the_receiver_does_not_offer_are_gone_from_the_program(new_box: NewBox, restore: Restore) -> None:
    box = new_box(tools={"one": lambda: 1})
    box.run("one()")
    state = box._session.freeze()
    blob = snapshot_format.seal_snapshot(snapshot_format.take(state, Origin()), KEYS)
    assert restore(blob).run("one()").error.code == "NAME_ERROR"  # type: ignore[union-attr]


def test_a_hundred_thousand_integers_take_far_less_than_a_megabyte(box: hatchway.Sandbox) -> None:
    """The image's free memory is zeros, so what the integers do not fill costs nothing."""
    box.run("import json, re\nx = list(range(100_000))")
    assert len(box.snapshot(keys=KEYS)) < 850_000
