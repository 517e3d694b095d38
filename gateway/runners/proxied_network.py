"""The network of a session that has only a loopback device: one port of it is the gateway's HTTP proxy.

Rules: each command has a password, which its programs find in `HTTP_PROXY` and its kin; the policy's word for that command
decides about each connection that shows it (`gateway.egress.proxy`), while the command runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gateway.egress import Decide
from gateway.egress.proxy import CONNECTIONS_MAX, Proxy
from gateway.runners.errors import invalid, unsupported
from gateway.runners.jail.command_rules import PROXY_PORT

_NEW_NETWORK: Final = 0x40000000


def check_network(config: Mapping[str, Any], proxy: Proxy | None, provider: str) -> None:
    """Whether a destination may ask for a network."""
    if not isinstance(config.get("network", False), bool):
        raise invalid("config.network must be true or false")
    if config.get("network") and proxy is None:
        hint = "its operator sets runners_domains to what they may reach"
        raise unsupported(f"this gateway gives {provider} commands no network", hint)


class ProxiedNetwork:
    """Of one session."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._passwords: dict[str, Decide] = {}
        """Of commands under way: the policy's word for each."""
        self._reaching: set[asyncio.Task[None]] = set()

    @contextlib.contextmanager
    def hold(self, password: str, connect: Decide | None) -> Iterator[None]:
        """While a command runs, what shows its password is its own."""
        if connect is None:
            yield
            return
        self._passwords[password] = connect
        try:
            yield
        finally:
            del self._passwords[password]

    def reach(self, caller: socket.socket) -> None:
        """A program of this session has connected to the proxy."""
        if len(self._reaching) >= CONNECTIONS_MAX:
            return caller.close()

        async def serve() -> None:
            caller.setblocking(False)
            await self._proxy.serve(*await asyncio.open_connection(sock=caller), self._passwords.get)

        task = asyncio.create_task(serve())
        self._reaching.add(task)
        task.add_done_callback(self._reaching.discard)

    async def close(self) -> None:
        for task in list(self._reaching):
            task.cancel()
        await asyncio.gather(*self._reaching, return_exceptions=True)


def list_variables(password: str) -> dict[str, str]:
    """What a command's environment says about the proxy."""
    proxy = f"http://command:{password}@127.0.0.1:{PROXY_PORT}"
    names = {name: proxy for one in ("http", "https", "all") for name in (f"{one}_proxy", f"{one}_proxy".upper())}
    return {**names, **{name: "localhost,127.0.0.1,::1" for name in ("no_proxy", "no_proxy".upper())}}


def listen_within(process: int) -> socket.socket:
    """The proxy's port on the loopback device that another process has. Needs the right to enter its network. A thread that ends
    with this enters it: no other thread of the gateway is ever there."""
    found: list[socket.socket] = []
    failed: list[OSError] = []

    def enter() -> None:
        try:
            descriptor = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            try:
                if os.path.samestat(os.fstat(descriptor), os.stat("/proc/self/ns/net")):
                    raise PermissionError(0, "it has the machine's own network")
                if ctypes.CDLL(None, use_errno=True).setns(descriptor, _NEW_NETWORK) != 0:
                    code = ctypes.get_errno()
                    raise OSError(code, os.strerror(code))
            finally:
                os.close(descriptor)
            found.append(socket.create_server(("127.0.0.1", PROXY_PORT)))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=enter, name="enter-network")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def accept_all(listening: socket.socket, reach: Callable[[socket.socket], None]) -> Callable[[], None]:
    """Hand every connection on, until what is returned is called."""
    loop = asyncio.get_running_loop()
    listening.setblocking(False)

    def accept() -> None:
        with contextlib.suppress(OSError):
            reach(listening.accept()[0])

    def end() -> None:
        loop.remove_reader(listening)
        listening.close()

    loop.add_reader(listening, accept)
    return end
