"""Authentication: from a bearer token to a `Principal`, and whether it may call what is for an audience.

Rules: THREAT[TM-HTTP-TOKEN]: unknown, malformed, expired and revoked tokens get the same 401, after the same work: one digest,
one lookup. The token itself is never kept, compared or logged. Time comes from a clock that never goes back. Roles other than
admin belong to one tenant; an admin acts on a tenant by naming it in `Hatchway-Tenant`. Failures are counted, and reported to the
audit at most once a second for each address; a failure with a token that was a tenant's once is that tenant's, all others belong
to no tenant. A token that is revoked or expires while a body arrives (`confirm`) or a stream is open (`watch`) counts as none.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Final, get_args

from gateway.clock import SteadyClock
from gateway.errors import BadRequest, Forbidden, GatewayError, Unauthorized, missing
from gateway.http.api.admission import FindTenant
from gateway.http.api.operation import ANONYMOUS
from gateway.http.api.reauthorization import Watch
from gateway.records import Principal, Role, Token
from gateway.telemetry import Telemetry
from gateway.tenants.tokens import MAY, TOKEN, Audience, digest_of_token, is_valid

TENANT: Final = re.compile(r"[a-zA-Z0-9_\-]{1,64}")
BEARER: Final = "hatchway.bearer."
CACHE_MAX: Final = 10_000
ADDRESSES_MAX: Final = 1_000
_log = logging.getLogger("hatchway.authentication")
_NO_TOKEN: Final = "hw_" + "0" * 43


TellFailure = Callable[[str, int, str], Awaitable[None]]
"""Audits failed logins: the address, how many since the last report about it, and whose token it was, if it has expired or was
revoked; "" for an unknown token."""


class Authenticator:
    def __init__(
        self,
        find_token: Callable[[str], Awaitable[Token | None]],
        clock: SteadyClock,
        telemetry: Telemetry,
        *,
        find_tenant: FindTenant | None = None,
        tell_failure: TellFailure | None = None,
        cache_ms: int = 2_000,
    ) -> None:
        self._find_token, self._clock, self._telemetry = find_token, clock, telemetry
        self._find_tenant, self._tell_failure = find_tenant, tell_failure
        self._cache_s = cache_ms / 1000
        self._cache: OrderedDict[str, tuple[Token, float]] = OrderedDict()
        self._generation = 0
        """Grows when something is forgotten: what was looked up before is not cached after."""
        self._failures: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()
        self._watches: set[Watch] = set()

    async def identify(self, audience: Audience, headers: Mapping[str, str], address: str) -> Principal:
        """Who calls, if they may call what is for this audience."""
        if audience == "public":
            return ANONYMOUS
        token = await self._find(headers.get("authorization", ""))
        if token is None or not is_valid(token, self._clock.now_ms()):
            await self._note_failure(address, "" if token is None else token.tenant)
            raise _refuse_token()
        principal = authorize(audience, token, headers.get("hatchway-tenant"))
        if principal.tenant != token.tenant and self._find_tenant and await self._find_tenant(principal.tenant) is None:
            raise missing("tenant", principal.tenant)
        return principal

    async def find_token(self, header: str) -> tuple[Token | None, bool]:
        """The token in an Authorization header, and whether it is valid now. It is no failed login if it is not."""
        token = await self._find(header)
        return token, token is not None and is_valid(token, self._clock.now_ms())

    async def confirm(self, audience: Audience, headers: Mapping[str, str]) -> None:
        """Whether the token still holds; cheap, because streams ask again and again."""
        if audience == "public":
            return
        token = await self._find(headers.get("authorization", ""))
        if token is None or not is_valid(token, self._clock.now_ms()):
            raise _refuse_token()

    @contextlib.contextmanager
    def watch(self, audience: Audience, headers: Mapping[str, str]) -> Iterator[Watch]:
        """For a stream of an admitted caller, while it is open."""
        watch = Watch(lambda: self.confirm(audience, headers))
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.discard(watch)

    async def _find(self, header: str) -> Token | None:
        """The token, whether it is valid or not any more."""
        scheme, _, text = header.partition(" ")
        text = text.strip()
        shaped = scheme.lower() == "bearer" and TOKEN.fullmatch(text) is not None
        digest = digest_of_token(text if shaped else _NO_TOKEN)
        found, now_s = self._cache.get(digest), time.monotonic()
        if found is not None and now_s < found[1]:
            token: Token | None = found[0]
        else:
            generation = self._generation
            token = await self._find_token(digest)
            if token is not None and generation == self._generation:
                self._cache[digest] = (token, now_s + self._cache_s)
                if len(self._cache) > CACHE_MAX:
                    self._cache.popitem(last=False)
            else:
                self._cache.pop(digest, None)
        return token if shaped else None

    def forget(self, token_id: str | None = None) -> None:
        """After a revocation: the next request asks the store, and so does every open stream, now. Without an id, everything is
        forgotten."""
        self._generation += 1
        for digest in [digest for digest, (token, _) in self._cache.items() if token_id in (None, token.id)]:
            del self._cache[digest]
        for watch in self._watches:
            watch.stir()

    async def _note_failure(self, address: str, tenant: str) -> None:
        self._telemetry.login_failures.inc()
        key = (tenant, address)
        count, since = self._failures.get(key, (0, 0.0))
        now_s = time.monotonic()
        if self._tell_failure is None or now_s - since < 1:
            self._failures[key] = (count + 1, since)
        else:
            self._failures[key] = (0, now_s)
            try:
                await self._tell_failure(address, count + 1, tenant)
            except GatewayError:
                _log.exception("a failed login could not be audited")
        if len(self._failures) > ADDRESSES_MAX:
            self._failures.popitem(last=False)


def read_bearer(headers: dict[str, str], offered: Iterable[str]) -> None:
    """Takes the token that a browser offers as a WebSocket's protocol, because it can send no header."""
    bearer = next((name for name in offered if name.startswith(BEARER)), None)
    if bearer is not None:
        headers.setdefault("authorization", f"Bearer {bearer.removeprefix(BEARER)}")


def _refuse_token() -> Unauthorized:
    return Unauthorized("UNAUTHORIZED", "a valid token is needed", "send  Authorization: Bearer hw_…")


def authorize(audience: Audience, token: Token, named: str | None) -> Principal:
    allowed = MAY[audience]
    if token.role not in allowed:
        roles = [role for role in reversed(get_args(Role)) if role in allowed]
        raise Forbidden("FORBIDDEN", f"the role {token.role!r} may not do this", f"it is for: {', '.join(roles)}")
    tenant = token.tenant
    if named is not None:
        if not TENANT.fullmatch(named):
            raise BadRequest("INVALID_ARGUMENT", "Hatchway-Tenant is not a tenant's id")
        if token.role == "admin":
            tenant = named
        elif not hmac.compare_digest(named, tenant):
            raise Forbidden("FORBIDDEN", "this token belongs to one tenant", "leave Hatchway-Tenant out")
    return Principal(tenant=tenant, role=token.role, user=token.user, groups=token.groups, token_id=token.id)
