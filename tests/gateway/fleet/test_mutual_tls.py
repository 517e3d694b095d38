"""The fleet's key, and connections made of it."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from gateway.fleet.mutual_tls import FleetKey, name_host, read_key
from sandbox.errors import SetupError


async def shake_hands(server: ssl.SSLContext | None, client: ssl.SSLContext | None, host: str) -> bytes:
    """What the server says to a client that it has let in."""

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"in")
        writer.close()

    listening = await asyncio.start_server(say, "127.0.0.1", 0, ssl=server)
    port = listening.sockets[0].getsockname()[1]
    try:
        named = host if client is not None else None
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname=named)
        if client is None:
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
        try:
            return await asyncio.wait_for(reader.read(), 10)
        finally:
            writer.close()
    finally:
        listening.close()


def meet(server: ssl.SSLContext | None, client: ssl.SSLContext | None, host: str = name_host("b")) -> bytes:
    return asyncio.run(shake_hands(server, client, host))


def test_tm_fleet_link_gateways_with_the_same_key_meet_and_no_others(tmp_path: Path) -> None:
    key, again, other = read_key(tmp_path / "key"), read_key(tmp_path / "key"), read_key(tmp_path / "other")
    assert key == again and key.fingerprint != other.fingerprint
    assert repr(key) == "FleetKey()" and key.fingerprint not in (tmp_path / "key").read_text()
    server = key.make_server_context("b")
    assert meet(server, again.make_client_context("a")) == b"in"
    with pytest.raises(ssl.SSLError, match=r"unable to get local issuer|self.signed|signature"):
        meet(server, other.make_client_context("a"))
    with pytest.raises(ssl.SSLError, match="Hostname mismatch"):
        meet(server, again.make_client_context("a"), name_host("c"))
    without = ssl.create_default_context()
    without.check_hostname, without.verify_mode = False, ssl.CERT_NONE
    of_others = other.make_client_context("a")
    of_others.check_hostname, of_others.verify_mode = False, ssl.CERT_NONE
    for client in (without, of_others, None):
        try:
            assert meet(server, client) != b"in"
        except (ssl.SSLError, ConnectionError):
            pass


def test_older_tls_is_refused(tmp_path: Path) -> None:
    key = read_key(tmp_path / "key")
    client = key.make_client_context("a")
    client.minimum_version = client.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        meet(key.make_server_context("b"), client)


def test_a_key_that_others_can_read_or_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    read_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with pytest.raises(SetupError, match="chmod 600"):
        read_key(path)
    path.chmod(0o600)
    for text in ("", "zz", "00" * 31):
        path.write_text(text)
        with pytest.raises(SetupError):
            read_key(path)
    with pytest.raises(SetupError):
        read_key(tmp_path)
    assert FleetKey(b"k" * 32).fingerprint == FleetKey(b"k" * 32).fingerprint
