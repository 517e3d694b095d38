"""Health: whether the service lives, whether it is ready, and what it counts.

`/healthz` answers as long as the process can. `/readyz` is 200 when everything that is wanted is ready, 503 while images are
being compiled or the service stops, and says how far each language is. An MCP server that is not there is shown, and makes
nothing unready: the rest works. `/metrics` is Prometheus' text.

Rules: these answer even when everything else is refused for being too much; none of them waits for anything.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gateway.capabilities.sources import ServerState
from gateway.configuration import Configuration
from gateway.http.api.admission import Admission
from gateway.http.api.operation import Answer, Call, Operation, Raw
from gateway.lifecycle.readiness import LanguageState, ReadinessPort
from gateway.telemetry import METRICS_TYPE, Telemetry
from gateway.tenants.tokens import Audience


class Health(msgspec.Struct, frozen=True):
    status: str = "ok"


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    ready: bool
    stopping: bool = False
    languages: dict[str, LanguageState] = {}
    servers: dict[str, ServerState] = {}


def operations(
    configuration: Configuration,
    telemetry: Telemetry,
    admission: Admission,
    readiness: ReadinessPort,
    servers: Callable[[], dict[str, ServerState]] = dict,
) -> list[Operation]:
    async def healthz(call: Call) -> Answer:
        return Answer(Health())

    async def readyz(call: Call) -> Answer:
        languages = dict(readiness.languages())
        ready = not admission.draining and all(state.ready for state in languages.values())
        found = Readiness(ready=ready, stopping=admission.draining, languages=languages, servers=servers())
        return Answer(found, 200 if ready else 503)

    async def metrics(call: Call) -> Raw:
        return Raw(telemetry.metrics_text(), METRICS_TYPE)

    made = [
        Operation("GET", "/healthz", "Whether the process lives", healthz, answer=Health, audience="public", tag="health"),
        Operation("GET", "/readyz", "Whether it is ready, language by language", readyz, answer=Readiness, audience="public",
                  tag="health", statuses={503: "Not yet, or stopping; the body says what is missing."}),
    ]  # fmt: skip
    if configuration.metrics != "off":
        audience: Audience = "public" if configuration.metrics == "open" else "admin"
        made.append(
            Operation("GET", "/metrics", "Counters for Prometheus", metrics, answer=bytes, answer_types=("text/plain",),
                      audience=audience, tag="health")
        )  # fmt: skip
    return made
