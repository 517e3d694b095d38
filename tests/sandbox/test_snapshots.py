"""Snapshots: a session as bytes, and everything that must not be accepted as one."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cbor2
import msgspec
import pytest
import zstandard

import hatchway
from sandbox import cbor, snapshots
from sandbox.capabilities import Capability, Registry
from sandbox.errors import RequestError
from sandbox.generations import VfsLimits
from sandbox.sealing import Keys, seal
from sandbox.snapshots import Manifest, Origin, Pack
from sandbox.wire import SideEffect
from tests.conftest import NewBox

KEYS = Keys.of(bytes(range(32)))
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


def code_of(blob: bytes, **options: Any) -> str:
    """The code a snapshot is refused with."""
    with pytest.raises(RequestError) as refused:
        hatchway.Sandbox.restore(blob, keys=KEYS, **options).close()
    return refused.value.error.code


@pytest.fixture(scope="module")
def small() -> bytes:
    """A shell session with a file, a variable and a function."""
    with hatchway.Sandbox(language="shell") as box:
        box.run("x=1; f() { echo $x; }; echo hi > a.txt")
        return box.snapshot(keys=KEYS)


@pytest.fixture(scope="module")
def packed(small: bytes) -> bytes:
    return snapshots.open_seal(small, KEYS, purpose="snapshot")


def sealed(pack: bytes) -> bytes:
    return seal(pack, KEYS, purpose="snapshot")


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
        assert dict(restored.guests[name].pages) == guest.changed_pages()
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
        opened = snapshots.open_snapshot(snapshots.save(state, Origin(), KEYS), KEYS)
        snapshots.verify(opened)
        assert dict(opened.pages["python"]) == state.guests["python"].changed_pages()
        taken = snapshots.take(state, Origin())
        assert taken.manifest.guests == opened.manifest.guests


def test_a_restored_session_has_randomness_of_its_own(box: hatchway.Sandbox, restore: Restore) -> None:
    box.run("import random\nrandom.seed(1)")
    blob = box.snapshot(keys=KEYS)
    assert restore(blob).run("random.random()").result != restore(blob).run("random.random()").result


OTHER_PROCESS = """
import sys, hatchway
from sandbox.sealing import Keys
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
from sandbox.sealing import Keys
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
        first, second = (snapshots.take(state, Origin()) for _ in range(2))
        assert first.manifest.guests == second.manifest.guests
        assert first.manifest.files == second.manifest.files
        box.run("x=2")
        assert snapshots.take(box._session.freeze(), Origin()).manifest.guests != first.manifest.guests


def test_a_snapshot_carries_no_host_objects_or_secrets(new_box: NewBox) -> None:
    secret = "canary-" + os.urandom(8).hex()

    def tool() -> int:
        return len(secret)

    box = new_box(tools={"tool": tool}, language="javascript")
    assert box.run("await tools.tool()").result == len(secret)
    state = box._session.freeze()
    opened = snapshots.take(state, Origin(capabilities=snapshots.capability_digests(box.registry)))
    everything = b"".join([opened.encoded, *opened.chunks.values(), *opened.pages["javascript"].values()])
    assert secret.encode() not in everything
    assert b"/" + os.getcwd().encode().lstrip(b"/") not in everything


# --- differences -------------------------------------------------------------------------------------------------------------


def test_a_difference_is_small_and_needs_its_base() -> None:
    with hatchway.Sandbox(language="javascript") as box:
        box.run("var big = Array.from({length: 20000}, (_, i) => 'item ' + i)")
        base = snapshots.take(box._session.freeze(), Origin())
        box.run("var more = 1")
        child = snapshots.take(box._session.freeze(), Origin(parent=base.id))
    whole = snapshots.seal_snapshot(child, KEYS)
    difference = snapshots.seal_snapshot(child, KEYS, base=base.manifest)
    assert len(difference) < len(whole) / 2
    assert code_of(difference) == "SNAPSHOT_CORRUPT"
    known = dict(base.chunks)
    for name, guest in base.manifest.guests.items():
        known.update({guest.digest_of_page()[number]: page for number, page in base.pages[name].items()})
    again = snapshots.open_snapshot(difference, KEYS, find=known.__getitem__)
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
    blob = snapshots.seal_snapshot(snapshots.take(state, Origin()), KEYS)
    assert restore(blob).run("one()").error.code == "UNKNOWN_TOOL"  # type: ignore[union-attr]


# --- what is refused ---------------------------------------------------------------------------------------------------------


def test_tm_snap_forge_every_flipped_bit_of_a_small_snapshot_is_refused(small: bytes) -> None:
    for bit in range(len(small) * 8):
        flipped = bytearray(small)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RequestError) as refused:
            snapshots.open_snapshot(bytes(flipped), KEYS)
        assert refused.value.error.code == "SNAPSHOT_CORRUPT"


def test_every_truncation_of_a_small_snapshot_is_refused(small: bytes) -> None:
    for length in range(len(small)):
        with pytest.raises(RequestError) as refused:
            snapshots.open_snapshot(small[:length], KEYS)
        assert refused.value.error.code == "SNAPSHOT_CORRUPT"


def test_mutations_of_a_large_snapshot_are_refused(new_box: NewBox) -> None:
    box = new_box()
    box.run("numbers = list(range(50_000))")
    blob = box.snapshot(keys=KEYS)
    chance = random.Random(4)
    for _ in range(300):
        mutated = bytearray(blob)
        for _ in range(chance.randint(1, 8)):
            mutated[chance.randrange(len(mutated))] ^= chance.randrange(1, 256)
        if chance.random() < 0.3:
            at = chance.randrange(len(mutated))
            del mutated[at : at + chance.randint(1, 5000)]
        assert code_of(bytes(mutated)) == "SNAPSHOT_CORRUPT"


def test_tm_snap_tenant_another_tenants_snapshot_is_refused_like_a_damaged_one(new_box: NewBox) -> None:
    box = new_box(language="shell")
    blob = box.snapshot(keys=KEYS, tenant="a")
    assert code_of(blob, tenant="b") == "SNAPSHOT_CORRUPT"
    hatchway.Sandbox.restore(blob, keys=KEYS, tenant="a").close()


@pytest.mark.parametrize("garbage", [b"", b"\0", b"not a snapshot", b"\xd0", b"\xd0\x83", bytes(10_000), zlib.compress(b"x")])
def test_garbage_is_refused(garbage: bytes) -> None:
    assert code_of(garbage) == "SNAPSHOT_CORRUPT"


def remade(packed: bytes, change: Callable[[dict[str, Any]], None], manifest: bool = True) -> bytes:
    """A sealed snapshot whose manifest (or pack) was changed by someone who has the key."""
    body = cbor2.loads(packed)
    if manifest:
        inner = cbor2.loads(body["manifest"])
        change(inner)
        body["manifest"] = cbor.encode(inner)
    else:
        change(body)
    return sealed(cbor.encode(body))


def test_another_version_is_a_version_mismatch(packed: bytes) -> None:
    assert code_of(remade(packed, lambda m: m.update(version=1))) == "SNAPSHOT_VERSION_MISMATCH"
    assert code_of(remade(packed, lambda m: m.update(version=99, more="fields"))) == "SNAPSHOT_VERSION_MISMATCH"


@pytest.mark.parametrize("field", ["wasm", "image"])
def test_another_build_of_a_guest_is_a_version_mismatch(packed: bytes, field: str) -> None:
    assert code_of(remade(packed, lambda m: m["guests"]["shell"].update({field: bytes(32)}))) == "SNAPSHOT_VERSION_MISMATCH"


def test_a_guest_that_is_not_installed_is_a_version_mismatch(packed: bytes) -> None:
    def rename(manifest: dict[str, Any]) -> None:
        manifest["guests"]["cobol"] = manifest["guests"].pop("shell")

    assert code_of(remade(packed, rename)) == "SNAPSHOT_VERSION_MISMATCH"


def node(manifest: dict[str, Any], kind: str) -> list[Any]:
    return next(record for record in manifest["files"]["nodes"] if record[0] == kind)


FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "wrong format": lambda m: m.update(format="other"),
    "unknown field": lambda m: m.update(extra=1),
    "missing field": lambda m: m.pop("limits"),
    "language": lambda m: m.update(language="cobol"),
    "a guest named like a path": lambda m: m["guests"].update({"../shell": m["guests"].pop("shell")}),
    "a guest with a NUL in its name": lambda m: m["guests"].update({"shell\0": m["guests"].pop("shell")}),
    "huge memory": lambda m: m["guests"]["shell"].update(memory_bytes=1 << 40),
    "small memory": lambda m: m["guests"]["shell"].update(memory_bytes=65536),
    "odd memory": lambda m: m["guests"]["shell"].update(memory_bytes=m["guests"]["shell"]["memory_bytes"] + 1),
    "page outside": lambda m: m["guests"]["shell"].update(pages=m["guests"]["shell"]["pages"][:-4] + b"\xff\xff\xff\xff"),
    "pages out of order": lambda m: m["guests"]["shell"].update(
        pages=m["guests"]["shell"]["pages"][4:8] + m["guests"]["shell"]["pages"][:4] + m["guests"]["shell"]["pages"][8:]
    ),
    "fewer digests": lambda m: m["guests"]["shell"].update(digests=m["guests"]["shell"]["digests"][:-32]),
    "descriptor on nothing": lambda m: m["guests"]["shell"]["descriptors"].append([9, 1, 999, 0, 0, 2, 0, 0, None, []]),
    "descriptor of another kind": lambda m: m["guests"]["shell"]["descriptors"].append([9, 1, 1, 0, 0, 2, 0, 0, None, []]),
    "descriptor with a huge offset": lambda m: m["guests"]["shell"]["descriptors"].append(
        [9, 0, 0, 1 << 63, 0, 2, 0, 0, None, []]
    ),
    "descriptor with all rights": lambda m: m["guests"]["shell"]["descriptors"].append([9, 0, 0, 0, 0, 1 << 40, 0, 0, None, []]),
    "two descriptors of one number": lambda m: m["guests"]["shell"]["descriptors"].append([0, 0, 0, 0, 0, 2, 0, 0, None, []]),
    "negative size": lambda m: node(m, "file").__setitem__(7, -1),
    "another size": lambda m: node(m, "file").__setitem__(7, 4),
    "link count": lambda m: node(m, "file").__setitem__(2, 7),
    "name leads nowhere": lambda m: node(m, "directory")[8].extend(["ghost", 12345]),
    "name with a slash": lambda m: node(m, "directory")[8].__setitem__(0, "../../etc"),
    "name that is no text": lambda m: node(m, "directory")[8].__setitem__(0, 5),
    "odd entries": lambda m: node(m, "directory")[8].append("x"),
    "directory in itself": lambda m: node(m, "directory")[8].extend(["self", node(m, "directory")[1]]),
    "two directories in each other": lambda m: (
        m["files"].update(next_ino=9_000_003),
        m["files"]["nodes"].append(["directory", 9_000_001, 1, 0, 0, 0, 9_000_002, False, ["b", 9_000_002]]),
        m["files"]["nodes"].append(["directory", 9_000_002, 1, 0, 0, 0, 9_000_001, False, ["a", 9_000_001]]),
    ),
    "a directory that is nowhere": lambda m: (
        m["files"].update(next_ino=9_000_003),
        m["files"]["nodes"].append(["directory", 9_000_001, 1, 0, 0, 0, 1, False, []]),
    ),
    "fixed directory": lambda m: node(m, "directory").__setitem__(7, True),
    "next inode in use": lambda m: m["files"].update(next_ino=1),
    "inode twice": lambda m: m["files"]["nodes"].append(node(m, "file")),
    "system file replaced": lambda m: m["files"]["nodes"].append(["file", 1, 1, 0, 0, 0, False, 0, b""]),
    "negative time": lambda m: node(m, "file").__setitem__(3, -5),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_manifest_is_refused_even_with_the_right_key(packed: bytes, what: str) -> None:
    assert code_of(remade(packed, FORGERIES[what])) == "SNAPSHOT_CORRUPT"


PACK_FORGERIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "masks missing": lambda p: p.update(masks={}),
    "masks cut": lambda p: p["masks"].update(shell=p["masks"]["shell"][:-1]),
    "masks of nothing": lambda p: p["masks"].update(shell=bytes(len(p["masks"]["shell"]))),
    "chunk nobody needs": lambda p: p.update(chunks=p["chunks"] + bytes(32)),
    "chunks cut": lambda p: p.update(chunks=p["chunks"][:-1]),
    "no frame": lambda p: p.update(data=[]),
    "an empty frame": lambda p: p.update(data=[b""]),
    "garbage frame": lambda p: p.update(data=[os.urandom(100)]),
    "frame cut": lambda p: p.update(data=[p["data"][0][:-5]]),
    "a bomb": lambda p: p.update(data=[zstandard.ZstdCompressor(level=19).compress(bytes(200 << 20))]),
    "one frame more": lambda p: p.update(data=p["data"] * 2),
    "two frames in one": lambda p: p.update(data=[p["data"][0] * 2]),
    "a frame without a size": lambda p: p.update(
        data=[zstandard.ZstdCompressor(write_content_size=False).compress(zstandard.ZstdDecompressor().decompress(p["data"][0]))]
    ),
}


@pytest.mark.parametrize("what", PACK_FORGERIES)
def test_a_forged_pack_is_refused_even_with_the_right_key(packed: bytes, what: str) -> None:
    assert code_of(remade(packed, PACK_FORGERIES[what], manifest=False)) == "SNAPSHOT_CORRUPT"


@pytest.mark.parametrize(
    "bomb",
    [
        bytes.fromhex("d81c81d81d00"),
        b"\x81" * 100_000,
        bytes.fromhex("bf6161f5ff"),
        bytes.fromhex("9b7fffffffffffffff"),
        b"\xa0",
        b"\x80",
    ],
)
def test_tm_snap_bomb_cbor_bombs_inside_of_a_valid_seal_are_refused(bomb: bytes) -> None:
    assert code_of(sealed(bomb)) == "SNAPSHOT_CORRUPT"


def test_mutated_contents_inside_of_a_valid_seal_are_refused_or_run_harmlessly(packed: bytes) -> None:
    """Someone with the key and bad luck: whatever the bytes say, the process goes on."""
    chance = random.Random(5)
    accepted = 0
    for _ in range(1500):
        mutated = bytearray(packed)
        for _ in range(chance.randint(1, 3)):
            mutated[chance.randrange(len(mutated))] ^= 1 << chance.randrange(8)
        with contextlib.suppress(RequestError):
            snapshots.thaw(snapshots.unpack(bytes(mutated), memory_mb=64))
            accepted += 1
    assert accepted < 1500


def test_a_refused_restore_changes_nothing(new_box: NewBox, packed: bytes) -> None:
    box = new_box(language="shell")
    box.run("x=1")
    before = snapshots.take(box._session.freeze(), Origin()).manifest
    code_of(remade(packed, FORGERIES["link count"]))
    after = snapshots.take(box._session.freeze(), Origin()).manifest
    assert (before.guests, before.files) == (after.guests, after.files)


def test_records_hold_what_docs_say(packed: bytes) -> None:
    body = cbor2.loads(packed)
    assert set(body) == set(Pack.__struct_fields__)
    assert set(cbor2.loads(body["manifest"])) == set(Manifest.__struct_fields__)
    manifest = snapshots.decode_manifest(body["manifest"])
    assert cbor.encode(msgspec.to_builtins(manifest, builtin_types=(bytes,))) == body["manifest"]
    assert dataclasses.is_dataclass(Origin)
