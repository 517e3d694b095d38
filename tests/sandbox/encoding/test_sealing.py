"""Seals: COSE_Encrypt0, bound to tenant, key and purpose."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import cbor2
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sandbox.encoding.sealing import Keys, local_keys, open_seal, purpose_of, rotate_local_keys, seal
from sandbox.errors import RequestError, SetupError

KEYS = Keys.of(bytes(range(32)), "k1")


def refused(blob: bytes, keys: Keys = KEYS, **options: str) -> str:
    with pytest.raises(RequestError) as caught:
        open_seal(blob, keys, **{"purpose": "snapshot", **options})  # type: ignore[arg-type]
    assert caught.value.error.code == "SNAPSHOT_CORRUPT"
    return str(caught.value)


def test_what_is_sealed_can_be_opened_and_is_a_cose_encrypt0() -> None:
    blob = seal(b"data", KEYS, tenant="acme", purpose="snapshot")
    assert open_seal(blob, KEYS, tenant="acme", purpose="snapshot") == b"data"
    message = cbor2.loads(blob)
    assert message.tag == 16
    protected, unprotected, ciphertext = message.value
    assert cbor2.loads(protected) == {1: 3, 3: "application/x-hatchway-snapshot", 4: b"k1"}
    assert list(unprotected) == [5] and len(unprotected[5]) == 12
    assert len(ciphertext) == len(b"data") + 16
    assert purpose_of(blob) == "snapshot"


@pytest.mark.parametrize("length", [0, (256 << 10) - 16, (256 << 10) - 15, (256 << 10) + 1, 1_000_001])
def test_large_data_is_sealed_piece_by_piece_into_the_same_form(length: int) -> None:
    data = os.urandom(length)
    blob = seal(data, KEYS, tenant="acme", purpose="snapshot")
    protected, unprotected, encrypted = cbor2.loads(blob).value
    info = cbor2.dumps(["hatchway tenant key", "k1", "acme"])
    key = HKDF(SHA256(), 32, salt=None, info=info).derive(bytes(range(32)))
    bound = cbor2.dumps(["Encrypt0", protected, cbor2.dumps(["hatchway", "snapshot", "acme"])])
    assert AESGCM(key).decrypt(unprotected[5], encrypted, bound) == data, "as RFC 9052 says, whatever its size"
    assert open_seal(blob, KEYS, tenant="acme", purpose="snapshot") == data
    for place in (len(blob) // 2, -1):
        damaged = bytearray(blob)
        damaged[place] ^= 1
        refused(bytes(damaged), tenant="acme")
    refused(blob[:-1], tenant="acme")


def test_two_seals_of_the_same_data_share_nothing() -> None:
    assert seal(b"data" * 100, KEYS, purpose="snapshot")[-400:] != seal(b"data" * 100, KEYS, purpose="snapshot")[-400:]


def test_another_tenant_another_purpose_and_another_key_all_fail_like_damage() -> None:
    blob = seal(b"data", KEYS, tenant="acme", purpose="snapshot")
    damaged = bytearray(blob)
    damaged[-1] ^= 1
    message = refused(bytes(damaged), tenant="acme")
    assert refused(blob, tenant="other") == message
    assert refused(blob, Keys.of(bytes(32), "k1"), tenant="acme") == message
    refused(blob, tenant="acme", purpose="recording")
    assert "not in the key ring" in refused(blob, Keys.of(bytes(range(32)), "k2"), tenant="acme")


def test_every_flipped_bit_and_every_truncation_is_refused() -> None:
    blob = seal(b"some data to protect", KEYS, purpose="snapshot")
    for bit in range(len(blob) * 8):
        flipped = bytearray(blob)
        flipped[bit // 8] ^= 1 << bit % 8
        refused(bytes(flipped))
    for length in range(len(blob)):
        refused(blob[:length])
    refused(blob + b"\0")


def test_after_rotation_the_new_key_seals_and_the_old_one_still_opens() -> None:
    old = seal(b"old", KEYS, purpose="snapshot")
    ring = KEYS.add_key()
    new = seal(b"new", ring, purpose="snapshot")
    assert open_seal(old, ring, purpose="snapshot") == b"old"
    assert open_seal(new, ring, purpose="snapshot") == b"new"
    refused(new)


@pytest.mark.parametrize("key", [b"", b"short", bytes(31), bytes(33)])
def test_a_key_of_the_wrong_size_is_refused(key: bytes) -> None:
    with pytest.raises(SetupError):
        Keys.of(key)


def test_keys_do_not_show_when_a_ring_is_printed() -> None:
    assert KEYS.by_id["k1"].hex() not in repr(KEYS)
    assert repr(KEYS.by_id["k1"]) not in repr(KEYS)


def test_a_users_own_ring_is_made_private_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "keys"
    first = local_keys(path)
    assert local_keys(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rotated = rotate_local_keys(path)
    assert local_keys(path) == rotated
    assert rotated.current != first.current
    assert first.by_id.items() <= rotated.by_id.items()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_ring_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    local_keys(path)
    os.chmod(path, 0o644)
    with pytest.raises(SetupError, match="read by others"):
        local_keys(path)


def test_a_damaged_ring_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("1 nothex\n")
    path.chmod(0o600)
    with pytest.raises(SetupError):
        local_keys(path)
