"""Runners through the clients, with and without asyncio, against a real gateway."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from hatchway import AsyncClient, Client, RequestError
from tests.gateway.serving import Gateway


@pytest.fixture
def thread() -> str:
    return f"box-{secrets.token_hex(4)}"


def test_a_command_is_one_line(client: Client, thread: str) -> None:
    done = client.runner(thread).run("echo hi; pwd")
    assert (done.stdout, done.exit_code, done.ok) == ("hi\n/workspace\n", 0, True)
    client.runner(thread).delete()


def test_a_command_is_one_line_with_asyncio(gateway: Gateway, thread: str) -> None:
    async def main() -> None:
        async with AsyncClient(gateway.url, gateway.token) as client:
            box = client.runner(thread)
            assert (await box.run(["printf", "%s", "$HOME"])).stdout == "$HOME", "a list is no line of a shell"
            told: list[tuple[int, bytes]] = []
            done = await box.run("echo out; echo err >&2; exit 2", on_output=lambda *one: told.append(one))
            assert done.exit_code == 2 and sorted(told) == [(0, b"out\n"), (1, b"err\n")]
            begun = await box.start("echo begun; sleep 1; echo ended")
            said = [event.data async for event in begun.watch() if event.kind == "stdout"]
            assert "".join(said) == "begun\nended\n"
            await box.delete()

    asyncio.run(main())


def test_options_of_a_command_are_passed_on(client: Client, thread: str) -> None:
    box = client.runner(thread)
    box.run("mkdir -p sub")
    done = box.run("pwd; echo $NAME; cat", cwd="sub", env={"NAME": "v"}, stdin="given", timeout_ms=20_000, command_id="mine")
    assert (done.stdout, done.command_id) == ("/workspace/sub\nv\ngiven", "mine")
    box.write("f", "text")
    assert box.read("f") == b"text"
    assert [entry["path"] for entry in box.do("list_runner_files")] == ["f", "sub"]
    box.delete()


def test_a_started_command_is_found_again_by_its_id(client: Client, thread: str) -> None:
    begun = client.runner(thread).start("echo begun; while :; do :; done")
    again = client.runner(thread).command(begun.id)
    assert next(again.watch()).data == "begun\n"
    log = again.logs()
    assert (log.status, [event.data for event in log.events]) == ("running", ["begun\n"])
    assert again.logs(after=log.last).events == []
    assert [one.status for one in client.runner(thread).commands()] == ["running"]
    again.signal("TERM")
    assert again.wait().status == "cancelled" and again.cancel() is False
    client.runner(thread).delete()


def test_stopping_keeps_the_files_and_deleting_does_not(client: Client, thread: str) -> None:
    box = client.runner(thread)
    box.run("echo kept > f")
    assert box.stop().status == "stopped"
    assert box.run("cat f").stdout == "kept\n"
    box.delete()
    assert client.runner(thread).run("cat f").exit_code == 1
    client.runner(thread).delete()


def test_a_destination_that_is_not_there_is_refused_and_binds_nothing(client: Client, thread: str) -> None:
    with pytest.raises(RequestError, match="runner destination not found: nowhere"):
        client.runner(thread, destination="nowhere").run("true")
    with pytest.raises(RequestError, match="not found"):
        client.do("get_runner_session", thread_id=thread)
