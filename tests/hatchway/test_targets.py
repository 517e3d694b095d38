"""Paths, ids and names in requests: a file's path stays a file's path, whoever chose it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from hatchway import AsyncClient, Client
from hatchway.client import endpoints
from hatchway.client.requests import Ask, Refused
from sandbox.errors import RequestError
from tests.gateway.serving import Gateway

WAYS_OUT = [
    "../../victim",
    "../values/injected",
    "/workspace/../../../me",
    "../../../audit",
    "a/../../../../me",
    "./../../victim",
]
NO_IDS = ["", ".", "..", "a/b", "../me", "/", "x" * 2000, "\ud800"]
OF_A_SESSION: list[Callable[[str], Ask]] = [
    endpoints.get_session,
    endpoints.delete_session,
    endpoints.cancel_session,
    endpoints.get_run,
    endpoints.carry_away,
    endpoints.forget_snapshot,
    lambda text: endpoints.restore(text, None),
    lambda text: endpoints.decide(text, "approve", ""),
    lambda text: endpoints.run_in(text, "1", {}),
    lambda text: endpoints.stream_in(text, "1", {}),
    lambda text: endpoints.fork(text, 1),
    lambda text: endpoints.save(text, "", False),
    lambda text: endpoints.read_file(text, "a"),
    lambda text: endpoints.write_file(text, "a", b""),
    lambda text: endpoints.delete_file(text, "a", False),
    lambda text: endpoints.stat_file(text, "a"),
    lambda text: endpoints.make_directory(text, "a"),
    lambda text: endpoints.set_secret(text, "a", "1"),
    lambda text: Ask("GET", endpoints.files_of(text)),
]


@pytest.mark.parametrize("path", WAYS_OUT)
def test_tm_client_path_a_files_path_never_leaves_the_files_of_its_session(path: str) -> None:
    for ask in (endpoints.read_file("s", path), endpoints.write_file("s", path, b""), endpoints.delete_file("s", path, True)):
        segments = ask.path.split("/")
        assert segments[:6] == ["", "v1", "sessions", "s", "files", "workspace"]
        assert not {"", ".", ".."} & set(segments[1:])


def test_tm_client_path_dots_delete_no_session_and_read_nothing_else(client: Client) -> None:
    with client.sandbox(id="victim"), client.sandbox(id="attacker") as box:
        for path in WAYS_OUT:
            with pytest.raises(Refused) as refused:
                box.files.remove(path)
            assert refused.value.error.code == "FILE_NOT_FOUND"
            with pytest.raises(Refused) as refused:
                box.files.read(path)
            assert refused.value.error.code == "FILE_NOT_FOUND"
        assert box.files.write("../values/injected", b"1").path == "/values/injected"
        assert list(client.pages("/v1/sessions/attacker/values", {}, dict)) == []
        assert client.session("victim").id == "victim"


def test_tm_client_path_the_asynchronous_client_keeps_to_files_too(gateway: Gateway) -> None:
    async def main() -> None:
        async with AsyncClient(gateway.url, gateway.token) as client, await client.sandbox() as box:
            for path in WAYS_OUT:
                assert not await box.files.exists(path)
                with pytest.raises(Refused) as refused:
                    await box.files.read(path)
                assert refused.value.error.code == "FILE_NOT_FOUND"

    asyncio.run(main())


@pytest.mark.parametrize("text", NO_IDS)
@pytest.mark.parametrize("verb", OF_A_SESSION)
def test_tm_client_path_what_is_no_id_is_refused_before_anything_is_sent(verb: Callable[[str], Ask], text: str) -> None:
    with pytest.raises(RequestError) as refused:
        verb(text)
    assert refused.value.error.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("text", ["", ".", "..", "a/../b", "a//b", "/a", "a/"])
def test_a_name_may_have_slashes_but_nothing_that_leads_away(text: str) -> None:
    assert endpoints.set_secret(None, "hooks/signing", "1").path == "/v1/secrets/hooks%2Fsigning"
    with pytest.raises(RequestError, match="not a name"):
        endpoints.set_secret(None, text, "1")


@pytest.mark.parametrize("target", ["/v1/sessions/..", "/v1/./me", "/../v1", "v1/me", "http://elsewhere/v1/me"])
def test_a_request_of_ones_own_is_sent_as_it_stands_or_not_at_all(target: str) -> None:
    with pytest.raises(RequestError, match="not the target"):
        Ask("GET", target)
    assert Ask("GET", "/v1/a..b/...?path=/a/../b").path == "/v1/a..b/...?path=/a/../b"


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 300, "a/" * 200, "x/" * 3000])
def test_a_path_that_no_file_can_have_is_refused_before_anything_is_sent(path: str) -> None:
    asks: list[Callable[[], Any]] = [
        lambda: endpoints.read_file("s", path),
        lambda: endpoints.stat_file("s", path),
        lambda: endpoints.make_directory("s", path),
        lambda: endpoints.directory(path),
    ]
    for ask in asks:
        with pytest.raises(RequestError) as refused:
            ask()
        assert refused.value.error.code == "INVALID_PATH"


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("a.txt", "/a.txt"),
        ("/a.txt", "/a.txt"),
        ("/workspace/a.txt", "/a.txt"),
        ("//workspace//./a.txt", "/a.txt"),
        ("/workspacefoo", "/workspacefoo"),
        ("workspacefoo", "/workspacefoo"),
        ("/workspace/workspace/x", "/workspace/x"),
        ("workspace/y", "/workspace/y"),
        ("d/../e", "/e"),
        ("../../e", "/e"),
        ("ü %2e%2e/?#&;\\", "/ü %2e%2e/?#&;\\"),
        ("...", "/..."),
    ],
)
def test_every_spelling_of_a_path_means_one_file(client: Client, written: str, stored: str) -> None:
    with client.sandbox(language="shell") as box:
        assert box.files.write(written, b"1").path == stored
        assert box.files.read(written) == b"1" and box.files.exists(written)
        assert box.files.read("/workspace" + stored) == b"1"
        assert box.run('cat "$NAME"', env={"NAME": "/workspace" + stored}).stdout == "1"
        box.files.remove(written)
        assert not box.files.exists("/workspace" + stored)


def test_directories_are_made_and_listed_under_the_same_spelling(client: Client) -> None:
    with client.sandbox(language="shell") as box:
        for path in ("workspace/in", "/workspacefoo"):
            box.files.mkdir(path)
            box.files.write(f"{path}/f", b"")
            assert box.files.list_dir(path) == ["f"]
        assert box.files.list_dir() == ["workspace", "workspacefoo"] and box.files.list_dir("/workspace/workspace") == ["in"]
