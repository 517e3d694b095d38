"""Who is let in, and as whom."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec
import pytest

from gateway.clock import SteadyClock
from gateway.configuration import Configuration
from gateway.records import Token
from gateway.tenants.tokens import MAY, TOKEN, digest_of_token, mint
from tests.gateway.http.asking import ask
from tests.gateway.http.rig import Rig


def rig_of(**settings: Any) -> Rig:
    return Rig(Configuration(**{"access_log": False, **settings}))


def test_a_token_is_shown_once_and_only_its_digest_is_kept() -> None:
    text, stored = mint(tenant="acme", name="ci", role="member", now_ms=1000)
    assert TOKEN.fullmatch(text)
    assert text not in msgspec.json.encode(stored).decode()
    assert stored.digest == digest_of_token(text)
    assert len({mint(tenant="a", name="", role="member", now_ms=1)[0] for _ in range(100)}) == 100


def test_tm_http_token_unknown_malformed_expired_and_revoked_tokens_look_the_same() -> None:
    async def main() -> None:
        rig = rig_of()
        expired = rig.token(expires_at=rig.clock.now_ms())
        revoked, stored = mint(tenant="acme", name="x", role="member", now_ms=1)
        rig.memory.add(msgspec.structs.replace(stored, token=msgspec.structs.replace(stored.token, revoked_at=2)))
        unknown = mint(tenant="acme", name="x", role="member", now_ms=1)[0]
        good = rig.token()
        answers = set()
        headers = [
            f"Bearer {expired}",
            f"Bearer {revoked}",
            f"Bearer {unknown}",
            "Bearer x",
            "Bearer ",
            "",
            f"Basic {good}",
            good,
        ]
        headers += [f"Bearer {good}x", f"Bearer {good[:-1]}", "Bearer hw_" + "é" * 43, f"Bearer {good.lower()}"]
        for header in headers:
            reply = await ask(rig.asgi, "GET", "/v1/notes", authorization=header)
            answers.add((reply.status, re.sub(rb'"request_id":"\w+"', b"", reply.body), reply.headers["www-authenticate"]))
        assert len(answers) == 1
        assert answers.pop()[0] == 401
        assert rig.memory.lookups == len(headers), "each costs the same one lookup"
        assert (await ask(rig.asgi, "GET", "/v1/notes", authorization=f"bearer {good}")).status == 200

    asyncio.run(main())


def test_a_revoked_token_is_refused_at_once_where_it_was_revoked_and_soon_elsewhere() -> None:
    async def main() -> None:
        rig = rig_of(token_cache_ms=60_000)
        token = rig.token()
        assert (await ask(rig.asgi, "GET", "/v1/notes", token=token)).status == 200
        digest = digest_of_token(token)
        rig.memory.tokens[digest] = msgspec.structs.replace(rig.memory.tokens[digest], revoked_at=1)
        assert (await ask(rig.asgi, "GET", "/v1/notes", token=token)).status == 200
        rig.authenticator.forget(rig.memory.tokens[digest].id)
        assert (await ask(rig.asgi, "GET", "/v1/notes", token=token)).status == 401

    asyncio.run(main())


def test_tm_http_token_a_lookup_in_flight_does_not_bring_a_revoked_token_back() -> None:
    async def main() -> None:
        rig = rig_of(token_cache_ms=60_000)
        text, released, find = rig.token(), asyncio.Event(), rig.authenticator._find_token
        digest = digest_of_token(text)

        async def find_slowly(digest: str) -> Token | None:
            token = await find(digest)
            await released.wait()
            return token

        rig.authenticator._find_token = find_slowly
        in_flight = asyncio.create_task(ask(rig.asgi, "GET", "/v1/notes", token=text))
        while not rig.memory.lookups:
            await asyncio.sleep(0)
        rig.memory.tokens[digest] = msgspec.structs.replace(rig.memory.tokens[digest], revoked_at=1)
        rig.authenticator.forget(rig.memory.tokens[digest].id)
        released.set()
        await in_flight
        assert (await ask(rig.asgi, "GET", "/v1/notes", token=text)).status == 401

    asyncio.run(main())


def test_tm_http_clock_an_expired_token_stays_expired_when_the_clock_goes_back_or_stands_still() -> None:
    wall, monotonic = [10_000_000_000_000], [0]
    clock = SteadyClock(wall_ns=lambda: wall[0], monotonic_ns=lambda: monotonic[0])

    async def main() -> None:
        rig = rig_of()
        rig.authenticator._clock = clock
        token = rig.token(expires_at=clock.now_ms() + 1000)

        async def status() -> int:
            return (await ask(rig.asgi, "GET", "/v1/notes", token=token)).status

        assert await status() == 200
        monotonic[0] += 2_000_000_000  # two seconds pass and the wall clock does not show them
        assert await status() == 401
        wall[0] -= 10 * 365 * 86_400 * 10**9
        assert await status() == 401
        wall[0] = 0
        assert await status() == 401

    asyncio.run(main())
    before = clock.now_ms()
    wall[0] = 20_000_000_000_000
    assert clock.now_ms() == 20_000_000
    wall[0] = 0
    assert clock.now_ms() >= 20_000_000 > before
    restarted = SteadyClock(wall_ns=lambda: 0, monotonic_ns=lambda: 0)
    restarted.advance(clock.now_ms())
    assert restarted.now_ms() >= 20_000_000


@pytest.mark.parametrize("role", ["admin", "operator", "approver", "author", "member"])
def test_a_role_may_do_what_its_audience_says_and_nothing_else(role: Any) -> None:
    async def main() -> None:
        rig = rig_of()
        token = rig.token(role=role)
        wanted = 200 if role == "admin" else 403
        assert (await ask(rig.asgi, "GET", "/v1/admin", token=token)).status == wanted
        wanted = 200 if role in MAY["member"] else 403
        assert (await ask(rig.asgi, "GET", "/v1/notes", token=token)).status == wanted

    asyncio.run(main())


def test_an_admin_acts_on_the_tenant_it_names_and_nobody_else_can() -> None:
    async def main() -> None:
        rig = rig_of()
        admin, runner = rig.token("", "admin"), rig.token("acme")
        path = "/v1/tenants/x"
        assert (await ask(rig.asgi, "GET", path, token=admin, hatchway_tenant="globex")).json == {"tenant": "globex"}
        assert (await ask(rig.asgi, "GET", path, token=admin, hatchway_tenant="../x")).status == 400
        assert (await ask(rig.asgi, "GET", path, token=runner, hatchway_tenant="globex")).status == 403
        assert (await ask(rig.asgi, "GET", path, token=runner, hatchway_tenant="acme")).json == {"tenant": "acme"}

    asyncio.run(main())


def test_failures_are_counted_and_reported_once_a_second_for_each_address() -> None:
    async def main() -> None:
        rig = rig_of()
        for _ in range(50):
            await ask(rig.asgi, "GET", "/v1/notes", authorization="Bearer x")
        await ask(rig.asgi, "GET", "/v1/notes", authorization="Bearer x", address="192.0.2.2")
        assert rig.memory.failures[0] == ("192.0.2.1", 1, "")
        assert ("192.0.2.2", 1, "") in rig.memory.failures
        assert len(rig.memory.failures) <= 10
        assert b"hatchway_login_failures_total 51.0" in rig.telemetry.metrics_text()

    asyncio.run(main())
