"""Terminals of commands through both clients, against a real gateway with real processes."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.runners.providers.unix_local import UnixLocal
from hatchway import AsyncClient, Client, RequestError
from hatchway.client.requests import Unreachable
from tests.gateway.serving import Gateway, serving

PYTHON = ["python3", "-q", "-i", "-u"]
PLAIN = {"PYTHON_BASIC_REPL": "1"}


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("terminals")
    if hint := UnixLocal(folder / "runners").setup_hint:
        pytest.skip(hint)
    with serving(folder / "data", settings={"HATCHWAY_RUNNERS_FOLDER": str(folder / "runners")}) as gateway:
        with Client(gateway.url, gateway.token) as client:
            client.do("add_destination", id="here", provider_id="unix-local")
        yield gateway


@pytest.fixture
def thread(processes: Gateway) -> Iterator[str]:
    name = f"box-{secrets.token_hex(4)}"
    yield name
    with Client(processes.url, processes.token) as client:
        client.runner(name, destination="here").delete()


def test_a_terminal_drives_python_and_changes_its_size(processes: Gateway, thread: str) -> None:
    with Client(processes.url, processes.token) as client:
        box = client.runner(thread, destination="here")
        with box.terminal(PYTHON, rows=30, columns=100, env=PLAIN) as python:
            python.expect(">>> ")
            python.write("6 * 7\r")
            assert python.expect("42\r\n>>> ").startswith("6 * 7")
            python.write("import os; tuple(os.get_terminal_size())\r")
            python.expect("(100, 30)")
            python.resize(50, 132)
            python.write("tuple(os.get_terminal_size())\r")
            python.expect("(132, 50)")
            python.signal("INT")
            python.expect("KeyboardInterrupt")
            python.write("exit(4)\r")
            assert [event.kind for event in python.events()][-1] == "result"
            assert python.result is not None and (python.result.status, python.result.exit_code) == ("exited", 4)
            assert python.receive() is None


def test_a_terminal_drives_python_with_asyncio(processes: Gateway, thread: str) -> None:
    async def main() -> None:
        async with AsyncClient(processes.url, processes.token) as client:
            box = client.runner(thread, destination="here")
            async with box.terminal(PYTHON, env=PLAIN) as python:
                await python.expect(">>> ")
                await python.write("x = 'a' * 20_000; len(x + '" + "é" * 9000 + "')\r")
                await python.expect("29000")
                await python.resize(40, 90)
                await python.write("import os; tuple(os.get_terminal_size())\r")
                await python.expect("(90, 40)")
                with pytest.raises(TimeoutError):
                    await python.expect("never", timeout_seconds=0.05)
                await python.cancel()
                kinds = [event.kind async for event in python.events()]
                assert kinds[-1] == "result" and python.result is not None and python.result.status == "cancelled"

    asyncio.run(main())


def test_what_is_left_is_found_again_where_it_was(processes: Gateway, thread: str) -> None:
    with Client(processes.url, processes.token) as client:
        box = client.runner(thread, destination="here")
        with box.terminal("stty -echo; echo ready; read a; echo got $a; read b; exit 3") as first:
            first.expect("ready\r\n")
            first.write("1\r")
            first.expect("got 1\r\n")
        assert [one.status for one in box.commands()] == ["running"], "leaving ends nothing"
        with box.command(first.command_id).live(first.number) as second:
            second.write("2\r")
            assert [event.kind for event in second.events()] == ["result"], "nothing comes twice"
            assert second.result is not None and second.result.exit_code == 3
        with box.command(first.command_id).live() as third:
            assert "got 1" in third.expect("got 1"), "all of it, for one that begins at the beginning"


def test_a_command_without_a_terminal_is_watched_and_is_not_typed_into(client: Client) -> None:
    box = client.runner(f"box-{secrets.token_hex(4)}")
    begun = box.start("echo ready; while :; do :; done")
    with begun.live() as live:
        live.expect("ready\n")
        live.write("x")
        with pytest.raises(RequestError, match="has no terminal"):
            live.receive()
    with begun.live() as live:
        live.cancel()
        assert [event.kind for event in live.events()][-1] == "result"
    with pytest.raises(RequestError, match="command not found: none"):
        box.command("none").live()
    with pytest.raises(RequestError, match="a terminal is not supported by provider wasm"):
        box.terminal("python3")
    box.delete()


def test_an_open_stdin_is_written_live_or_by_requests(processes: Gateway, thread: str) -> None:
    with Client(processes.url, processes.token) as client:
        box = client.runner(thread, destination="here")
        sorting = box.start("sort", open_stdin=True)
        sorting.write("b\n")
        with sorting.live() as live:
            live.write("a\n")
            live.end_input()
            assert "".join(event.data for event in live.events() if event.kind == "stdout") == "a\nb\n"
        again = box.start(["cat"], open_stdin=True)
        again.write("é" * 10)
        again.end_input()
        assert again.wait().stdout == "é" * 10
        with pytest.raises(RequestError, match="has no open stdin"):
            box.start("sleep 5").end_input()


def test_one_thread_reads_while_another_types(processes: Gateway, thread: str) -> None:
    with Client(processes.url, processes.token) as client:
        box = client.runner(thread, destination="here")
        with box.terminal("stty -echo; echo ready; cat") as live:
            live.expect("ready\r\n")

            def type_in() -> None:
                for n in range(200):
                    live.write(f"line {n}\r")
                live.write("\x04")

            typing = threading.Thread(target=type_in)
            typing.start()
            seen = "".join(event.data for event in live.events() if event.kind == "stdout")
            typing.join(60)
        assert seen.splitlines() == [f"line {n}" for n in range(200)]


class Between:
    """A carrier between a client and a gateway, whose connections can be cut."""

    def __init__(self, gateway: Gateway) -> None:
        self._port = int(gateway.url.rpartition(":")[2])
        self._server: Any = None
        self._writers: list[asyncio.StreamWriter] = []
        self.opened = 0

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._server.close()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers += [writer, far_writer]

        async def copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
            try:
                while data := await source.read(65536):
                    to.write(data)
                    await to.drain()
            except OSError:
                pass
            to.close()

        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))


def test_a_connection_that_breaks_is_opened_again_and_nothing_is_missed_or_comes_twice(processes: Gateway, thread: str) -> None:
    async def main() -> None:
        between = Between(processes)
        waits = "until [ -e go ]; do sleep 0.02; done; rm go"
        async with (
            between as url,
            AsyncClient(url, processes.token) as client,
            AsyncClient(processes.url, processes.token) as other,
        ):
            box = client.runner(thread, destination="here")
            async with box.terminal(f"stty -echo; echo ready; while read n; do seq 7; {waits}; seq 8 $n; done") as live:
                await live.expect("ready\r\n")
                for _ in range(5):
                    await live.write("300\r")
                    await live.expect("\n7\r\n")
                    opened = between.opened
                    between.cut()
                    await other.runner(thread).write("go", b"")
                    assert (await live.expect("300\r\n")).splitlines() == [str(n) for n in range(8, 301)]
                    assert between.opened > opened, "the connection was not cut"
                await live.cancel()

    asyncio.run(main())


def test_a_slow_reader_is_dropped_and_comes_back_to_what_it_missed(tmp_path: Path) -> None:
    """The gateway drops a reader that takes nothing for a while; what it had to say is still there."""
    if hint := UnixLocal(tmp_path / "runners").setup_hint:
        pytest.skip(hint)
    settings = {"HATCHWAY_RUNNERS_FOLDER": str(tmp_path / "runners"), "HATCHWAY_WRITE_DEADLINE_MS": "1000"}
    with serving(tmp_path / "data", settings=settings) as gateway, Client(gateway.url, gateway.token) as client:
        client.do("add_destination", id="here", provider_id="unix-local")
        box = client.runner("slow", destination="here")
        with box.terminal("stty -echo; head -c 900000 /dev/zero | tr '\\0' x; echo; echo end") as live:
            live.expect("x")
            box.command(live.command_id).wait()
            threading.Event().wait(1.5)
            assert live.expect("end").count("x") > 800_000
            assert [event.kind for event in live.events()][-1] == "result"


def test_a_gateway_that_is_gone_is_said(tmp_path: Path) -> None:
    if hint := UnixLocal(tmp_path / "runners").setup_hint:
        pytest.skip(hint)
    settings = {"HATCHWAY_RUNNERS_FOLDER": str(tmp_path / "runners")}
    with serving(tmp_path / "data", settings=settings) as gateway, Client(gateway.url, gateway.token) as client:
        client.do("add_destination", id="here", provider_id="unix-local")
        with client.runner("t", destination="here").terminal("echo ready; sleep 1000") as live:
            live.expect("ready")
            gateway.kill()
            with pytest.raises(Unreachable):
                list(live.events())
