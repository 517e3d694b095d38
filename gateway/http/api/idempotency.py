"""Idempotency: a POST that is sent again with the same `Idempotency-Key` gets the answer of the first, and is not done twice.

The way of a key: claimed (durably) before the operation begins; completed with the answer; released if the operation failed on
our side or was refused for being too much, so that it can be tried again.

Rules: a key belongs to a tenant and to one request: method, path, query, content type, body and token. The same key with another
request is 422. While the first is under way, or if it is not known how it ended, a second is 409. Answers that show a secret, are
streamed or are too large are not stored: sent again, they are 409. A caller that asks again may want the answer in the other
form, JSON or CBOR, and gets it. Ours, because Starlette has no such thing.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from typing import Final

import cbor2
import msgspec
from starlette.responses import Response

from gateway.clock import SteadyClock
from gateway.errors import BadRequest, Conflict, GatewayError, TooLarge, Unprocessable
from gateway.http.api.negotiation import CBOR, JSON, encode
from gateway.http.api.operation import Call
from gateway.http.api.problems import CBOR_PROBLEM, JSON_PROBLEM, describe_problem, encode_problem, list_headers
from gateway.http.api.replies import Reply
from gateway.stores.changes import DeleteIdempotency, PutIdempotency
from gateway.stores.store import Store

KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
BODY_MAX: Final = 1 << 20


class StoredAnswer(msgspec.Struct, frozen=True, array_like=True):
    """An answer as it was sent. `body` None: it was not stored."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes | None


_OTHER_FORMS: Final = {JSON: CBOR, CBOR: JSON, JSON_PROBLEM: CBOR_PROBLEM, CBOR_PROBLEM: JSON_PROBLEM}
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(StoredAnswer).decode


def _replay(stored: StoredAnswer, cbor: bool) -> Reply:
    """The answer, in the form that is wanted now."""
    headers, body = [*stored.headers, (b"idempotency-replayed", b"true")], stored.body or b""
    form = dict(stored.headers).get(b"content-type", b"").decode("latin-1")
    if form in _OTHER_FORMS and body and (form in (CBOR, CBOR_PROBLEM)) != cbor:
        body = encode(msgspec.json.decode(body) if cbor else cbor2.loads(body), cbor)
        headers = [(name, _OTHER_FORMS[form].encode() if name == b"content-type" else text) for name, text in headers]
    return Reply(stored.status, headers, body)


def digest_request(token_id: str, method: str, target: bytes, content_type: str, body: bytes) -> str:
    made = hashlib.sha256()
    for part in (token_id.encode(), method.encode(), target, content_type.encode(), body):
        made.update(len(part).to_bytes(8, "big"))
        made.update(part)
    return made.hexdigest()


class Idempotence:
    def __init__(self, store: Store, clock: SteadyClock, keep_ms: int = 86_400_000) -> None:
        self._store, self._clock, self._keep_ms = store, clock, keep_ms

    async def begin(self, tenant: str, key: str, digest: str, cbor: bool) -> Reply | None:
        """Claims the key; or the answer that was given already."""
        if not KEY.fullmatch(key):
            raise BadRequest("INVALID_IDEMPOTENCY_KEY", "an Idempotency-Key is 1 to 255 visible ASCII characters")
        found = await self._store.idempotency(tenant, key)
        now_ms = self._clock.now_ms()
        if found is not None and now_ms - found.at > self._keep_ms:
            await self._store.write(tenant, [DeleteIdempotency(key=key)])
            found = None
        if found is None:
            # Another process may claim it in between: the store lets only one of them.
            try:
                await self._store.write(tenant, [PutIdempotency(key=key, request_digest=digest, at=now_ms)])
                return None
            except Conflict:
                found = await self._store.idempotency(tenant, key)
        if found is None or found.request_digest != digest:
            raise Unprocessable(
                "IDEMPOTENCY_KEY_REUSED", "this Idempotency-Key was used for another request", "make a new key for each request"
            )
        if found.response is None:
            message = "the first request with this key has not ended, or ended unknown"
            raise Conflict("IDEMPOTENCY_IN_PROGRESS", message, retry_after_ms=1000)
        stored = _decode(found.response)
        if stored.body is None:
            raise Conflict(
                "IDEMPOTENCY_ANSWER_WITHHELD",
                f"this was done already, with status {stored.status}; its answer is not shown again",
                "look at what it made; use a new key to do it again",
            )
        return _replay(stored, cbor)

    async def end(self, tenant: str, key: str, digest: str, made: Response, *, is_shown: bool) -> None:
        """Stores the answer, if it may be shown again. Where there is no room for it, the key stays claimed: what was done is not
        undone by that, and not done twice."""
        withheld = StoredAnswer(made.status_code, [], None)
        answers = [withheld]
        if is_shown and len(made.body) <= BODY_MAX:
            headers = [pair for pair in made.raw_headers if pair[0] != b"content-length"]
            answers.insert(0, StoredAnswer(made.status_code, headers, bytes(made.body)))
        for answer in answers:
            change = PutIdempotency(key=key, request_digest=digest, at=self._clock.now_ms(), response=_encode(answer))
            with contextlib.suppress(TooLarge):
                await self._store.write(tenant, [change])
                return

    async def end_refused(self, tenant: str, key: str, digest: str, error: GatewayError, call: Call) -> None:
        """Stores a refusal, unless it is ours or passes with time: then the request may be tried again."""
        if error.status >= 500 or error.status in (408, 429):
            await self.release(tenant, key)
            return
        form, body = encode_problem(describe_problem(error, call.request_id), call.cbor)
        made = Reply(error.status, [(b"content-type", form.encode()), *list_headers(error)], body)
        await self.end(tenant, key, digest, made, is_shown=True)

    async def release(self, tenant: str, key: str) -> None:
        """Lets the request be tried again."""
        await self._store.write(tenant, [DeleteIdempotency(key=key)])
