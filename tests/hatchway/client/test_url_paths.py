"""Paths, ids and names in requests: a file's path stays a file's path, whoever chose it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hatchway import AsyncClient, Client
from hatchway.client.async_files import AsyncRemoteFiles
from hatchway.client.operations import api_operations, request
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
WITH_IDS = [
    (operation.name, field.name)
    for operation in api_operations().values()
    for field in operation.fields
    if field.place == "path" and f"{{{field.name}}}" in operation.path
]
"""Every id in a path of any operation."""


def ask_for(name: str, /, **arguments: Any) -> Ask:
    """The request of an operation with something in every place of its path."""
    filled = {one.name: "a" for one in api_operations()[name].fields if one.place == "path"}
    return request(name, **{**filled, **arguments})


@pytest.mark.parametrize("path", WAYS_OUT)
def test_tm_client_path_a_files_path_never_leaves_the_files_of_its_session(path: str) -> None:
    for name in ("get_file", "put_file", "delete_file"):
        ask = ask_for(name, session_id="s", path=path)
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
def test_tm_client_path_what_is_no_id_is_refused_before_anything_is_sent(text: str) -> None:
    assert len(WITH_IDS) > 60
    for name, field in WITH_IDS:
        with pytest.raises(RequestError) as refused:
            ask_for(name, **{field: text})
        assert refused.value.error.code == "INVALID_ARGUMENT"
    with Client("http://127.0.0.1:9", "hw_x") as client:
        for verb in (client.session, client.get_run, client.restore):
            with pytest.raises(RequestError) as refused:
                verb(text)
            assert refused.value.error.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("text", ["", ".", "..", "a/../b", "a//b", "/a", "a/"])
def test_a_name_may_have_slashes_but_nothing_that_leads_away(text: str) -> None:
    assert ask_for("put_secret", name="hooks/signing").path == "/v1/secrets/hooks%2Fsigning"
    with pytest.raises(RequestError, match="not a name"):
        ask_for("put_secret", name=text)


@pytest.mark.parametrize("target", ["/v1/sessions/..", "/v1/./me", "/../v1", "v1/me", "http://elsewhere/v1/me"])
def test_a_request_of_ones_own_is_sent_as_it_stands_or_not_at_all(target: str) -> None:
    with pytest.raises(RequestError, match="not the target"):
        Ask("GET", target)
    assert Ask("GET", "/v1/a..b/...?path=/a/../b").path == "/v1/a..b/...?path=/a/../b"


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 300, "a/" * 200, "x/" * 3000])
def test_a_path_that_no_file_can_have_is_refused_before_anything_is_sent(path: str) -> None:
    with Client("http://127.0.0.1:9", "hw_x") as client:
        files = AsyncRemoteFiles(client._core, "s")
        for verb in (files.read, files.stat, files.mkdir, files.list, files.delete):
            with pytest.raises(RequestError) as refused:
                asyncio.run(verb(path))
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
