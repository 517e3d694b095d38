"""One link between two gateways: streams next to each other, windows, and what ends when the other end is away."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gateway.fleet.link import FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, WINDOW_BYTES, Kind, Link, LinkLost, Stream

Use = Callable[[Link, list[Stream]], Awaitable[None]]


def link_up(use: Use, silence_s: float = 30.0, serve: Callable[[Stream], Awaitable[None]] | None = None) -> None:
    """`use` gets one end of a link, and the streams that have come to the other."""

    async def main() -> None:
        coming: list[Stream] = []
        tasks: set[asyncio.Task[Any]] = set()

        def open_stream(stream: Stream, head: bytes) -> None:
            coming.append(stream)
            if serve is not None:
                tasks.add(asyncio.ensure_future(serve(stream)))

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await Link(reader, writer, silence_s, open_stream).run()

        server = await asyncio.start_server(take, "127.0.0.1", 0)
        link = Link(*await asyncio.open_connection(*server.sockets[0].getsockname()), silence_s)
        running = asyncio.create_task(link.run())
        try:
            async with asyncio.timeout(60):
                await use(link, coming)
        finally:
            link.close()
            await running
            server.close()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())


async def echo(stream: Stream) -> None:
    stream.answer(Kind.ACCEPT)
    while (message := await stream.receive()) != {"last": True}:
        assert message is not None
        await stream.send(message)
    stream.close(Kind.END)


def test_messages_of_every_size_come_back_whole_next_to_each_other() -> None:
    async def use(link: Link, coming: list[Stream]) -> None:
        async def one(fill: bytes) -> None:
            stream = link.open(b"head")
            assert await stream.wait_for_answer()
            for size in (0, 1, FRAME_BYTES_MAX - 20, FRAME_BYTES_MAX, FRAME_BYTES_MAX + 1, 3 * FRAME_BYTES_MAX, 1 << 20):
                await stream.send({"body": fill * size, "headers": [(b"a", b"b")]})
                assert await stream.receive() == {"body": fill * size, "headers": [[b"a", b"b"]]}
            await stream.send({"last": True})
            assert await stream.receive() is None

        await asyncio.gather(*(one(b"%d" % n) for n in range(8)))

    link_up(use, serve=echo)


def test_a_sender_waits_for_its_own_reader_and_no_other_stream_does() -> None:
    async def use(link: Link, coming: list[Stream]) -> None:
        slow, sent = link.open(b""), 0

        async def fill() -> None:
            nonlocal sent
            while True:
                await slow.send({"body": b"x" * 60_000})
                sent += 1

        filling = asyncio.create_task(fill())
        await asyncio.sleep(0.3)
        before = sent
        assert before * 60_000 <= WINDOW_BYTES + 120_000
        other = link.open(b"")
        await other.send({"a": 1})
        while len(coming) < 2:
            await asyncio.sleep(0.01)
        assert await coming[1].receive() == {"a": 1}
        await asyncio.sleep(0.1)
        assert sent == before
        for _ in range(before):
            await coming[0].receive()
        while sent == before:
            await asyncio.sleep(0.01)
        filling.cancel()

    link_up(use)


def test_cancel_refusal_and_loss_reach_the_other_end() -> None:
    async def use(link: Link, coming: list[Stream]) -> None:
        asked, refused = link.open(b""), link.open(b"")
        while len(coming) < 2:
            await asyncio.sleep(0.01)
        cancelled, lost = asyncio.Event(), asyncio.Event()
        coming[0].on_cancel, coming[1].on_cancel = cancelled.set, lost.set
        asked.close(Kind.CANCEL)
        await cancelled.wait()
        coming[1].answer(Kind.REFUSE)
        assert not await refused.wait_for_answer()
        link.close()
        await lost.wait()
        for failing in (refused.send({}), refused.receive(), coming[1].receive()):
            with pytest.raises(LinkLost):
                await failing
        with pytest.raises(LinkLost):
            link.open(b"")

    link_up(use)


def test_a_link_that_hears_nothing_is_lost() -> None:
    async def main() -> None:
        async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
        link = Link(*await asyncio.open_connection(*server.sockets[0].getsockname()), 0.2)
        stream = link.open(b"")
        running = asyncio.create_task(link.run())
        with pytest.raises(LinkLost):
            await asyncio.wait_for(stream.wait_for_answer(), 30)
        await running
        server.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack("!IBI", FRAME_BYTES_MAX + 1, Kind.OPEN, 1),
        struct.pack("!IBI", 0, 99, 1),
        struct.pack("!IBI", 0, Kind.OPEN, 1) + struct.pack("!IBI", 1, Kind.MESSAGE, 1) + b"\xc1",
        struct.pack("!IBI", 0, Kind.OPEN, 1) + struct.pack("!IBI", 1, Kind.CREDIT, 1) + b"x",
        (struct.pack("!IBI", 0, Kind.OPEN, 1))
        + (struct.pack("!IBI", FRAME_BYTES_MAX, Kind.PART, 1) + b"x" * FRAME_BYTES_MAX)
        * (MESSAGE_BYTES_MAX // FRAME_BYTES_MAX + 1),
    ],
    ids=["large", "kind", "message", "credit", "parts"],
)
def test_what_no_gateway_sends_closes_the_link(sent: bytes) -> None:
    async def main() -> None:
        ended = asyncio.Event()

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await Link(reader, writer, 30.0, lambda stream, head: None).run()
            ended.set()

        server = await asyncio.start_server(take, "127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(sent)
        await asyncio.wait_for(ended.wait(), 30)
        writer.close()
        server.close()

    asyncio.run(main())
