"""The vault: secrets of tenants and sessions, encrypted before they reach a store.

How: every tenant has a data key of 256 random bits, kept in the store wrapped under the master key. A secret is sealed with it
(COSE_Encrypt0, AES-256-GCM, `sandbox.encoding.sealing`), together with its name, bound to the tenant. So a store that is stolen
tells nothing, and a sealed value that is moved to another name or tenant does not open. Master keys come from a private file,
from the environment, or from whatever can `wrap` and `unwrap` (a key management service).

Rules: THREAT[TM-STORE-SECRET]: a value leaves only through `get`, as a `Secret` that does not show itself; no listing, error or
audit record holds one. `rotate` gives a tenant a new data key and seals its secrets with it; `rewrap` wraps data keys under the
newest master key. Each of these changes is in the audit log, in the same write.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from gateway.errors import BadRequest, Conflict, Internal, PreconditionFailed, TooLarge, missing
from gateway.records import SecretInfo
from gateway.stores.changes import ABSENT, AppendAudit, Change, DeleteSecret, PutKey, PutSecret, digest_of
from gateway.stores.pages import walk
from gateway.stores.store import Store
from gateway.stores.stored import Page
from sandbox.encoding import cbor
from sandbox.encoding.sealing import Keys, local_keys, open_seal, seal
from sandbox.errors import RequestError, SetupError

MASTER_VARIABLE: Final = "HATCHWAY_MASTER_KEY"
NAME_BYTES_MAX: Final = 255
VALUE_BYTES_MAX: Final = 64 << 10
_KEY_BYTES: Final = 32
_RINGS_MAX: Final = 1000
_WRAPPING, _SEALING = "data-key", "secret"


class Secret:
    """A value that does not show itself by accident: `reveal` says that you mean it."""

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value.decode("utf-8")

    def reveal_bytes(self) -> bytes:
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")


class MasterKey(Protocol):
    """What a key management service offers. Both are bound to the tenant."""

    async def wrap(self, tenant: str, key: bytes) -> bytes: ...
    async def unwrap(self, tenant: str, wrapped: bytes) -> bytes: ...


@dataclass(eq=False, repr=False)
class LocalMasterKey:
    """A ring of master keys in this process: the newest wraps, all unwrap. An `older` ring only unwraps."""

    _keys: Keys
    _older: Keys | None = None

    @property
    def ring(self) -> Keys:
        return self._keys

    async def wrap(self, tenant: str, key: bytes) -> bytes:
        return seal(key, self._keys, tenant=tenant, purpose=_WRAPPING)

    async def unwrap(self, tenant: str, wrapped: bytes) -> bytes:
        try:
            return open_seal(wrapped, self._keys, tenant=tenant, purpose=_WRAPPING)
        except RequestError:
            if self._older is None:
                raise
            return open_seal(wrapped, self._older, tenant=tenant, purpose=_WRAPPING)


async def find_keys(path: Path, store: Store) -> Keys:
    """The keys of a data folder, made with its store. THREAT[TM-STORE-KEYS]: a store that has tenants was sealed with keys;
    others would open nothing of it, and what they seal would not open when the first are back."""
    if not path.exists() and (await store.tenants(limit=1)).items:
        raise SetupError(
            f"the keys {path} are missing, and the store was sealed with them: bring the file back from a backup of the data "
            "folder; docs/operations.md says what is left if there is none"
        )
    return local_keys(path)


def choose_master(keys: Keys, environment: Mapping[str, str]) -> LocalMasterKey:
    """The environment's, if it has any; what `keys`, those of the data folder, have wrapped before still opens."""
    if not environment.get(MASTER_VARIABLE):
        return LocalMasterKey(keys)
    return LocalMasterKey(_parse_keys(environment[MASTER_VARIABLE]), keys)


def _parse_keys(text: str) -> Keys:
    """One or more keys `id:hex`, separated by commas; the last wraps. A bare `hex` has the id 1."""
    pairs = [part.strip().rpartition(":") for part in text.split(",") if part.strip()]
    try:
        keys = {key_id or "1": bytes.fromhex(key) for key_id, _, key in pairs}
        return Keys(pairs[-1][0] or "1", keys)
    except (ValueError, IndexError):
        raise SetupError(f"{MASTER_VARIABLE} must hold a key of {_KEY_BYTES} bytes in hexadecimal") from None


class Vault:
    def __init__(self, store: Store, master: Keys | MasterKey, clock_ms: Callable[[], int]) -> None:
        self._store = store
        self._master: MasterKey = LocalMasterKey(master) if isinstance(master, Keys) else master
        self._clock_ms = clock_ms
        self._unwrapped: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()

    def __repr__(self) -> str:
        return "Vault(…)"

    async def set(self, tenant: str, name: str, value: str | bytes, session_id: str = "", *, by: str = "") -> None:
        """`session_id` "" is the tenant's own namespace; `by` is who sets it, for the audit log."""
        _check_name(name)
        try:
            data = value.encode("utf-8") if isinstance(value, str) else value
        except UnicodeEncodeError:
            raise BadRequest("INVALID_ARGUMENT", "a secret is text that can be encoded") from None
        if len(data) > VALUE_BYTES_MAX:
            raise TooLarge("SECRET_TOO_LARGE", f"a secret has at most {VALUE_BYTES_MAX} bytes")
        keys = await self._load_ring(tenant) or await self._make_first_key(tenant)
        change = PutSecret(name=name, sealed=_seal(tenant, name, data, keys), at=self._clock_ms(), session_id=session_id)
        is_new = await self._store.secret(tenant, name, session_id) is None
        told = self._make_audit("secret.set", by, name, session=session_id, new=is_new)
        await self._store.write(tenant, [change, told])

    async def get(self, tenant: str, name: str, session_id: str = "") -> Secret | None:
        sealed = await self._store.secret(tenant, name, session_id)
        if sealed is None:
            return None
        keys = await self._load_ring(tenant)
        if keys is None:
            raise Internal("SECRET_DAMAGED", f"the tenant has no key for the secret {name[:100]!r}")
        return Secret(_open(tenant, name, sealed, keys))

    async def delete(self, tenant: str, name: str, session_id: str = "", *, by: str = "") -> bool:
        if await self._store.secret(tenant, name, session_id) is None:
            return False
        told = self._make_audit("secret.delete", by, name, session=session_id)
        await self._store.write(tenant, [DeleteSecret(name=name, session_id=session_id), told])
        return True

    def _make_audit(self, kind: str, by: str, subject: str, **data: Any) -> AppendAudit:
        """THREAT[TM-STORE-SECRET]: which secret and which key, never what they are."""
        return AppendAudit(at=self._clock_ms(), kind=kind, actor=by, subject=subject, data=data)

    async def list(self, tenant: str, session_id: str = "", *, after: str | None = None, limit: int = 100) -> Page[SecretInfo]:
        """Names, sorted; never values."""
        return await self._store.secrets(tenant, session_id, after=after, limit=limit)

    def forget(self, tenant: str) -> None:
        """Its data keys go from memory."""
        for name in [name for name in self._unwrapped if name[0] == tenant]:
            del self._unwrapped[name]

    def find_signing_keys(self, tenant: str) -> TenantSecrets:
        return TenantSecrets(self, tenant)

    async def rotate(self, tenant: str, *, by: str = "") -> int:
        """A new data key, and every secret sealed with it; how many. The old key stays for reads under way."""
        keys = await self._load_ring(tenant)
        if keys is None:
            return 0
        fresh, change = await self._make_key(tenant, keys)
        await self._store.write(tenant, [change, self._make_audit("secret.rotate", by, change.id)])
        count = 0
        async for session_id, name in self._list_names(tenant):
            count += await self._reseal(tenant, name, session_id, fresh)
        return count

    async def _reseal(self, tenant: str, name: str, session_id: str, keys: Keys) -> bool:
        """False if it is gone. Compare-and-set: a value that is set meanwhile is not overwritten with the one before it."""
        while (sealed := await self._store.secret(tenant, name, session_id)) is not None:
            again = _seal(tenant, name, _open(tenant, name, sealed, keys), keys)
            change = PutSecret(name=name, sealed=again, at=self._clock_ms(), session_id=session_id, expect=digest_of(sealed))
            try:
                await self._store.write(tenant, [change])
                return True
            except PreconditionFailed:
                continue
        return False

    async def rewrap(self, tenant: str, *, by: str = "") -> int:
        """Wrap the tenant's data keys under the newest master key; how many there are. Afterwards older ones may be forgotten."""
        changes: list[Change] = []
        for key in await self._store.keys(tenant):
            wrapped = await self._master.wrap(tenant, await self._unwrap(tenant, key.wrapped))
            changes.append(PutKey(id=key.id, wrapped=wrapped, at=key.created_at))
        if changes:
            await self._store.write(tenant, [*changes, self._make_audit("secret.rewrap", by, tenant, keys=len(changes))])
        return len(changes)

    async def _list_names(self, tenant: str) -> AsyncIterator[tuple[str, str]]:
        async for secret in walk(self._store.secrets, tenant, ""):
            yield "", secret.name
        async for session in walk(self._store.sessions, tenant):
            async for secret in walk(self._store.secrets, tenant, session.id):
                yield session.id, secret.name

    async def _load_ring(self, tenant: str) -> Keys | None:
        """The tenant's data keys, asked of the store each time: another process may have made or rotated them."""
        stored = await self._store.keys(tenant)
        if not stored:
            return None
        return Keys(stored[-1].id, {key.id: await self._unwrap(tenant, key.wrapped) for key in stored})

    async def _make_first_key(self, tenant: str) -> Keys:
        keys, change = await self._make_key(tenant, None)
        try:
            await self._store.write(tenant, [change])
        except Conflict:
            found = await self._load_ring(tenant)
            if found is None:
                raise
            return found
        return keys

    async def _make_key(self, tenant: str, keys: Keys | None) -> tuple[Keys, PutKey]:
        key, key_id = secrets.token_bytes(_KEY_BYTES), str(len(keys.by_id) + 1 if keys else 1)
        change = PutKey(id=key_id, wrapped=await self._master.wrap(tenant, key), at=self._clock_ms(), expect=ABSENT)
        return (keys.add_key(key_id, key) if keys else Keys.of(key, key_id)), change

    async def _unwrap(self, tenant: str, wrapped: bytes) -> bytes:
        name = (tenant, hashlib.sha256(wrapped).digest())
        key = self._unwrapped.pop(name, None)
        if key is None:
            try:
                key = await self._master.unwrap(tenant, wrapped)
            except RequestError as error:
                raise Internal("KEY_DAMAGED", f"a data key of this tenant does not open: {error}") from None
        self._unwrapped[name] = key
        while len(self._unwrapped) > _RINGS_MAX:
            self._unwrapped.popitem(last=False)
        return key


@dataclass(frozen=True, slots=True)
class TenantSecrets:
    """The vault, for those who know one tenant only: hooks (`key`) and runners (`resolve`)."""

    _vault: Vault
    _tenant: str

    async def key(self, name: str) -> bytes | None:
        found = await self._vault.get(self._tenant, name)
        return None if found is None else found.reveal_bytes()

    async def resolve(self, ref: HasId) -> bytes:
        found = await self.key(ref.id)
        if found is None:
            raise missing("secret", ref.id)
        return found


class HasId(Protocol):
    @property
    def id(self) -> str: ...


def _check_name(name: str) -> None:
    if not 1 <= len(name.encode("utf-8", "replace")) <= NAME_BYTES_MAX or "\0" in name:
        raise BadRequest("INVALID_ARGUMENT", f"a secret's name has 1 to {NAME_BYTES_MAX} bytes and no NUL")


def _seal(tenant: str, name: str, value: bytes, keys: Keys) -> bytes:
    return seal(cbor.encode([name, value]), keys, tenant=tenant, purpose=_SEALING)


def _open(tenant: str, name: str, sealed: bytes, keys: Keys) -> bytes:
    try:
        found, value = cbor.decode(open_seal(sealed, keys, tenant=tenant, purpose=_SEALING), depth_max=1, items_max=3)
        if found != name or not isinstance(value, bytes):
            raise ValueError
    except (RequestError, ValueError, TypeError):
        raise Internal("SECRET_DAMAGED", f"the secret {name[:100]!r} does not open", "set it again") from None
    return value
