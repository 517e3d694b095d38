"""Every kind of worker, the same behaviour: heaps, templates, forks."""

from __future__ import annotations

import msgspec
import pytest

from sandbox.errors import RequestError
from sandbox.wire import DEFAULT_LIMITS
from sandbox.workers.interface import Worker
from tests.sandbox.workers.scenes import Play, code_of, opening, run, value


def test_a_heap_goes_on_elsewhere(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await value(worker, "x = iter(range(10)); [next(x), next(x)]")
        frozen = await worker.freeze("s", label="here")
        assert frozen.base is None
        await worker.open(opening("t", packs=[frozen.pack]))
        assert await value(worker, "next(x)", "t") == 2
        assert await value(worker, "next(x)", "s") == 2

    play(scene)


def test_a_chain_of_differences_is_a_heap(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        packs = []
        base = None
        for n in range(3):
            code = f"x{n} = '{n}' * 100000\nopen('f{n}', 'w').write('{n}' * 5000)"
            frozen = (await run(worker, code, freeze=True, base=base)).frozen
            assert frozen is not None and frozen.base == base
            packs.append(frozen.pack)
            base = frozen.id
        assert len(packs[2]) < len(packs[0])
        await worker.open(opening("t", packs=packs))
        assert await value(worker, "[x0[0], x1[0], x2[0], open('f1').read(1)]", "t") == ["0", "1", "2", "1"]
        with pytest.raises(RequestError) as caught:
            await worker.open(opening("u", packs=packs[1:]))
        assert caught.value.error.code == "SNAPSHOT_CORRUPT"

    play(scene)


def test_an_unknown_base_gives_a_whole_pack(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        assert (await worker.freeze("s", base="0" * 64)).base is None

    play(scene)


def test_packs_that_are_damaged_open_nothing(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        for packs in ([b""], [b"garbage"], [b"\x00" * 1000]):
            with pytest.raises(RequestError):
                await worker.open(opening(packs=packs))
        assert not await worker.is_open("s")

    play(scene)


def test_a_template_is_sent_once(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening("maker"))
        await value(worker, "warm = [1, 2, 3]", "maker")
        pack = (await worker.freeze("maker")).pack
        assert not await worker.is_known("warm")
        await worker.open(opening("a", template="warm", packs=[pack]))
        assert await worker.is_known("warm")
        await worker.open(opening("b", template="warm"))
        await value(worker, "warm.append(4)", "a")
        assert await value(worker, "warm", "b") == [1, 2, 3]
        with pytest.raises(RequestError):
            await worker.open(opening("c", template="unheard-of"))

    play(scene)


def test_the_memory_of_a_template_is_not_charged_after_a_pause(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        large, small = (msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=mb, wall_ms=20_000, cpu_ms=20_000) for mb in (64, 8))
        await worker.open(opening("maker", large))
        await value(worker, "data = bytearray(24 << 20); data[::4096] = b'x' * len(data[::4096])", "maker")
        await worker.open(opening("a", small, template="big", packs=[(await worker.freeze("maker")).pack]))
        frozen = (await run(worker, "y = 5", "a", freeze=True)).frozen
        assert frozen is not None and frozen.free_bytes > 20 << 20
        with pytest.raises(RequestError):
            await worker.open(opening("b", small, packs=[frozen.pack]))
        await worker.open(opening("b", small, packs=[frozen.pack], free_bytes=frozen.free_bytes))
        assert await value(worker, "y + len(data)", "b") == 5 + (24 << 20)
        await worker.fork("b", "c")
        assert await value(worker, "y", "c") == 5
        assert code_of((await run(worker, "more = bytearray(16 << 20)", "c")).result) == "MEMORY_EXCEEDED"

    play(scene)


def test_a_fork_is_independent(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        await worker.open(opening())
        await run(worker, "x = 1\nopen('f', 'w').write('1')")
        await worker.fork("s", "t")
        await run(worker, "x = 2\nopen('f', 'w').write('2')", "t")
        assert await value(worker, "[x, open('f').read()]", "s") == [1, "1"]
        assert await value(worker, "[x, open('f').read()]", "t") == [2, "2"]
        first = await run(worker, "import random; random.random()", "s")
        other = await run(worker, "import random; random.random()", "t")
        assert first.result.result != other.result.result

    play(scene)
