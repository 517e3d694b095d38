"""Webhooks: hooks that are a web service.

The payload is sent as JSON with POST; an answer of 200 to 299 is read like a program's output after status 0. The header

    Hatchway-Signature: t=1767225600,v1=<hex HMAC-SHA256 of "1767225600." + body>

lets the service tell a genuine request (`verify`). THREAT[TM-HOOK-006]: the time is signed too, so that a request that was
recorded cannot be sent again later; `Hatchway-Delivery` is the same for every attempt, so that a service can tell a retry.

Rules: everything happens within the hook's timeout. Failures of the network, 429 and 5xx are tried again after pauses that
double; a refusal of the guarded client and other statuses are not. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final

from gateway.egress import Decide, Egress, EgressError, EgressRefused, Response
from gateway.hooks.outputs import MAX_OUTPUT_BYTES, Error, Ran, make_overrun, make_timeout, parse
from gateway.hooks.payloads import Letter
from gateway.hooks.specs import UserHookSpec
from gateway.ids import uuid7

DEFAULT_KEY: Final = "hooks/signing"
SIGNATURE: Final = "Hatchway-Signature"
TOLERANCE_SECONDS: Final = 300
ATTEMPTS_MAX: Final = 6
_PAUSE_MS: Final = 50
_PAUSE_MS_MAX: Final = 5000
_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
FindKey = Callable[[str], Awaitable[bytes | None]]
"""The key that signs webhooks, by its name, or None."""
Begin = Callable[[UserHookSpec], Awaitable[None]]


def sign(body: bytes, key: bytes, now_seconds: int) -> str:
    mac = hmac.new(key, f"{now_seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={now_seconds},v1={mac}"


def verify(header: str, body: bytes, key: bytes, now_seconds: int, tolerance_seconds: int = TOLERANCE_SECONDS) -> bool:
    """For receivers: is this a request of ours, and of now?"""
    fields = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    sent = fields.get("t", "")
    if not (sent.isascii() and sent.isdigit() and len(sent) <= 12) or abs(now_seconds - int(sent)) > tolerance_seconds:
        return False
    return hmac.compare_digest(sign(body, key, int(sent)).encode(), f"t={sent},v1={fields.get('v1', '')}".encode())


async def run_webhook(
    spec: UserHookSpec, letter: Letter, egress: Egress, find_key: FindKey, decide: Decide | None, begin: Begin | None = None
) -> Ran:
    name = spec.executor.secret or DEFAULT_KEY
    key = await find_key(name)
    if not key:
        return Ran(Error(f"webhook has no signing key {name!r}; store it as a secret of that name"), attempts=0)
    if begin is not None:
        await begin(spec)
    until, delivery, attempts, problem = time.monotonic() + spec.timeout_ms / 1000, uuid7(), 0, ""
    try:
        async with asyncio.timeout(spec.timeout_ms / 1000):
            while attempts == 0 or (attempts < ATTEMPTS_MAX and await _pause(attempts, until)):
                attempts += 1
                try:
                    answer = await _send(spec, letter.text, key, delivery, until, egress, decide)
                except EgressRefused as refused:  # final: the same request would be refused again
                    is_long = refused.code == "RESPONSE_TOO_LARGE"
                    return Ran(make_overrun() if is_long else Error(f"webhook refused: {refused}"), attempts=attempts)
                except EgressError as failed:
                    if failed.code == "TIMEOUT":
                        raise TimeoutError from None
                    problem = f"webhook failed: {failed}"
                    continue
                if 200 <= answer.status < 300:
                    text = answer.body.decode("utf-8", "replace")
                    return Ran(parse(text), stdout=text, attempts=attempts)
                problem = f"webhook answered {answer.status}"
                if answer.status not in _AGAIN:
                    break
    except TimeoutError:
        return Ran(make_timeout(spec.timeout_ms), attempts=attempts)
    tried = f" ({attempts} attempts)" if attempts > 1 else ""
    return Ran(Error(problem + tried), attempts=attempts)


async def _send(
    spec: UserHookSpec, body: bytes, key: bytes, delivery: str, until: float, egress: Egress, decide: Decide | None
) -> Response:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "hatchway-hooks",
        "Hatchway-Hook-Id": spec.id,
        "Hatchway-Event": spec.event.value,
        "Hatchway-Delivery": delivery,
        SIGNATURE: sign(body, key, int(time.time())),
    }
    return await egress.request(
        "POST",
        spec.executor.url or "",
        headers=headers,
        body=body,
        timeout_ms=max(1, int((until - time.monotonic()) * 1000)),
        max_response_bytes=MAX_OUTPUT_BYTES,
        follow_redirects=False,
        decide=decide,
    )


def pause_ms(attempts: int) -> float:
    """Twice as long after each attempt, and never quite the same, so that senders do not march in step."""
    most_ms = min(_PAUSE_MS << (attempts - 1), _PAUSE_MS_MAX)
    return random.uniform(most_ms / 2, most_ms)


async def _pause(attempts: int, until: float) -> bool:
    """False if there is no time left for a pause and another attempt."""
    pause = pause_ms(attempts) / 1000
    if time.monotonic() + pause >= until:
        return False
    await asyncio.sleep(pause)
    return True
