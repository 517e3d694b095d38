"""Values and secrets of a gateway's session, for asyncio: two namespaces with the verbs that `AsyncSandbox` has.

Rules: a gateway never answers with a secret's value; asking for one is refused. Secrets are an operator's to set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from hatchway.client.operations import request
from hatchway.client.requests import Ask, Refused
from hatchway.values import KeyInfo, check_key, check_value
from sandbox.errors import RequestError

if TYPE_CHECKING:
    from hatchway.client.async_client import AsyncClient

Keys: TypeAlias = list[KeyInfo]


class _SecretInfo(msgspec.Struct, frozen=True):
    name: str
    created_at: int
    updated_at: int


class AsyncRemoteValues:
    def __init__(self, client: AsyncClient, session_id: str) -> None:
        self._client = client
        self._session_id = session_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._session_id!r}>"

    async def set(self, key: str, value: str) -> None:
        ask = request("put_value", session_id=self._session_id, key=check_key(key), file=check_value(value))
        await self._client.ask(ask)

    async def get(self, key: str) -> str | None:
        found: bytes | None = await self._find(request("get_value", kind=bytes, session_id=self._session_id, key=check_key(key)))
        try:
            return None if found is None else found.decode()
        except UnicodeDecodeError:
            hint = 'its bytes: client.do("get-value", session_id=…, key=…)'
            raise RequestError("INVALID_CONTENT", f"the value {key[:80]!r} is no text", hint) from None

    async def delete(self, key: str) -> bool:
        """Was there one?"""
        return await self._find(request("delete_value", session_id=self._session_id, key=check_key(key))) is not None

    async def list(self) -> Keys:
        """Sorted by key."""
        return [one async for one in self._client._list(KeyInfo, "list_values", session_id=self._session_id)]

    async def _find(self, ask: Ask) -> bytes | None:
        """What is answered; None if there is no such key."""
        try:
            return bytes(await self._client.ask(ask))
        except Refused as refused:
            if refused.error.code not in ("VALUE_NOT_FOUND", "SECRET_NOT_FOUND"):
                raise
            return None


class AsyncRemoteSecrets(AsyncRemoteValues):
    async def set(self, key: str, value: str) -> None:
        check_value(value)
        await self._client.ask(request("put_session_secret", session_id=self._session_id, name=check_key(key), value=value))

    async def get(self, key: str) -> str | None:
        message = "a gateway never answers with a secret's value"
        raise RequestError("PERMISSION_DENIED", message, "programs use it through the capabilities that its policy names")

    async def delete(self, key: str) -> bool:
        return await self._find(request("delete_session_secret", session_id=self._session_id, name=check_key(key))) is not None

    async def list(self) -> Keys:
        found = self._client._list(_SecretInfo, "list_session_secrets", session_id=self._session_id)
        return [KeyInfo(one.name, one.created_at, one.updated_at) async for one in found]
