"""Frames: whatever the other end sends, the worst is a lost connection."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import Awaitable, Callable

import pytest

from sandbox.encoding import cbor
from sandbox.workers.frames import (
    CALL,
    FAILURE,
    FETCH,
    OUTPUT,
    REPLY,
    REQUEST,
    RESULT,
    STOP,
    Frame,
    FrameError,
    Frames,
    decode,
    encode,
)
from sandbox.workers.interface import WorkerLost
from sandbox.workers.local.worker import LocalWorker
from sandbox.workers.process_worker import ProcessWorker
from sandbox.workers.server import Server
from tests.sandbox.workers.scenes import opening, run


def _raw(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


MALFORMED = {
    "nothing": _raw(b""),
    "garbage": _raw(b"\xff\xfe\xfd"),
    "too long": b"\xff\xff\xff\xff",
    "not an array": _raw(cbor.encode({"a": 1})),
    "too short": _raw(cbor.encode([RESULT, 1])),
    "another kind": _raw(cbor.encode([99, 1, b""])),
    "a negative id": _raw(cbor.encode([RESULT, -1, b""])),
    "a text for a body": _raw(cbor.encode([RESULT, 1, "null"])),
    "nested": _raw(cbor.encode([RESULT, 1, b"null", [b""]])),
    "a bool for a kind": _raw(cbor.encode([True, 1, b"null"])),
    "more after the end": _raw(cbor.encode([RESULT, 1, b"null"]) + b"\0"),
    "indefinite": _raw(b"\x9f\x04\x01\x44null\xff"),
    "a huge array": _raw(b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff"),
    "a tag": _raw(b"\xc1\x83\x04\x01\x44null"),
}
MISPLACED = {
    "an answer to nothing": encode(Frame(RESULT, 999, b"null")),
    "a request": encode(Frame(REQUEST, 1, b"{}")),
    "a stop": encode(Frame(STOP, 1)),
    "a reply": encode(Frame(REPLY, 1)),
    "output that nobody wants": encode(Frame(OUTPUT, 1, b"\0", [b"x"])),
    "a call that nobody answers": encode(Frame(CALL, 1, b'{"call":1,"name":"x","args":[],"kwargs":{}}')),
    "a fetch that nobody answers": encode(Frame(FETCH, 1, b'{"call":1,"digests":[]}')),
    "an answer of another type": encode(Frame(RESULT, 1, b'"yes"')),
    "an answer that is not JSON": encode(Frame(RESULT, 1, b"{")),
    "an answer with a blob too many": encode(Frame(RESULT, 1, b"true", [b""])),
    "a path that leaves": encode(Frame(RESULT, 1, b'{"removed":["/../etc/passwd"],"written":[]}')),
    "a failure that is none": encode(Frame(FAILURE, 1, b"[]")),
    "deep JSON": encode(Frame(RESULT, 1, b"[" * 100_000)),
}


def test_frames_come_back_whatever_the_pieces() -> None:
    sent = [Frame(REQUEST, 1, b"{}", [b"a" * 1000, b""]), Frame(STOP, 2, b"", []), Frame(OUTPUT, 3, b"\1", [b"x"])]
    data = b"".join(encode(frame) for frame in sent)
    for size in (1, 3, 7, 100, len(data)):
        frames = Frames()
        got = [frame for start in range(0, len(data), size) for frame in frames.feed(data[start : start + size])]
        assert got == sent


def test_a_frame_that_is_too_large_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.workers.frames.FRAME_BYTES_MAX", 1000)
    with pytest.raises(FrameError):
        encode(Frame(RESULT, 1, b"", [bytes(2000)]))


@pytest.mark.parametrize("name", MALFORMED)
def test_tm_iso_frame_what_is_not_a_frame_is_refused(name: str) -> None:
    with pytest.raises(FrameError):
        Frames().feed(MALFORMED[name])


def test_tm_iso_frame_mutations_are_frames_or_refused() -> None:
    chance = random.Random(20261116)
    whole = encode(Frame(RESULT, 7, b'{"a":[1,2,3]}', [b"blob" * 20, b"", b"x"]))[4:]
    for _ in range(20_000):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            frame = decode(bytes(data[: chance.randint(1, len(data))]))
        except FrameError:
            continue
        assert isinstance(frame.body, bytes) and 1 <= frame.kind <= 8


async def _with_stranger(act: Callable[[ProcessWorker, socket.socket], Awaitable[None]]) -> None:
    """A worker whose process is the test."""
    ours, theirs = socket.socketpair()
    worker = ProcessWorker()
    await worker.connect(ours)
    try:
        await asyncio.wait_for(act(worker, theirs), 30)
    finally:
        worker.lose("the test is over")
        theirs.close()


@pytest.mark.parametrize("name", [*MALFORMED, *MISPLACED])
def test_tm_iso_frame_a_worker_that_breaks_the_protocol_is_lost_and_its_user_goes_on(name: str) -> None:
    async def act(worker: ProcessWorker, stranger: socket.socket) -> None:
        asked = asyncio.create_task(worker.is_open("s"))
        await asyncio.sleep(0)
        stranger.sendall({**MALFORMED, **MISPLACED}[name])
        with pytest.raises(WorkerLost):
            await asked
        assert worker.is_lost
        with pytest.raises(WorkerLost):
            await worker.is_open("s")

    asyncio.run(_with_stranger(act))


def test_tm_iso_frame_output_without_end_is_cut_off() -> None:
    async def act(worker: ProcessWorker, stranger: socket.socket) -> None:
        shown = 0

        def show(stream: int, data: bytes) -> None:
            nonlocal shown
            shown += len(data)

        asked = asyncio.create_task(run(worker, "1", on_output=show))
        await asyncio.sleep(0)
        stranger.setblocking(False)
        flood = encode(Frame(OUTPUT, 1, b"\0", [bytes(1 << 20)]))
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            for _ in range(200):
                await loop.sock_sendall(stranger, flood)
        with pytest.raises(WorkerLost):
            await asked
        assert shown <= 64 << 20

    asyncio.run(_with_stranger(act))


def test_a_worker_that_does_not_stop_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.workers.process_worker.STOP_SECONDS", 0.01)

    async def act(worker: ProcessWorker, stranger: socket.socket) -> None:
        asked = asyncio.create_task(run(worker, "1"))
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert worker.is_lost

    asyncio.run(_with_stranger(act))


def test_an_answer_that_comes_as_its_request_is_cancelled_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.workers.process_worker.STOP_SECONDS", 0.01)

    async def act(worker: ProcessWorker, stranger: socket.socket) -> None:
        asked = asyncio.create_task(worker.is_open("s"))
        await asyncio.sleep(0)
        asked.cancel()
        assert worker._connection is not None
        worker._connection.data_received(encode(Frame(RESULT, 1, b"true")))
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert not worker.is_lost

    asyncio.run(_with_stranger(act))


def test_tm_iso_frame_calls_without_end_are_cut_off() -> None:
    async def act(worker: ProcessWorker, stranger: socket.socket) -> None:
        async def never(name: str, args: list[object], kwargs: dict[str, object]) -> object:
            await asyncio.Event().wait()
            raise AssertionError

        asked = asyncio.create_task(run(worker, "1", on_call=never))
        await asyncio.sleep(0)
        for number in range(100):
            stranger.sendall(encode(Frame(CALL, 1, b'{"call":%d,"name":"x","args":[],"kwargs":{}}' % number)))
        with pytest.raises(WorkerLost):
            await asked

    asyncio.run(_with_stranger(act))


@pytest.mark.parametrize("name", [*MALFORMED, "an answer to nothing", "an answer that is not JSON", "deep JSON", "a request"])
def test_tm_iso_frame_a_worker_ends_when_its_user_breaks_the_protocol(name: str) -> None:
    async def main() -> None:
        ours, theirs = socket.socketpair()
        serving = asyncio.create_task(Server(LocalWorker()).serve(theirs))
        await asyncio.sleep(0)
        ours.sendall({**MALFORMED, **MISPLACED}[name])
        await asyncio.wait_for(serving, 30)
        ours.close()

    asyncio.run(main())


def test_a_request_that_is_stopped_as_it_arrives_is_answered() -> None:
    async def main() -> None:
        ours, theirs = socket.socketpair()
        serving = asyncio.create_task(Server(LocalWorker()).serve(theirs))
        await asyncio.sleep(0)
        ours.sendall(encode(Frame(REQUEST, 1, b'{"verb":"status"}')) + encode(Frame(STOP, 1)))
        ours.setblocking(False)
        data = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(ours, 4096), 30)
        (frame,) = Frames().feed(data)
        assert frame.kind == FAILURE and frame.id == 1 and b"CANCELLED" in frame.body
        ours.close()
        await asyncio.wait_for(serving, 30)

    asyncio.run(main())


def test_many_requests_share_one_connection() -> None:
    async def main() -> None:
        ours, theirs = socket.socketpair()
        serving = asyncio.create_task(Server(LocalWorker()).serve(theirs))
        worker = ProcessWorker()
        await worker.connect(ours)
        for n in range(5):
            await worker.open(opening(f"s{n}"))
        outcomes = await asyncio.gather(*(run(worker, f"{n} * 10", f"s{n}") for n in range(5)))
        assert [one.result.result for one in outcomes] == [0, 10, 20, 30, 40]
        worker.lose("done")
        await asyncio.wait_for(serving, 30)

    asyncio.run(main())
