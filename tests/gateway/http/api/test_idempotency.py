"""A POST with an Idempotency-Key is done once."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from gateway.clock import SteadyClock
from gateway.configuration import Configuration
from tests.gateway.http.asking import Reply, ask
from tests.gateway.http.rig import SECRET, Rig


def rig_of(**settings: Any) -> Rig:
    return Rig(Configuration(**{"access_log": False, **settings}))


async def make(rig: Rig, token: str, key: str, text: str = "a") -> Reply:
    return await ask(rig.asgi, "POST", "/v1/notes", {"text": text}, token=token, idempotency_key=key)


def test_a_repeated_request_gets_the_first_answer_and_is_not_done_again() -> None:
    async def main() -> None:
        rig = rig_of()
        token = rig.token()
        first, second = await make(rig, token, "k1"), await make(rig, token, "k1")
        assert rig.notes.made == 1
        assert (first.status, first.json) == (second.status, second.json) == (201, {"made": 1})
        assert second.headers["location"] == first.headers["location"]
        assert "idempotency-replayed" not in first.headers
        assert second.headers["idempotency-replayed"] == "true"
        assert (await make(rig, token, "k2")).json == {"made": 2}

    asyncio.run(main())


def test_another_request_under_the_same_key_is_refused() -> None:
    async def main() -> None:
        rig = rig_of()
        token = rig.token()
        await make(rig, token, "k1")
        other = await make(rig, token, "k1", "b")
        assert (other.status, other.code) == (422, "IDEMPOTENCY_KEY_REUSED")
        elsewhere = await ask(rig.asgi, "POST", "/v1/echo", {"text": "a"}, token=token, idempotency_key="k1")
        assert elsewhere.status == 422
        colleague = await make(rig, rig.token(), "k1")
        assert colleague.status == 422
        assert rig.notes.made == 1

    asyncio.run(main())


def test_keys_of_tenants_do_not_meet() -> None:
    async def main() -> None:
        rig = rig_of()
        assert (await make(rig, rig.token(), "k1")).json == {"made": 1}
        assert (await make(rig, rig.token("globex"), "k1")).json == {"made": 2}

    asyncio.run(main())


def test_a_refusal_is_replayed_and_a_failure_of_ours_may_be_tried_again() -> None:
    async def main() -> None:
        rig = rig_of()
        token = rig.token()
        first, second = await make(rig, token, "k1", "conflict"), await make(rig, token, "k1", "conflict")
        assert (first.status, second.status) == (409, 409)
        assert rig.notes.made == 1
        assert (await make(rig, token, "k2", "fail")).status == 500
        assert (await make(rig, token, "k2", "fail")).status == 500
        assert rig.notes.made == 3

    asyncio.run(main())


def test_a_second_request_while_the_first_is_under_way_is_told_so() -> None:
    async def main() -> None:
        rig = rig_of()
        token = rig.token()
        one = asyncio.create_task(ask(rig.asgi, "POST", "/v1/wait", token=token, idempotency_key="k1"))
        while rig.notes.running < 1:
            await asyncio.sleep(0)
        two = await ask(rig.asgi, "POST", "/v1/wait", token=token, idempotency_key="k1")
        assert (two.status, two.code, two.headers["retry-after"]) == (409, "IDEMPOTENCY_IN_PROGRESS", "1")
        rig.notes.gate.set()
        assert (await one).status == 200
        three = await ask(rig.asgi, "POST", "/v1/wait", token=token, idempotency_key="k1")
        assert (three.status, rig.notes.begun) == (200, 1)

    asyncio.run(main())


def test_a_client_that_left_finds_the_answer_when_it_asks_again() -> None:
    async def main() -> None:
        rig = rig_of()
        token = rig.token()
        one = asyncio.create_task(ask(rig.asgi, "POST", "/v1/wait", token=token, idempotency_key="k1"))
        while rig.notes.running < 1:
            await asyncio.sleep(0)
        one.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await one
        assert rig.notes.cancelled == 0
        rig.notes.gate.set()
        while rig.notes.running:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        again = await ask(rig.asgi, "POST", "/v1/wait", token=token, idempotency_key="k1")
        assert (again.status, again.headers["idempotency-replayed"]) == (200, "true")
        assert rig.notes.begun == 1

    asyncio.run(main())


def test_an_answer_with_a_secret_is_kept_nowhere_and_the_operation_not_repeated() -> None:
    async def main() -> None:
        rig = rig_of()
        token = rig.token()
        body = {"text": "a"}
        first = await ask(rig.asgi, "POST", "/v1/secrets", body, token=token, idempotency_key="k1")
        assert first.json == {"secret": SECRET}
        second = await ask(rig.asgi, "POST", "/v1/secrets", body, token=token, idempotency_key="k1")
        assert (second.status, second.code) == (409, "IDEMPOTENCY_ANSWER_WITHHELD")
        assert rig.notes.made == 1
        assert SECRET.encode() not in b"".join(kept.response or b"" for kept in rig.memory.keys.values())

    asyncio.run(main())


def test_a_key_is_forgotten_after_its_time() -> None:
    async def main() -> None:
        rig = rig_of(idempotency_ms=1000)
        token = rig.token()
        await make(rig, token, "k1")
        ahead = SteadyClock()
        ahead.advance(rig.clock.now_ms() + 2000)
        rig.idempotence._clock = ahead
        assert (await make(rig, token, "k1")).json == {"made": 2}

    asyncio.run(main())


@pytest.mark.parametrize("key", ["", "a" * 256, "a b", "é"])
def test_a_malformed_key_is_refused(key: str) -> None:
    async def main() -> None:
        rig = rig_of()
        reply = await make(rig, rig.token(), key)
        assert (reply.status, reply.code) == (400, "INVALID_IDEMPOTENCY_KEY")
        assert rig.notes.made == 0

    asyncio.run(main())
