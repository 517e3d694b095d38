"""Key/values of sessions: small things that are not files. Secrets, the contract's other namespace, are in the vault.

Rules: keys are 1 to 255 bytes; `tool_approval/` is reserved. Listings show keys, never values. `expect` is what must be there
when it is written: the value's digest, or ABSENT; the store looks, so that of two writers only one wins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gateway.errors import BadRequest, missing
from gateway.records import KeyInfo, Principal
from gateway.sessions.sessions import Sessions
from gateway.stores.changes import DeleteValue, PutValue
from gateway.stores.store import Store
from gateway.stores.stored import Page

KEY_BYTES_MAX: Final = 255
RESERVED: Final = "tool_approval/"


def check_key(key: str) -> str:
    if not 1 <= len(key.encode("utf-8", "replace")) <= KEY_BYTES_MAX or "\0" in key:
        raise BadRequest("INVALID_ARGUMENT", f"a key has 1 to {KEY_BYTES_MAX} bytes and no NUL")
    if key.startswith(RESERVED):
        raise BadRequest("INVALID_ARGUMENT", f"keys that begin with {RESERVED} are reserved")
    return key


class Values:
    def __init__(self, store: Store, sessions: Sessions, clock_ms: Callable[[], int]) -> None:
        self._store = store
        self._clock_ms = clock_ms
        self._sessions = sessions

    async def put(self, principal: Principal, session_id: str, key: str, value: bytes, expect: str | None = None) -> None:
        await self._sessions.get(principal, session_id)
        change = PutValue(session_id=session_id, key=check_key(key), value=value, at=self._clock_ms(), expect=expect)
        await self._store.write(principal.tenant, [change])

    async def get(self, principal: Principal, session_id: str, key: str) -> bytes:
        await self._sessions.get(principal, session_id)
        found = await self._store.value(principal.tenant, session_id, key)
        if found is None:
            raise missing("value", key)
        return found

    async def delete(self, principal: Principal, session_id: str, key: str, expect: str | None = None) -> bool:
        await self._sessions.get(principal, session_id)
        if await self._store.value(principal.tenant, session_id, key) is None:
            return False
        await self._store.write(principal.tenant, [DeleteValue(session_id=session_id, key=key, expect=expect)])
        return True

    async def page(self, principal: Principal, session_id: str, after: str | None = None, limit: int = 100) -> Page[KeyInfo]:
        await self._sessions.get(principal, session_id)
        return await self._store.values(principal.tenant, session_id, after=after, limit=limit)
