"""Policies in transport: one signed file with the canonical form, its sources, its catalog and what was proved.

Rules: nothing in a bundle is believed, or even parsed, before its signature by a trusted Ed25519 key has been verified.
INVARIANT: only a policy that passed every check can be bundled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from policy.errors import BundleError
from policy.model import ir
from policy.model.catalog import Catalog, CatalogError, check_name, seal
from policy.policies import Policy

FORMAT = "hatchway-policy-bundle/1"
MAX_BUNDLE_BYTES = 64 * 1024 * 1024


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outside of the file. `signature` covers the format's name and the payload."""

    format: str
    sha256: str
    key_id: str
    signature: bytes
    payload: bytes


class Payload(msgspec.Struct, frozen=True):
    """`source_map` gives file, line and column of each rule, limit, hook and claim. `programs` are the digests of the hooks'
    programs that lay next to the policy, by name: a host that runs hooks runs these."""

    policy: ir.Policy
    policy_sha256: str
    catalog: Catalog
    sources: dict[str, str]
    source_map: dict[str, tuple[str, int, int]]
    tests_passed: int
    proofs: dict[str, str]
    programs: dict[str, str] = {}


def make_bundle(policy: Policy, key: Ed25519PrivateKey) -> bytes:
    """The signed bundle of a policy that was compiled from sources here."""
    if policy.checked is None:
        raise BundleError("only a policy compiled from its sources can be bundled")
    checked = policy.checked
    units = (*checked.loaded.units, *(checked.loaded.base.units if checked.loaded.base is not None else ()))
    bound = policy.ir.bind(checked.loaded.library.read)
    places = {}
    for name, span in checked.program.spans.items():
        line, column = span.source.position(span.start)
        places[name] = (span.source.path, line, column)
    payload = Payload(
        policy.ir,
        policy.digest,
        policy.catalog,
        {unit.path: unit.source.text for unit in units},
        places,
        sum(result.passed for result in checked.results),
        {proof.text: proof.method for proof in checked.proofs},
        {hook.program: hook.sha256 for hook in bound.hooks if hook.sha256},
    )
    data = msgspec.json.encode(payload, order="sorted")
    envelope = Envelope(FORMAT, hashlib.sha256(data).hexdigest(), key_id(key.public_key()), key.sign(_encode_signed(data)), data)
    return msgspec.json.encode(envelope)


def load_bundle(data: bytes, trusted: Iterable[Ed25519PublicKey]) -> Policy:
    """The policy in a bundle signed by one of the trusted keys. Raises BundleError otherwise."""
    payload = open_bundle(data, trusted)
    try:
        return Policy(payload.policy, payload.catalog)
    except Exception as error:
        raise BundleError(f"the bundle's policy cannot be compiled: {error}") from error


def open_bundle(data: bytes, trusted: Iterable[Ed25519PublicKey]) -> Payload:
    """Verify, then decode. THREAT[TM-POL-004]: the order matters."""
    if len(data) > MAX_BUNDLE_BYTES:
        raise BundleError("the bundle is too large")
    try:
        envelope = msgspec.json.decode(data, type=Envelope)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BundleError(f"this is not a bundle: {error}") from error
    if envelope.format != FORMAT:
        raise BundleError(f"unknown bundle format {envelope.format[:40]!r}")
    keys = {key_id(key): key for key in trusted}
    key = keys.get(envelope.key_id)
    if key is None:
        raise BundleError(f"the bundle is signed by no trusted key (it names {envelope.key_id[:16]!r})")
    try:
        key.verify(envelope.signature, _encode_signed(envelope.payload))
    except InvalidSignature:
        raise BundleError("the bundle's signature does not fit its content") from None
    if hashlib.sha256(envelope.payload).hexdigest() != envelope.sha256:
        raise BundleError("the bundle's digest does not fit its content")
    try:
        payload = msgspec.json.decode(envelope.payload, type=Payload)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BundleError(f"the bundle's content is malformed: {error}") from error
    if payload.policy.digest() != payload.policy_sha256 or seal(payload.catalog).digest != payload.policy.catalog_digest:
        raise BundleError("the bundle's parts do not belong together")
    try:
        for name in payload.catalog.capabilities:
            check_name(name)
    except CatalogError as error:
        raise BundleError(f"the bundle's catalog cannot be used: {error}") from error
    return payload


def _encode_signed(payload: bytes) -> bytes:
    return FORMAT.encode() + b"\n" + payload


def key_id(key: Ed25519PublicKey) -> str:
    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:32]


def make_key() -> tuple[bytes, bytes]:
    """A fresh key pair as PEM: private, public."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def read_private_key(pem: bytes) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError) as error:
        raise BundleError(f"not a private key: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BundleError("not an Ed25519 key")
    return key


def read_public_key(pem: bytes) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(pem)
    except (ValueError, TypeError) as error:
        raise BundleError(f"not a public key: {error}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise BundleError("not an Ed25519 key")
    return key
