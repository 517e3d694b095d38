"""Mutual TLS between the gateways of a fleet, made from the one key that they share.

    key = read_key(Path("fleet.key"))
    server, client = key.make_server_context("3f…"), key.make_client_context("3f…")

How: the key's file holds 32 random bytes. An Ed25519 authority is derived from them, the same at every gateway, and each gateway
issues itself a certificate for its own id when it starts, with a private key that never leaves its memory.

Rules: THREAT[TM-FLEET-LINK]: both ends show a certificate of that authority, and the one that connects asks for the id of the
gateway it means, so that another process at that address is not taken for it. TLS is 1.3; there is no plain connection. A process
that can read the file is a gateway: it must be private to its owner. The fingerprint that is compared tells nothing about it.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import secrets
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sandbox.errors import SetupError

_KEY_BYTES: Final = 32
_DOMAIN: Final = "gateway.hatchway.invalid"
_FROM: Final = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_UNTIL: Final = datetime.datetime(2099, 1, 1, tzinfo=datetime.UTC)
"""Certificates live as long as the processes that made them: clocks of machines need not agree for them."""


def read_key(path: Path) -> FleetKey:
    """The key in a private file, which is made if there is none."""
    try:
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(_KEY_BYTES) + "\n")
        if path.stat().st_mode & 0o077:
            raise SetupError(f"the fleet's key {path} can be read by others; chmod 600 it")
        secret = bytes.fromhex(path.read_text("ascii").strip())
    except (OSError, ValueError) as error:
        raise SetupError(f"the fleet's key {path} cannot be read: {error}") from None
    if len(secret) != _KEY_BYTES:
        raise SetupError(f"the fleet's key {path} must hold {_KEY_BYTES} bytes in hexadecimal")
    return FleetKey(secret)


def name_host(gateway: str) -> str:
    """What a gateway is called in its certificate."""
    return f"{gateway}.{_DOMAIN}"


@dataclass(frozen=True, slots=True)
class FleetKey:
    _secret: bytes = field(repr=False)

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(_derive(self._secret, b"hatchway fleet fingerprint")).hexdigest()

    def make_server_context(self, gateway: str) -> ssl.SSLContext:
        return self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), gateway)

    def make_client_context(self, gateway: str) -> ssl.SSLContext:
        """It checks names: connect with `server_hostname=name_host(other)`."""
        return self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), gateway)

    def _load(self, context: ssl.SSLContext, gateway: str) -> ssl.SSLContext:
        authority = Ed25519PrivateKey.from_private_bytes(_derive(self._secret, b"hatchway fleet authority"))
        own = Ed25519PrivateKey.generate()
        issuer = _name("Hatchway fleet")
        root = _sign(
            _describe(issuer, issuer, authority).add_extension(x509.BasicConstraints(True, 0), True), authority, authority
        )
        uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        names = x509.SubjectAlternativeName([x509.DNSName(name_host(gateway))])
        leaf = _sign(
            _describe(_name(gateway), issuer, own).add_extension(names, False).add_extension(uses, False), authority, own
        )
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(cadata=root.public_bytes(serialization.Encoding.PEM).decode())
        context.verify_mode = ssl.CERT_REQUIRED
        _load_chain(context, leaf, own)
        return context


def _derive(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=_KEY_BYTES, salt=None, info=purpose).derive(secret)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _describe(subject: x509.Name, issuer: x509.Name, key: Ed25519PrivateKey) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    return builder.serial_number(x509.random_serial_number()).not_valid_before(_FROM).not_valid_after(_UNTIL)


def _sign(builder: x509.CertificateBuilder, authority: Ed25519PrivateKey, own: Ed25519PrivateKey) -> x509.Certificate:
    is_root = own is authority
    usage = x509.KeyUsage(not is_root, False, False, False, False, is_root, is_root, False, False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    builder = builder.add_extension(usage, True).add_extension(identifier, False)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), False)
    return builder.sign(authority, None)


def _load_chain(context: ssl.SSLContext, leaf: x509.Certificate, own: Ed25519PrivateKey) -> None:
    """`ssl` takes files only: one that is nowhere on a disk."""
    pem, none = serialization.Encoding.PEM, serialization.NoEncryption()
    text = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, none) + leaf.public_bytes(pem)
    descriptor = os.memfd_create("hatchway", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, text)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
