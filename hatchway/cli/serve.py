"""`hatchway serve`: the gateway as a service.

Rules: it listens at once; languages become ready as their images are compiled, with progress here and on /readyz. It prints one
clear line with its address, and at the very first start an admin token, once. SIGINT and SIGTERM stop it in order: running work
is finished or frozen. A second signal ends it at once.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchway.cli.options import add_parser
from hatchway.cli.terminal import show_progress

if TYPE_CHECKING:
    from gateway.configuration import Configuration
    from gateway.http.assembly import Face
    from gateway.lifecycle.readiness import Images
    from gateway.service import Service


def add_command(commands: Any) -> None:
    serve = add_parser(
        commands,
        "serve",
        description="Run the gateway. Every setting can also be given in a TOML file or as HATCHWAY_NAME in the environment.",
        epilog="examples:\n  hatchway serve\n  hatchway serve --data /var/lib/hatchway --policy acme.hatch --port 8080\n"
        "  HATCHWAY_TLS_CERTIFICATE=cert.pem HATCHWAY_TLS_KEY=key.pem hatchway serve --host 0.0.0.0\n"
        "/metrics needs a token of an operator or admin, unless the setting `metrics` says otherwise.\n"
        "settings: docs/configuration.md",
    )
    serve.add_argument("--config", metavar="FILE", help="a TOML file with settings")
    serve.add_argument("--data", metavar="DIR", help="the embedded store's directory (default ./hatchway-data)")
    serve.add_argument("--database-url", metavar="URL", help="a PostgreSQL URL to use instead of the embedded store")
    serve.add_argument("--fleet", action="store_true", default=None, help="share the database with other gateways")
    serve.add_argument("--key", dest="fleet_key", metavar="FILE", help="the key that the gateways of the fleet share")
    serve.add_argument("--fleet-address", metavar="HOST:PORT", help="where the fleet's other gateways reach this one")
    serve.add_argument("--keys", dest="keys_file", metavar="FILE", help="the keys of what is sealed (default DIR/keys)")
    serve.add_argument("--policy", metavar="FILE", help="the policy of tenants that have none of their own")
    serve.add_argument("--host", metavar="ADDRESS", help="the address to listen on (default 127.0.0.1)")
    serve.add_argument("--port", type=int, metavar="N", help="the port; 0 takes a free one (default 8484)")
    serve.add_argument("--workers", choices=["processes", "in-process"], help="where programs run")


_OPTIONS = (
    "data", "database_url", "fleet", "fleet_key", "fleet_address", "keys_file", "policy", "host", "port", "workers",
)  # fmt: skip


def run(options: argparse.Namespace) -> int:
    import uvloop

    from gateway.configuration import ConfigurationError, load
    from gateway.errors import GatewayError
    from sandbox.errors import RequestError

    try:
        given = {name: getattr(options, name) for name in _OPTIONS}
        return uvloop.run(serve(load(Path(options.config) if options.config else None, os.environ, **given)))
    except ConfigurationError as error:
        raise RequestError("INVALID_ARGUMENT", str(error), error.hint) from None
    except GatewayError as error:
        raise RequestError(error.code, str(error), error.error.hint) from None


async def serve(configuration: Configuration) -> int:
    from gateway.configuration import ConfigurationError
    from gateway.errors import GatewayError
    from gateway.http.assembly import Face
    from gateway.http.transport.server import listen
    from gateway.lifecycle.readiness import Images
    from gateway.service import Service
    from gateway.telemetry import Telemetry, log_to

    log_to(sys.stderr, configuration.log_level)
    telemetry, images = Telemetry(tracing=configuration.tracing), Images()
    with listen(configuration) as listening:
        await images.look()
        service = await Service.open(configuration, readiness=images)
        face = Face(service, configuration, telemetry, listening=listening)
        try:
            if service.fleet is not None:
                await service.fleet.start(face.asgi)
            await face.server.start()
        except (ConfigurationError, GatewayError):
            await service.stop(0)
            raise
        return await _run(service, face, images)


async def _run(service: Service, face: Face, images: Images) -> int:
    url = face.server.url
    print(f"Hatchway listens on {url}   (console: {url}/console  API: {url}/docs)", flush=True)
    token = await service.issue_first_token()
    if token is not None:
        print(f"First start: this admin token is shown once.  export HATCHWAY_TOKEN={token}", flush=True)
    # What is there by now stays. To find that out again, the collector would hold up every caller for tens of milliseconds.
    gc.freeze()
    preparing = asyncio.create_task(images.prepare(_show, service.refresh))
    await _wait_for_signal()
    print("Stopping: running work is finished or frozen …", flush=True)
    preparing.cancel()
    await asyncio.wait((preparing,))
    await face.server.stop()
    return 0


async def _wait_for_signal() -> None:
    """Wait for SIGINT or SIGTERM. The next signal is not caught any more."""
    loop, wanted = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        wanted.set()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    await wanted.wait()


def _show(guest: str, done: float) -> None:
    show_progress(f"preparing {guest:12}", done, f"{guest} is ready")
