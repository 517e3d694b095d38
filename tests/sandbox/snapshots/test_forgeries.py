"""Snapshots that are refused: damaged, cut off, another tenant's, forged with the right key, bombs."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import zlib
from collections.abc import Callable
from typing import Any

import cbor2
import msgspec
import pytest
import zstandard

import hatchway
from sandbox.encoding import cbor
from sandbox.encoding.sealing import seal
from sandbox.errors import RequestError
from sandbox.snapshots import snapshot_format
from sandbox.snapshots.snapshot_format import Manifest, Origin, Pack
from tests.conftest import NewBox
from tests.sandbox.snapshot_refusals import KEYS, code_of


@pytest.fixture(scope="module")
def small() -> bytes:
    """A shell session with a file, a variable and a function."""
    with hatchway.Sandbox(language="shell") as box:
        box.run("x=1; f() { echo $x; }; echo hi > a.txt")
        return box.snapshot(keys=KEYS)


@pytest.fixture(scope="module")
def packed(small: bytes) -> bytes:
    return snapshot_format.open_seal(small, KEYS, purpose="snapshot")


def sealed(pack: bytes) -> bytes:
    return seal(pack, KEYS, purpose="snapshot")


def test_tm_snap_forge_every_flipped_bit_of_a_small_snapshot_is_refused(small: bytes) -> None:
    for bit in range(len(small) * 8):
        flipped = bytearray(small)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RequestError) as refused:
            snapshot_format.open_snapshot(bytes(flipped), KEYS)
        assert refused.value.error.code == "SNAPSHOT_CORRUPT"


def test_every_truncation_of_a_small_snapshot_is_refused(small: bytes) -> None:
    for length in range(len(small)):
        with pytest.raises(RequestError) as refused:
            snapshot_format.open_snapshot(small[:length], KEYS)
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
            snapshot_format.thaw(snapshot_format.unpack(bytes(mutated), memory_mb=64))
            accepted += 1
    assert accepted < 1500


def test_a_refused_restore_changes_nothing(new_box: NewBox, packed: bytes) -> None:
    box = new_box(language="shell")
    box.run("x=1")
    before = snapshot_format.take(box._session.freeze(), Origin()).manifest
    code_of(remade(packed, FORGERIES["link count"]))
    after = snapshot_format.take(box._session.freeze(), Origin()).manifest
    assert (before.guests, before.files) == (after.guests, after.files)


def test_records_hold_what_docs_say(packed: bytes) -> None:
    body = cbor2.loads(packed)
    assert set(body) == set(Pack.__struct_fields__)
    assert set(cbor2.loads(body["manifest"])) == set(Manifest.__struct_fields__)
    manifest = snapshot_format.decode_manifest(body["manifest"])
    assert cbor.encode(msgspec.to_builtins(manifest, builtin_types=(bytes,))) == body["manifest"]
    assert dataclasses.is_dataclass(Origin)
