"""Health: whether the service lives, whether it is ready, and what it counts.

`/readyz` is 503 while images are being compiled, the store is away or the service stops. An MCP server that is not there is
shown, and makes nothing unready: the rest works. Who may read `/metrics` is a setting.

Rules: these answer even when everything else is refused for being too much; none of them waits, but `/readyz` for the store, a
second at most. THREAT[TM-STORE-AWAY]: a store that is away is found out by the first that asks it, logged in one line, and asked
again until it is back, which is logged in another.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from gateway.capabilities.sources import ServerState
from gateway.configuration import Configuration
from gateway.errors import Forbidden, GatewayError
from gateway.http.api.admission import Admission
from gateway.http.api.operation import Answer, Call, Operation, Raw
from gateway.lifecycle.readiness import LanguageState, Preparation
from gateway.telemetry import METRICS_TYPE, Telemetry
from gateway.tenants.tokens import Audience

_ASK_S: Final = 1.0
_AUDIENCES: Final[dict[str, Audience]] = {"operator": "operator", "admin": "admin", "loopback": "public", "open": "public"}
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_log = logging.getLogger("hatchway.http")


def _is_local(call: Call) -> bool:
    """From this machine, and not through a proxy on it."""
    try:
        is_loopback = ipaddress.ip_address(call.address).is_loopback
    except ValueError:
        return False
    return is_loopback and not any(name in call.headers for name in _FORWARDED)


class Health(msgspec.Struct, frozen=True):
    status: str = "ok"


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    ready: bool
    stopping: bool = False
    store: bool = True
    languages: dict[str, LanguageState] = {}
    servers: dict[str, ServerState] = {}


class StoreWatch:
    """Whether the store answers. `probe` asks it for something small."""

    def __init__(self, probe: Callable[[], Awaitable[object]]) -> None:
        self._probe = probe
        self._asking: asyncio.Task[None] | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._asked_s = float("-inf")
        self.is_away = False

    async def check(self) -> bool:
        """Whether it is there. All that want to know within a second ask it once; while it is away, no caller waits for it."""
        if not self.is_away and time.monotonic() - self._asked_s > _ASK_S:
            self._asking = self._asking or asyncio.create_task(self._ask())
            await asyncio.shield(self._asking)
        return not self.is_away

    def note(self, error: Exception) -> None:
        """It could not be asked."""
        if not self.is_away:
            self.is_away = True
            _log.error("the store is away, and is asked again until it is back: %s", error.__cause__ or error)
            self._waiting = asyncio.create_task(self._wait())

    async def _wait(self) -> None:
        while self.is_away:
            await asyncio.sleep(_ASK_S)
            await self._ask()

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(_ASK_S):
                await self._probe()
        except (GatewayError, OSError) as error:
            self.note(error)
        else:
            if self.is_away:
                _log.warning("the store is back")
            self.is_away = False
        self._asking, self._asked_s = None, time.monotonic()


def operations(
    configuration: Configuration,
    telemetry: Telemetry,
    admission: Admission,
    readiness: Preparation,
    servers: Callable[[], dict[str, ServerState]] = dict,
    store: StoreWatch | None = None,
) -> list[Operation]:
    async def healthz(call: Call) -> Answer:
        return Answer(Health())

    async def readyz(call: Call) -> Answer:
        languages, is_there = dict(readiness.languages()), store is None or await store.check()
        ready = not admission.draining and is_there and all(state.ready for state in languages.values())
        found = Readiness(ready=ready, stopping=admission.draining, store=is_there, languages=languages, servers=servers())
        return Answer(found, 200 if ready else 503)

    async def metrics(call: Call) -> Raw:
        # THREAT[TM-HTTP-METRICS]: counters of all tenants are not for every caller.
        if configuration.metrics == "loopback" and not _is_local(call):
            raise Forbidden("FORBIDDEN", "metrics are shown on this machine only", "the setting `metrics` says who may read them")
        return Raw(telemetry.metrics_text(), METRICS_TYPE)

    made = [
        Operation("GET", "/healthz", "Whether the process lives", healthz, answer=Health, audience="public", tag="health"),
        Operation("GET", "/readyz", "Whether it is ready, language by language", readyz, answer=Readiness, audience="public",
                  tag="health", statuses={503: "Not yet, or stopping; the body says what is missing."}),
    ]  # fmt: skip
    if configuration.metrics != "off":
        audience: Audience = _AUDIENCES[configuration.metrics]
        made.append(
            Operation("GET", "/metrics", "Counters for Prometheus", metrics, answer=bytes, answer_types=("text/plain",),
                      audience=audience, tag="health")
        )  # fmt: skip
    return made
