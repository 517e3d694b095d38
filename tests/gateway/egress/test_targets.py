"""What the guarded client must never reach, decided before anything is connected to."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence
from typing import Any

import pytest

from gateway.egress import Egress, EgressFailed, EgressRefused, parse
from gateway.egress.targets import is_public


def refused_by(url: str, **options: Any) -> str:
    """The code with which fetching `url` is refused, before anything was connected to."""

    async def main() -> str:
        try:
            await Egress(**options).request("GET", url, timeout_ms=5000)
        except EgressRefused as refused:
            return refused.code
        except EgressFailed as failed:
            return f"failed: {failed.code}"
        return "fetched"

    return asyncio.run(main())


def resolving(*answers: str) -> Any:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return answers

    return resolve


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.7",
        "203.0.113.9", "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "[::]", "[::1]", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]",
        "[::ffff:127.0.0.1]", "[::ffff:8.8.8.8]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[0:0:0:0:0:ffff:a00:1]",
        "[64:ff9b::7f00:1]", "[64:ff9b::8.8.8.8]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:808:808::]", "[2001::1]",
        "[2001:db8::1]", "[100::1]", "[3fff::1]", "[5f00::1]",
        "localhost", "LOCALHOST", "a.localhost", "localhost.localdomain",
    ],
)  # fmt: skip
def test_tm_net_private_address_is_refused_in_every_range(host: str) -> None:
    assert refused_by(f"http://{host}/", resolve=resolving("127.0.0.1")) == "ADDRESS_REFUSED"


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"])
def test_public_address_is_allowed(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://2130706433/", "HOST_INVALID"),
        ("http://0x7f000001/", "HOST_INVALID"),
        ("http://0x7f.0.0.1/", "HOST_INVALID"),
        ("http://017700000001/", "HOST_INVALID"),
        ("http://0177.0.0.1/", "HOST_INVALID"),
        ("http://127.1/", "HOST_INVALID"),
        ("http://127.0.1/", "HOST_INVALID"),
        ("http://127.0.0.01/", "HOST_INVALID"),
        ("http://127.0.0.1.1/", "HOST_INVALID"),
        ("http://example.0x7f/", "HOST_INVALID"),
        ("http://127.0.0.1./", "HOST_INVALID"),
        ("http://localhost./", "HOST_INVALID"),
        ("http://example.com./", "HOST_INVALID"),
        ("http://example..com/", "HOST_INVALID"),
        ("http://.example.com/", "HOST_INVALID"),
        ("http://-a.example/", "HOST_INVALID"),
        ("http://%31%32%37.0.0.1/", "HOST_INVALID"),
        ("http://127%2e0%2e0%2e1/", "HOST_INVALID"),
        ("http://[::1%25eth0]/", "HOST_INVALID"),
        ("http://[fe80::1%eth0]/", "HOST_INVALID"),
        ("http://[127.0.0.1]/", "URL_INVALID"),
        ("http://[::1]evil.com/", "URL_INVALID"),
        ("http://[::1]:80:90/", "URL_INVALID"),
        ("http://[::1/", "URL_INVALID"),
        ("http://user@127.0.0.1/", "URL_INVALID"),
        ("http://example.com@127.0.0.1/", "URL_INVALID"),
        ("http://127.0.0.1:80@example.com/", "URL_INVALID"),
        ("http://example.com:80@127.0.0.1:80/", "URL_INVALID"),
        ("http://:@example.com/", "URL_INVALID"),
        ("http://example.com\\@127.0.0.1/", "URL_INVALID"),
        ("http:\\\\127.0.0.1/", "URL_INVALID"),
        ("http://example.com:0/", "URL_INVALID"),
        ("http://example.com:/", "URL_INVALID"),
        ("http://example.com:65536/", "URL_INVALID"),
        ("http://example.com:८०/", "URL_INVALID"),
        ("http://①②⑦.⓪.⓪.①/", "URL_INVALID"),
        ("http://127。0。0。1/", "URL_INVALID"),
        ("http://１２７.0.0.1/", "URL_INVALID"),
        ("http://ⓛocalhost/", "URL_INVALID"),
        ("http://loc\u00adalhost/", "URL_INVALID"),
        ("http://127.0.0.1\t/", "URL_INVALID"),
        ("http://127.0.0.1\n/", "URL_INVALID"),
        (" http://127.0.0.1/", "URL_INVALID"),
        ("http:///127.0.0.1/", "URL_INVALID"),
        ("http:127.0.0.1/", "SCHEME_REFUSED"),
        ("//127.0.0.1/", "SCHEME_REFUSED"),
        ("file:///etc/passwd", "SCHEME_REFUSED"),
        ("ftp://example.com/", "SCHEME_REFUSED"),
        ("gopher://127.0.0.1:6379/_x", "SCHEME_REFUSED"),
        ("javascript:alert(1)", "SCHEME_REFUSED"),
        ("", "SCHEME_REFUSED"),
        ("http://example.com/" + "a" * 9000, "URL_INVALID"),
        ("http://" + "a" * 64 + ".com/", "HOST_INVALID"),
        ("http://" + "a." * 130 + "com/", "HOST_INVALID"),
    ],
)
def test_tm_net_url_that_two_readers_take_differently_is_refused(url: str, code: str) -> None:
    assert refused_by(url, resolve=resolving("8.8.8.8")) == code


@pytest.mark.parametrize("port", [22, 25, 6379, 8080, 11211])
def test_port_that_was_not_allowed_is_refused(port: int) -> None:
    assert refused_by(f"http://example.com:{port}/", resolve=resolving("8.8.8.8")) == "PORT_REFUSED"


@pytest.mark.parametrize(
    "answers", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:10.0.0.1"], ["fe80::1%eth0"], ["169.254.169.254"]]
)
def test_name_with_any_private_address_is_refused(answers: list[str]) -> None:
    assert refused_by("http://example.com/", resolve=resolving(*answers)) == "ADDRESS_REFUSED"


def test_exception_for_one_service_opens_no_other_port_and_no_other_host() -> None:
    options: dict[str, Any] = {"allow_private": ["127.0.0.1:8080", "10.1.0.0/16"], "resolve": resolving("127.0.0.1")}
    assert refused_by("http://127.0.0.1:8081/", **options) == "PORT_REFUSED"
    assert refused_by("http://127.0.0.1/", **options) == "ADDRESS_REFUSED"
    assert refused_by("http://other.example:8080/", **options) == "PORT_REFUSED"
    assert refused_by("http://10.2.0.1/", **options) == "ADDRESS_REFUSED"


def test_url_is_taken_apart_and_put_together_the_same() -> None:
    for url in ("http://example.com/", "https://a-b.example:8443/x?y=1&z=%20", "http://[2606:4700::1111]/a"):
        assert str(parse(url)) == url
    assert str(parse("HTTP://EXAMPLE.com:80?q#f")) == "http://example.com/?q"
