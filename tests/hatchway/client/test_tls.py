"""The clients over HTTPS: a private authority is believed when it is named, and a certificate is shown where one is asked for."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from hatchway import AsyncClient, Client
from hatchway.cli.entry import main
from hatchway.client.requests import Unreachable
from sandbox.errors import RequestError
from tests.gateway.certificates import write_certificate
from tests.gateway.serving import Gateway, serving


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One certificate that is its own authority: `cert.pem`, `key.pem`, and `both.pem`."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, private = write_certificate(folder)
    (folder / "both.pem").write_bytes(certificate.read_bytes() + private.read_bytes())
    return folder


@pytest.fixture(scope="module")
def guarded(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with a certificate of a private authority, which lets in whoever shows one of the same."""
    settings = {
        "HATCHWAY_TLS_CERTIFICATE": str(files / "cert.pem"),
        "HATCHWAY_TLS_KEY": str(files / "key.pem"),
        "HATCHWAY_TLS_CLIENT_CA": str(files / "cert.pem"),
    }
    with serving(tmp_path_factory.mktemp("guarded") / "data", settings=settings) as gateway:
        gateway.url = gateway.url.replace("127.0.0.1", "localhost")
        yield gateway


def test_a_named_authority_and_a_shown_certificate_let_a_client_in(guarded: Gateway, files: Path) -> None:
    pair = (files / "cert.pem", files / "key.pem")
    for cert in (pair, str(files / "both.pem"), f"{pair[0]}:{pair[1]}"):
        with Client(guarded.url, guarded.token, verify=files / "cert.pem", cert=cert) as client:
            assert list(client.sessions()) == []

    async def scenario() -> None:
        context = ssl.create_default_context(cafile=str(files / "cert.pem"))
        async with AsyncClient(guarded.url, guarded.token, verify=context, cert=pair) as client:
            assert [one async for one in client.sessions()] == []

    asyncio.run(scenario())


def test_without_them_nothing_is_sent(guarded: Gateway, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hatchway.client.requests.PAUSE_SECONDS", 0.0)
    with Client(guarded.url, guarded.token, cert=files / "both.pem") as client, pytest.raises(Unreachable, match="certificate"):
        list(client.sessions())
    with Client(guarded.url, guarded.token, verify=files / "cert.pem") as client, pytest.raises(Unreachable):
        list(client.sessions())


def test_the_environment_and_the_command_line_name_them(
    guarded: Gateway, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HATCHWAY_URL", guarded.url)
    monkeypatch.setenv("HATCHWAY_TOKEN", guarded.token)
    ca, both = str(files / "cert.pem"), str(files / "both.pem")
    assert main(["remote", "--ca", ca, "--cert", both, "sessions"]) == 0
    assert main(["remote", "sessions", "--ca", ca, "--cert", both]) == 0
    monkeypatch.setenv("HATCHWAY_CA", ca)
    monkeypatch.setenv("HATCHWAY_CERT", both)
    assert main(["remote", "sessions"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("what", [{"verify": "nowhere.pem"}, {"cert": "nowhere.pem"}, {"cert": ("a", "b")}, {"verify": False}])
def test_files_that_are_no_certificates_are_refused_by_their_names(what: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(RequestError) as refused:
        Client("https://localhost:1", "hw_x", **what)  # type: ignore[arg-type]
    assert refused.value.error.code == "INVALID_ARGUMENT"
