"""Bundles: signed, verified before anything is believed, refused when altered."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from policy import (
    BundleError,
    Policy,
    PolicyError,
    compile_policy,
)
from policy.model.catalog import seal
from policy.tools.bundles import load_bundle, make_bundle, make_key, open_bundle, read_private_key, read_public_key
from tests.policy.policy_texts import SAMPLE, SAMPLES, TOOLS, small

PRIVATE, PUBLIC = make_key()


KEY, TRUSTED = read_private_key(PRIVATE), read_public_key(PUBLIC)


@pytest.fixture(scope="module")
def bundle() -> bytes:
    return make_bundle(Policy.load(SAMPLES / "acme.prod.hatch"), KEY)


def test_bundled_policy_decides_as_the_original(bundle: bytes) -> None:
    original, loaded = Policy.load(SAMPLES / "acme.prod.hatch"), load_bundle(bundle, [TRUSTED])
    assert loaded.digest == original.digest
    asked = {"tenant": "acme", "language": "python"}
    assert loaded.decide("run", asked) == original.decide("run", asked)


def test_bundle_carries_sources_places_catalog_and_results(bundle: bytes) -> None:
    payload = open_bundle(bundle, [TRUSTED])
    assert payload.sources["acme.prod.hatch"] == SAMPLE
    assert "platform.base.hatch" in payload.sources
    assert payload.source_map["allow:run#1"] == ("acme.prod.hatch", 10, 3)
    assert payload.catalog.digest == TOOLS.digest
    assert (payload.tests_passed, len(payload.proofs)) == (4, 4)


def test_a_bundle_says_which_programs_its_hooks_run(tmp_path: Path) -> None:
    hook = 'hook guard on before fs.read run shell "{}"{} timeout 1s on_error block\n'
    written = f" sha256:{sha256(b'elsewhere').hexdigest()}"
    text = small("allow fs.read\n" + hook.format("guard.sh", "") + hook.replace("guard", "other").format("far.sh", written))
    (tmp_path / "p.hatch").write_text(text)
    (tmp_path / "guard.sh").write_bytes(b"judge")
    payload = open_bundle(make_bundle(Policy.load(tmp_path / "p.hatch"), KEY), [TRUSTED])
    assert payload.programs == {"guard.sh": sha256(b"judge").hexdigest(), "far.sh": sha256(b"elsewhere").hexdigest()}
    assert [hook.sha256 for hook in payload.policy.hooks] == ["", sha256(b"elsewhere").hexdigest()]


def test_bundle_is_the_same_bytes_every_time(bundle: bytes) -> None:
    assert make_bundle(Policy.load(SAMPLES / "acme.prod.hatch"), KEY) == bundle


def test_unsigned_bundle_does_not_load(bundle: bytes) -> None:
    raw = json.loads(bundle)
    for damage in ({"signature": ""}, {"key_id": ""}, {"signature": raw["sha256"]}):
        with pytest.raises(BundleError):
            load_bundle(json.dumps({**raw, **damage}).encode(), [TRUSTED])
    del raw["signature"]
    with pytest.raises(BundleError):
        load_bundle(json.dumps(raw).encode(), [TRUSTED])


def test_bundle_signed_by_a_stranger_does_not_load(bundle: bytes) -> None:
    with pytest.raises(BundleError):
        load_bundle(bundle, [read_public_key(make_key()[1])])
    with pytest.raises(BundleError):
        load_bundle(bundle, [])


def test_altered_bundle_does_not_load_wherever_it_is_altered(bundle: bytes) -> None:
    for at in range(0, len(bundle), 499):
        altered = bundle[:at] + bytes([bundle[at] ^ 1]) + bundle[at + 1 :]
        with pytest.raises(BundleError):
            load_bundle(altered, [TRUSTED])
    for length in range(0, len(bundle), 997):
        with pytest.raises(BundleError):
            load_bundle(bundle[:length], [TRUSTED])


def test_refused_policy_cannot_be_bundled(tmp_path: Path) -> None:
    file = tmp_path / "p.hatch"
    file.write_text("policy p v 1\nallow fs.read\n")
    with pytest.raises(PolicyError):
        Policy.load(file)


def test_bundle_with_a_capability_called_like_a_session_event_does_not_load() -> None:
    private, public = make_key()
    policy = compile_policy(small("allow fs.read"))
    tools = {
        **policy.catalog.capabilities,
        "turn_end": msgspec.structs.replace(policy.catalog.capabilities["run"], name="turn_end"),
    }
    policy.catalog = seal(msgspec.structs.replace(policy.catalog, capabilities=tools))
    policy.ir = msgspec.structs.replace(policy.ir, catalog_digest=policy.catalog.digest)
    policy.digest = policy.ir.digest()
    packed = make_bundle(policy, read_private_key(private))
    with pytest.raises(BundleError, match="turn_end"):
        open_bundle(packed, [read_public_key(public)])
