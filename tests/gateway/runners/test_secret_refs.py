"""Secrets of destinations: by reference or not at all, and in no error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import BadRequest, GatewayError
from gateway.runners.pool import Pool
from gateway.runners.providers.docker import Docker
from gateway.runners.providers.ssh import Ssh
from gateway.runners.providers.wasm import Wasm
from gateway.runners.secret_refs import check_config
from gateway.runners.wire import Destination, encode
from tests.gateway.runners.engine import FakeEngine
from tests.gateway.runners.places import DOCKER, Servers, Vault, a_place, go, read, run, write
from tests.gateway.runners.sshd import Server

VALUE = "hunter2-hunter2"


@pytest.mark.parametrize(
    "config",
    [
        {"token": VALUE},
        {"API_KEY": VALUE},
        {"apiKey": VALUE},
        {"nested": {"list": [{"client-secret": VALUE}]}},
        {"password": VALUE},
        {"db_passwd": VALUE},
        {"aws.secret_access_key": VALUE},
        {"privateKey": VALUE},
        {"Authorization": f"Bearer {VALUE}"},
        {"auth": VALUE},
        {"session_cookie": VALUE},
        {"credentials": {"id": "x", "value": VALUE}},
        {"token": ["a", VALUE]},
        {"url": f"https://user:{VALUE}@host/"},
        {"note": "-----BEGIN OPENSSH PRIVATE KEY-----\n" + VALUE},
        {"note": "AKIAIOSFODNN7EXAMPLE"},
    ],
)
def test_tm_run_secret_a_config_that_looks_like_it_holds_a_secret_is_refused_without_repeating_it(config: Any) -> None:
    with pytest.raises(BadRequest) as raised:
        check_config(config)
    assert raised.value.code == "RUNNER_SECRET_IN_CONFIG"
    assert VALUE not in str(raised.value) and "AKIA" not in str(raised.value)


@pytest.mark.parametrize(
    "config",
    [
        None,
        {},
        {"root": "/srv", "author": "me", "host_key": "ssh-ed25519 AAAA", "keyboard": 1, "url": "https://host/a@b"},
        {"token": {"id": "vault-name"}, "identity": {"id": "k"}},
        {"password": None},
    ],
)
def test_references_and_ordinary_keys_pass(config: Any) -> None:
    check_config(config)


def test_a_config_without_end_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(BadRequest):
        check_config(deep)


def test_the_pool_refuses_a_destination_with_a_secret_whatever_its_provider_thinks() -> None:
    with pytest.raises(BadRequest):
        Pool([Wasm()]).put("t", Destination(id="d", provider_id="wasm", config={"limits": {"token": VALUE}}))


@pytest.mark.parametrize("name", ["unix-local", "ssh", DOCKER])
def test_tm_run_leak_no_error_names_a_path_of_the_host_or_a_secret(name: str, tmp_path: Path, servers: Servers) -> None:
    async def main() -> None:
        async with a_place(name, tmp_path, servers) as place:
            session = await place.open()
            await write(session, "d/f", b"")
            await run(session, "sh", "-c", "ln -s /etc/passwd l; mkfifo p; ln d/f h; ln -s l m")
            said = [encode(session.state).decode()]
            for path in ("", "../x", "/etc/shadow", "l", "m", "p", "h", "d", "d/f/g", "x" * 5000, "a\0b", "é\ud800"):
                for action in (read(session, path), write(session, path, b""), run(session, "pwd", cwd=path or "\0")):
                    try:
                        await action
                    except GatewayError as refused:
                        said += [refused.error.message, refused.error.hint or ""]
            assert len(said) > 20
            for text in said:
                assert str(tmp_path) not in text and "PRIVATE KEY" not in text and "Traceback" not in text, text
                assert "Errno" not in text and len(text) < 600

    go(main())


def test_failures_of_a_provider_do_not_repeat_what_the_other_side_said(tmp_path: Path, ssh_server: Callable[[], Server]) -> None:
    async def main() -> None:
        async with FakeEngine(tmp_path / "docker.sock") as engine:
            docker = Docker(tmp_path, socket_path=str(engine.path), images=("rust:latest", "evil"))
            with pytest.raises(GatewayError) as raised:
                await docker.create(Destination(id="d", provider_id="docker", config={"image": "evil"}))
            assert "/var/lib" not in str(raised.value)
        server = ssh_server()
        config = {"host": "127.0.0.1", "port": server.port, "username": server.username, "root": str(tmp_path)}
        config |= {"host_key": server.host_key, "identity": {"id": "k"}}
        ssh = Ssh(["127.0.0.1"], secrets=Vault(k=VALUE.encode()))
        with pytest.raises(GatewayError) as raised:
            await ssh.create(Destination(id="d", provider_id="ssh", config=config))
        assert VALUE not in str(raised.value)

    go(main())
