"""Every kind of worker, the same behaviour: heaps, templates, forks."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import msgspec
import pytest

from sandbox.errors import RequestError
from sandbox.wire import DEFAULT_LIMITS
from sandbox.workers.interface import Worker
from sandbox.workers.local.worker import LocalWorker
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


def _layers() -> dict[int, int]:
    """The memory of this process that is in files without a name: bytes by inode."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("/memfd:hatchway-"):
                stat = os.stat(f"/proc/self/fd/{name}")
                found[stat.st_ino] = stat.st_blocks * 512
    return found


def _shared_kb() -> int:
    return int(Path("/proc/self/status").read_text().partition("RssShmem:")[2].split()[0])


def test_tm_lim_unseen_a_restore_costs_what_its_session_changed_and_all_of_it_is_seen() -> None:
    async def main() -> None:
        worker, before, seen_kb = LocalWorker(), _layers(), _shared_kb()
        await worker.open(opening("maker"))
        await value(worker, "small = list(range(1000)); large = bytes(range(256)) * 4096", "maker")
        pack = (await worker.freeze("maker")).pack
        for number in range(5):
            await worker.open(opening(f"s{number}", template=f"t{number}", packs=[pack]))
            assert await value(worker, "small[999] + large[255]", f"s{number}") == 999 + 255
        layers = {ino: size for ino, size in _layers().items() if ino not in before}
        assert len(layers) == 5 and max(layers.values()) < 8 << 20, "the image's pages are shared, not copied"
        assert (_shared_kb() - seen_kb) << 10 >= sum(layers.values()), "what watches the process sees all of it"
        await worker.forget("t0")
        assert not await worker.is_known("t0") and await value(worker, "small[1]", "s0") == 1
        await worker.close("s0")
        assert len(_layers().keys() & layers.keys()) == 4
        await worker.aclose()

    asyncio.run(main())


def test_tm_lim_unseen_templates_that_are_many_large_or_unused_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        worker = LocalWorker()
        await worker.open(opening("maker", msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=64)))
        await value(worker, "data = b'x' * (2 << 20)", "maker")
        pack = (await worker.freeze("maker")).pack

        async def known() -> list[int]:
            return [number for number in range(20) if f"t{number}" in worker._heaps._templates]

        for number in range(18):
            await worker.open(opening("s", template=f"t{number}", packs=[pack]))
        assert await known() == list(range(2, 18))
        monkeypatch.setattr("sandbox.workers.local.state_packs._TEMPLATES_BYTES_MAX", 8 << 20)
        await worker.open(opening("s", template="t18", packs=[pack]))
        assert 1 <= len(await known()) <= 4 and 18 in await known()
        monkeypatch.setattr("sandbox.workers.local.state_packs._UNUSED_SECONDS", 0.0)
        await worker.ping()
        assert await known() == []
        assert await value(worker, "len(data)", "s") == 2 << 20
        await worker.aclose()

    asyncio.run(main())


def test_the_memory_of_a_template_is_charged_to_whoever_starts_from_it(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        large, small, tiny = (
            msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=mb, wall_ms=20_000, cpu_ms=20_000) for mb in (64, 40, 8)
        )
        await worker.open(opening("maker", large))
        await value(worker, "data = bytearray(24 << 20); data[::4096] = b'x' * len(data[::4096])", "maker")
        pack = (await worker.freeze("maker")).pack
        for packs in ([pack], []):
            with pytest.raises(RequestError, match="more than the limit"):
                await worker.open(opening("a", tiny, template="big", packs=packs))
        await worker.open(opening("a", small, template="big"))
        assert await value(worker, "len(data)", "a") == 24 << 20
        assert code_of((await run(worker, "more = bytearray(32 << 20)", "a")).result) == "MEMORY_EXCEEDED"
        frozen = (await run(worker, "y = 5", "a", freeze=True)).frozen
        assert frozen is not None and frozen.free_bytes == 0
        await worker.open(opening("b", small, packs=[frozen.pack]))
        assert await value(worker, "y + len(data)", "b") == 5 + (24 << 20)

    play(scene)


def test_memory_that_was_free_before_a_pause_is_free_after_it(play: Play) -> None:
    async def scene(worker: Worker) -> None:
        large, small = (msgspec.structs.replace(DEFAULT_LIMITS, memory_mb=mb, wall_ms=20_000, cpu_ms=20_000) for mb in (64, 8))
        await worker.open(opening("maker", large))
        await value(worker, "data = bytearray(24 << 20); data[::4096] = b'x' * len(data[::4096])", "maker")
        pack = (await worker.freeze("maker")).pack
        with pytest.raises(RequestError):
            await worker.open(opening("b", small, packs=[pack]))
        await worker.open(opening("b", small, packs=[pack], free_bytes=40 << 20))
        assert await value(worker, "len(data)", "b") == 24 << 20
        await worker.fork("b", "c")
        assert await value(worker, "len(data)", "c") == 24 << 20
        assert code_of((await run(worker, "more = bytearray(64 << 20)", "c")).result) == "MEMORY_EXCEEDED"

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
