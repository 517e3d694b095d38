"""Targets: which URLs and which addresses may be reached at all.

Rules: `parse` reads a URL one way only, so that no later reader can read it another way. What is not plainly allowed is refused.
A URL is printable ASCII with a host that is a name, a dotted-decimal IPv4 address or a bracketed IPv6 address; every other
spelling of an address (decimal, octal, hexadecimal, short, with a zone, in another script) is refused, not understood. Of
addresses only public unicast ones pass; those that carry another address within them (IPv4-mapped, NAT64, 6to4, Teredo) do not.
Exceptions are an operator's, by network or by `host:port`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from gateway.egress.errors import EgressRefused

URL_CHARS_MAX: Final = 8192
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_NETLOC: Final = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]+)(:[0-9]{1,5})?")
_FORBIDDEN: Final = re.compile(r"[^\x21-\x7e]|[\\<>\"^`{|}]")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NOT_PUBLIC_4: Final = [
    ipaddress.IPv4Network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # public by its number, but a cloud's own service on every machine in it
    )
]  # fmt: skip
_PUBLIC_6: Final = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = [
    ipaddress.IPv6Network(text)
    for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")  # protocols (with Teredo), documentation, 6to4
]


@dataclass(frozen=True, slots=True)
class Target:
    """A URL, taken apart. `host` is lower case, without brackets; `path` has the query."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    path: str

    @property
    def address(self) -> Address | None:
        """The host, if it is an address."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def parse(url: str) -> Target:
    """THREAT[TM-NET-URL]: a URL that one reader takes for a public host and another for a private one."""
    if not isinstance(url, str) or len(url) > URL_CHARS_MAX:
        raise EgressRefused("URL_INVALID", f"a URL is a text of at most {URL_CHARS_MAX} characters")
    odd = _FORBIDDEN.search(url)
    if odd is not None:
        raise EgressRefused(
            "URL_INVALID", f"the URL has the character {odd[0]!r}; write it percent-encoded, hosts as ASCII (xn--…)"
        )
    scheme = url.partition(":")[0].lower()
    if scheme not in ("http", "https") or not url[len(scheme) :].startswith("://"):
        raise EgressRefused("SCHEME_REFUSED", "only http:// and https:// URLs can be fetched")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise EgressRefused("URL_INVALID", f"the URL cannot be read: {error}") from None
    if "@" in parts.netloc:
        raise EgressRefused("URL_INVALID", "a URL must not carry a user name or password; send them in a header")
    if not _NETLOC.fullmatch(parts.netloc) or port == 0:
        raise EgressRefused("URL_INVALID", f"{parts.netloc[:80]!r} is not a host with or without a port from 1 to 65535")
    host = _host(parts.netloc)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target("https" if scheme == "https" else "http", host, port or DEFAULT_PORTS[scheme], path)


def _host(netloc: str) -> str:
    if netloc.startswith("["):
        return _ipv6(netloc[1:].partition("]")[0])
    host = netloc.partition(":")[0].lower()
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        hint = "; write it without the last dot" if host.endswith(".") and host.strip(".") else ""
        raise EgressRefused("HOST_INVALID", f"{host[:80]!r} is not a host name{hint}")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(host))  # four decimal numbers without leading zeros, and nothing else
        except ValueError:
            raise EgressRefused("HOST_INVALID", f"{host[:80]!r} is not an address; write four decimal numbers") from None
    return host


def _ipv6(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise EgressRefused("HOST_INVALID", f"{text[:80]!r} is not an IPv6 address") from None
    if address.scope_id is not None:
        raise EgressRefused("HOST_INVALID", "an address with a zone cannot be reached from here")
    return str(address)


class Addresses:
    """What may be connected to. `allow_private` lists networks ("10.1.0.0/16") and single services ("db.internal:8080")."""

    def __init__(self, allow_private: Sequence[str | Network] = (), ports: Collection[int] = (80, 443)) -> None:
        self._ports = frozenset(ports)
        self._networks: list[Network] = []
        self._services: set[tuple[str, int]] = set()
        for allowed in allow_private:
            if isinstance(allowed, str) and not _is_network(allowed):
                target = parse(f"http://{allowed}")
                self._services.add((target.host, target.port))
            else:
                self._networks.append(ipaddress.ip_network(allowed))

    def check_target(self, target: Target) -> None:
        """Before anything is looked up."""
        if self._is_service(target):
            return
        if target.port not in self._ports:
            known = ", ".join(map(str, sorted(self._ports)))
            raise EgressRefused("PORT_REFUSED", f"port {target.port} is not allowed; allowed are: {known}")
        if target.host == "localhost" or target.host.endswith((".localhost", "localhost.localdomain")):
            raise EgressRefused("ADDRESS_REFUSED", f"{target.host!r} is this machine")

    def check_address(self, target: Target, address: Address) -> None:
        """THREAT[TM-NET-PRIVATE]: a program that uses this service to reach what only this service can reach."""
        if self._is_service(target) or any(address in network for network in self._networks):
            return
        if not is_public(address):
            raise EgressRefused("ADDRESS_REFUSED", f"{target.host!r} is at {address}, which is not a public address")

    def _is_service(self, target: Target) -> bool:
        return (target.host, target.port) in self._services


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def is_public(address: Address) -> bool:
    """A unicast address of the public internet that leads nowhere else."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return address in _PUBLIC_6 and not any(address in network for network in _NOT_PUBLIC_6)
