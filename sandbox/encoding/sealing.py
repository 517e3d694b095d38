"""Seals: COSE_Encrypt0 (RFC 9052) with AES-256-GCM, bound to a tenant, a key and a purpose. For whatever leaves the process.

How: each tenant has a key of its own, derived from the key id's master key (HKDF-SHA-256), and the tenant and purpose are
authenticated as external data as well; so another tenant's seal fails like a damaged one. The key id stands in the protected
header. Rotation: the ring's last key seals, all its keys open.

Rules: THREAT[TM-SNAP-FORGE] THREAT[TM-SNAP-TENANT]: nothing but the fixed frame of a seal is read before it has been
authenticated. Every failure is the contract's SNAPSHOT_CORRUPT, and tells nothing about which check failed but a missing key.
INVARIANT: a nonce is 96 random bits, never reused for other data.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sandbox.encoding import cbor
from sandbox.errors import RequestError, SetupError

LOCAL_TENANT: Final = "local"
_TAG_ENCRYPT0: Final = 0xD0
_A256GCM: Final = 3
_ALGORITHM, _CONTENT_TYPE, _KEY_ID, _NONCE = 1, 3, 4, 5
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_PIECE_BYTES: Final = 256 << 10
_KEY_BYTES: Final = 32
_KEY_ID_FORM: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class Keys:
    """A ring of master keys by id. `current` seals; all of them open."""

    current: str
    by_id: Mapping[str, bytes] = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.by_id, Mapping):
            raise RequestError("INVALID_ARGUMENT", f"a key ring is a mapping of ids to keys, not {type(self.by_id).__name__}")
        for key_id, key in self.by_id.items():
            if not isinstance(key_id, str) or not isinstance(key, bytes):
                kinds = f"{type(key).__name__} under {type(key_id).__name__}"
                raise RequestError("INVALID_ARGUMENT", f"a key is bytes under an id that is text, not {kinds}")
            if not _KEY_ID_FORM.fullmatch(key_id) or len(key) != _KEY_BYTES:
                raise SetupError(f"the key {key_id[:64]!r} must have {_KEY_BYTES} bytes and an id of 1 to 64 letters or digits")
        if self.current not in self.by_id:
            raise SetupError(f"the key ring has no key {self.current!r}")

    @classmethod
    def of(cls, key: bytes, key_id: str = "1") -> Keys:
        return cls(key_id, {key_id: key})

    def add_key(self, key_id: str | None = None, key: bytes | None = None) -> Keys:
        """The ring with one more key, which seals from now on."""
        key_id = key_id or str(len(self.by_id) + 1)
        if key_id in self.by_id:
            raise SetupError(f"the key ring already has a key {key_id!r}")
        return Keys(key_id, {**self.by_id, key_id: key or secrets.token_bytes(_KEY_BYTES)})


def user_path(variable: str, name: str) -> Path:
    """What the variable of the environment says, or a file of that name in the user's data folder."""
    chosen = os.environ.get(variable)
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(chosen) if chosen else Path(base) / "hatchway" / name


def keys_path() -> Path:
    """HATCHWAY_KEYS, or `hatchway/keys` in the user's data folder."""
    return user_path("HATCHWAY_KEYS", "keys")


def local_keys(path: Path | None = None) -> Keys:
    """This user's own ring: a private file with a line `id hex` for each key, made when first asked for. The file is looked at
    every time, and read when it has changed."""
    path = path or keys_path()
    try:
        if not path.exists():
            _write_new(path, _lines(Keys.of(secrets.token_bytes(_KEY_BYTES))))
        found = path.stat()
        return _read_ring(path, found.st_mode, (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
    except (OSError, ValueError, IndexError) as error:
        raise SetupError(f"the keys {path} cannot be read: {error}") from None


@functools.lru_cache(maxsize=4)
def _read_ring(path: Path, mode: int, version: tuple[int, ...]) -> Keys:
    if mode & 0o077:
        raise SetupError(f"the keys {path} can be read by others; chmod 600 them")
    pairs = [line.split() for line in path.read_text("ascii").splitlines()]
    return Keys(pairs[-1][0], {key_id: bytes.fromhex(key) for key_id, key in pairs})


def rotate_local_keys(path: Path | None = None) -> Keys:
    """Add a key to this user's ring; what older keys sealed still opens."""
    path = path or keys_path()
    keys = local_keys(path).add_key()
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    _write_new(fresh, _lines(keys))
    fresh.rename(path)
    return keys


def _lines(keys: Keys) -> str:
    ordered = [*(key_id for key_id in keys.by_id if key_id != keys.current), keys.current]
    return "".join(f"{key_id} {keys.by_id[key_id].hex()}\n" for key_id in ordered)


def _write_new(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # A link fails if another process was first: its keys are the ones to use.
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from None


def corrupt(why: str, hint: str | None = None) -> RequestError:
    return RequestError("SNAPSHOT_CORRUPT", why, hint)


class _Cipher:
    """AES-256-GCM with a tenant's key. What is large goes piece by piece: each call holds the interpreter's lock, and a snapshot
    has up to hundreds of megabytes. What is small goes at once, which costs a fraction of that."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._key, self._small = key, AESGCM(key)

    def _large(self, nonce: bytes, tag: bytes | None = None) -> Any:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        return Cipher(algorithms.AES(self._key), modes.GCM(nonce, tag))

    def encrypt(self, nonce: bytes, data: bytes, bound: bytes, head: bytes) -> bytes:
        """Behind `head`, with the tag at the end."""
        if len(data) <= _PIECE_BYTES:
            return head + self._small.encrypt(nonce, data, bound)
        context = self._large(nonce).encryptor()
        context.authenticate_additional_data(bound)
        sealed = io.BytesIO(bytes(len(head) + len(data) + _TAG_BYTES))
        sealed.write(head)
        _pass_through(context, memoryview(data), sealed)
        sealed.write(context.finalize() + context.tag)
        return sealed.getvalue()

    def decrypt(self, nonce: bytes, encrypted: bytes, bound: bytes) -> bytes:
        """Raises `InvalidTag`. INVARIANT: nothing is returned that was not authenticated."""
        if len(encrypted) <= _PIECE_BYTES:
            return bytes(self._small.decrypt(nonce, encrypted, bound))
        data = memoryview(encrypted)[:-_TAG_BYTES]
        context = self._large(nonce, encrypted[-_TAG_BYTES:]).decryptor()
        context.authenticate_additional_data(bound)
        opened = io.BytesIO(bytes(len(data)))
        _pass_through(context, data, opened)
        context.finalize()
        return opened.getvalue()


def _pass_through(context: Any, data: memoryview, into: io.BytesIO) -> None:
    for at in range(0, len(data), _PIECE_BYTES):
        into.write(context.update(data[at : at + _PIECE_BYTES]))


@functools.lru_cache(maxsize=256)
def _cipher(key: bytes, key_id: str, tenant: str) -> _Cipher:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    info = cbor.encode(["hatchway tenant key", key_id, tenant])
    return _Cipher(HKDF(SHA256(), _KEY_BYTES, salt=None, info=info).derive(key))


def _bind_purpose(protected: bytes, purpose: str, tenant: str) -> bytes:
    """Enc_structure of RFC 9052, 5.3."""
    return cbor.encode(["Encrypt0", protected, cbor.encode(["hatchway", purpose, tenant])])


def _check_keys(keys: Keys) -> None:
    if not isinstance(keys, Keys):
        raise RequestError("INVALID_ARGUMENT", f"keys must be Keys, not {type(keys).__name__}", "Keys.of(32 bytes) makes a ring")


def seal(data: bytes, keys: Keys, *, tenant: str = LOCAL_TENANT, purpose: str) -> bytes:
    _check_keys(keys)
    key_id = keys.current
    protected = cbor.encode({_ALGORITHM: _A256GCM, _CONTENT_TYPE: f"application/x-hatchway-{purpose}", _KEY_ID: key_id.encode()})
    nonce = secrets.token_bytes(_NONCE_BYTES)
    # The last item is put behind the others by hand: it is megabytes, and the encoder would copy it twice.
    head = cbor.encode([protected, {_NONCE: nonce}, b""])
    assert head[-1:] == b"\x40"
    head = bytes([_TAG_ENCRYPT0]) + head[:-1] + cbor.head(2, len(data) + _TAG_BYTES)
    cipher = _cipher(keys.by_id[key_id], key_id, tenant)
    return cipher.encrypt(nonce, data, _bind_purpose(protected, purpose, tenant), head)


def open_seal(blob: bytes | bytearray | memoryview, keys: Keys, *, tenant: str = LOCAL_TENANT, purpose: str) -> bytes:
    """What was sealed, if it was sealed for this tenant and purpose by a key of the ring, and is unchanged."""
    _check_keys(keys)
    from cryptography.exceptions import InvalidTag

    protected, nonce, encrypted, key_id = _parts(bytes(blob) if isinstance(blob, bytearray | memoryview) else blob)
    key = keys.by_id.get(key_id)
    if key is None:
        raise corrupt(f"this was sealed with the key {key_id!r}, which is not in the key ring")
    try:
        return _cipher(key, key_id, tenant).decrypt(nonce, encrypted, _bind_purpose(protected, purpose, tenant))
    except InvalidTag:
        raise corrupt(f"this {purpose} is damaged, or belongs to another tenant") from None


def purpose_of(blob: bytes) -> str:
    """What a blob says it is. Only `open_seal` with this purpose tells whether that is true."""
    return str(cbor.decode(_parts(blob)[0])[_CONTENT_TYPE]).removeprefix("application/x-hatchway-")


def _parts(blob: bytes) -> tuple[bytes, bytes, bytes, str]:
    """Protected header, nonce, ciphertext and key id: all that is read before anything is authenticated."""
    if not isinstance(blob, bytes) or not blob or blob[0] != _TAG_ENCRYPT0:
        raise corrupt("this is not sealed data")
    try:
        protected, unprotected, encrypted = cbor.decode(blob, 1, depth_max=2, items_max=8)
        header = cbor.decode(protected, depth_max=1, items_max=8)
        nonce, key_id = unprotected[_NONCE], header[_KEY_ID].decode("ascii")
        if header[_ALGORITHM] != _A256GCM or len(header) != 3 or len(unprotected) != 1 or len(nonce) != _NONCE_BYTES:
            raise ValueError
        if not (isinstance(nonce, bytes) and isinstance(encrypted, bytes) and _KEY_ID_FORM.fullmatch(key_id)):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise corrupt("this is not sealed data, or it is cut off") from None
    return protected, nonce, encrypted, key_id
