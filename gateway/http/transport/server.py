"""The server: sockets, TLS, and an orderly end.

Rules: at shutdown every new request gets 503, `/readyz` too, so that a load balancer learns it; running requests
have `drain_deadline_ms` to end; then `interrupt` ends what they wait for, so that each of them is answered; then
`drain(deadline_ms)` is asked to finish or freeze what belongs to no request, in the time that is left. Only then are new
connections not taken any more. TLS is 1.2 or newer.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import resource
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.worker_context import WorkerContext
from starlette.types import ASGIApp

from gateway import pools
from gateway.configuration import Configuration, ConfigurationError
from gateway.http.api.admission import Admission
from gateway.http.transport.connections import Connection, Pressure
from gateway.http.transport.http2 import StrictConfig
from gateway.http.transport.shares import SEAT, Seat, Shares
from gateway.telemetry import Telemetry

KEEP_ALIVE_REQUESTS: Final = 1_000_000
BACKLOG: Final = 512
SWITCH_S: Final = 0.0005
"""How long the event loop waits for the interpreter while another thread of ours computes. Python's own 5 ms, several times in a
request, is what one tenant's large contents would cost all others."""
TLS_S: Final = 10.0
ACCEPT_AGAIN_S: Final = 0.1
FILES_BESIDES: Final = 4096
"""Of workers, stores and sessions."""
LEAST_DRAIN_MS: Final = 1000
ANSWER_S: Final = 2.0
"""For requests whose work was interrupted to be answered."""
_log = logging.getLogger("hatchway.server")
Interrupt = Callable[[], Awaitable[None]]
Drain = Callable[[int], Awaitable[None]]


class Server:
    def __init__(
        self,
        application: ASGIApp,
        admission: Admission,
        configuration: Configuration,
        telemetry: Telemetry,
        drain: Drain | None = None,
        listening: socket.socket | None = None,
        interrupt: Interrupt | None = None,
    ) -> None:
        self._listening = listening
        self._interrupt = interrupt
        self._application: Any = ASGIWrapper(application)  # type: ignore[arg-type]
        self._admission, self._settings, self._telemetry, self._drain = admission, configuration, telemetry, drain
        self._connections: dict[Connection, asyncio.Task[Any]] = {}
        self._shares = Shares(configuration.connections_max, configuration.connections_per_address_max, configuration.proxies)
        self._pressure = Pressure()
        self._tls: ssl.SSLContext | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._handshakes: set[asyncio.Task[None]] = set()
        self._context = WorkerContext(None)
        self._config = configure_hypercorn(configuration)
        telemetry.connections.set_function(lambda: len(self._shares))

    @property
    def port(self) -> int:
        assert self._listening is not None
        port: int = self._listening.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        scheme = "https" if self._settings.tls_key else "http"
        host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
        return f"{scheme}://{host}:{self.port}"

    async def start(self) -> None:
        self._tls = load_tls(self._settings)
        self._listening = self._listening or listen(self._settings)
        self._listening.setblocking(False)
        allow_files(self._settings.connections_max)
        asyncio.get_running_loop().set_default_executor(pools.make_default())
        sys.setswitchinterval(SWITCH_S)
        self._accepting = asyncio.create_task(self._accept(self._listening))

    async def _accept(self, listening: socket.socket) -> None:
        """Ours and not asyncio's, because that knows no address before TLS has been agreed on: a client that never does would
        hold a connection that is counted nowhere."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, peer = await loop.sock_accept(listening)
            except OSError as error:
                _log.error("no connection can be accepted: %s", error.strerror)
                await asyncio.sleep(ACCEPT_AGAIN_S)  # out of files, or of memory: some are given back soon
                continue
            try:
                self._admit(sock, peer[0])
            except Exception:
                _log.exception("a connection failed")  # and that one alone
                sock.close()

    def _admit(self, sock: socket.socket, address: str) -> None:
        loop = asyncio.get_running_loop()
        seat = self._shares.take(address, loop.time())
        if seat is None:
            self._telemetry.refused.labels("connections").inc()
            sock.close()
            return
        task = loop.create_task(self._serve(sock, seat))
        seat.give_way = task.cancel
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)
        task.add_done_callback(functools.partial(self._end, seat, sock))

    def _end(self, seat: Seat, sock: socket.socket, task: asyncio.Task[None]) -> None:
        self._shares.leave(seat)
        if task.cancelled():
            sock.close()  # it gave way before there was a connection, perhaps before anything was done
        elif task.exception() is not None:
            _log.error("a connection failed", exc_info=task.exception())

    async def _serve(self, sock: socket.socket, seat: Seat) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        with contextlib.suppress(OSError, AttributeError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = asyncio.StreamReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        seconds = TLS_S if self._tls else None
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, sock, ssl=self._tls, ssl_handshake_timeout=seconds, ssl_shutdown_timeout=seconds
            )
        except OSError:  # TLS could not be agreed on, or the client has left
            sock.close()
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        connection = Connection(seat, self._pressure, self._application, loop, self._config, self._context, {SEAT: seat},
                                reader, writer)  # fmt: skip
        self._handshakes.discard(task)
        self._connections[connection] = task
        seat.give_way = transport.abort
        try:
            await connection.run()
        except asyncio.CancelledError:
            pass  # by `stop`
        finally:
            del self._connections[connection]

    async def stop(self) -> None:
        assert self._listening is not None and self._accepting is not None
        deadline_s = self._settings.drain_deadline_ms / 1000
        self._admission.draining = True
        await self._context.terminated.set()
        for connection in list(self._connections):
            connection.close_idle()
        began_s = asyncio.get_running_loop().time()
        left = await _wait_for(self._connections.values(), deadline_s)
        if left and self._interrupt is not None:
            await self._interrupt()
            left = await _wait_for(left, ANSWER_S)
        await _cancel(left)
        left_s = deadline_s - (asyncio.get_running_loop().time() - began_s)
        await self._drain_rest(max(LEAST_DRAIN_MS, int(left_s * 1000)))
        await _cancel([self._accepting, *self._handshakes])
        self._listening.close()
        await _wait_for((task for connection, task in self._connections.items() if connection.is_answering), ANSWER_S)
        await _cancel(self._connections.values())

    async def _drain_rest(self, deadline_ms: int) -> None:
        if self._drain is None:
            return
        try:
            await self._drain(deadline_ms)
        except Exception:
            _log.exception("not everything could be finished or frozen")


async def _wait_for(tasks: Iterable[asyncio.Task[Any]], within_s: float) -> set[asyncio.Task[Any]]:
    """Those that have not ended by then."""
    left = set(tasks)
    return (await asyncio.wait(left, timeout=within_s))[1] if left else left


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    left = set(tasks)
    for task in left:
        task.cancel()
    await _wait_for(left, TLS_S)


def allow_files(connections: int) -> None:
    """Connections are files, and many systems allow a process as few as 1,024 unless it asks for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + FILES_BESIDES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def listen(settings: Configuration) -> socket.socket:
    """The socket. Taken first of all: without it there is no start, and early clients wait instead of being refused."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (while")[0]  # `create_server` says the address once more
        hint = "choose another address with --host, another port with --port; --port 0 takes a free one"
        raise ConfigurationError(f"cannot listen on {settings.host}:{settings.port}: {why}", hint) from None


def configure_hypercorn(settings: Configuration) -> StrictConfig:
    """Our caps as Hypercorn's parts want them."""
    config = StrictConfig()
    config.errorlog = None
    config.accesslog = None
    config.h11_max_incomplete_size = settings.header_bytes_max
    config.h2_max_header_list_size = settings.header_bytes_max
    config.h2_max_concurrent_streams = settings.streams_per_connection_max
    config.keep_alive_timeout = settings.header_deadline_ms / 1000
    config.keep_alive_max_requests = KEEP_ALIVE_REQUESTS
    config.websocket_max_message_size = settings.message_bytes_max
    config.alpn_protocols = ["h2", "http/1.1"] if settings.http2 else ["http/1.1"]
    config.write_deadline_s = settings.write_deadline_ms / 1000
    config.resets_max = settings.resets_per_connection_max
    return config


def load_tls(settings: Configuration) -> ssl.SSLContext | None:
    if not settings.tls_key:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2", "http/1.1"] if settings.http2 else ["http/1.1"])
    try:
        context.load_cert_chain(settings.tls_certificate, settings.tls_key)
        if settings.tls_client_ca:
            context.load_verify_locations(settings.tls_client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"the TLS files cannot be used: {error}") from None
    return context
