"""Frames: what was compressed comes back, all of it or the parts one asks for, and nothing else is touched."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.encoding.compression import FRAME_BYTES, HERE_BYTES_MAX, Frames, Unpacked, decompress
from sandbox.errors import RequestError

LARGE = 3 * FRAME_BYTES + 1234
DATA = random.Random(7).randbytes(LARGE // 2) + bytes(LARGE - LARGE // 2)


def compressed(data: bytes) -> list[bytes]:
    frames = Frames()
    for start in range(0, len(data), 100_000):
        frames.put([data[start : start + 100_000]])
    return frames.finish().results()


LARGE_FRAMES = compressed(DATA)


def opened() -> Unpacked:
    return decompress(LARGE_FRAMES, LARGE)


def test_all_of_it_comes_back_however_much_it_is() -> None:
    assert len(LARGE_FRAMES) > 2
    assert opened().whole == DATA
    for size in (0, 1, HERE_BYTES_MAX - 1, HERE_BYTES_MAX, FRAME_BYTES):
        assert decompress(compressed(DATA[:size]), size).whole == DATA[:size]


@given(st.lists(st.tuples(st.integers(0, FRAME_BYTES * 2), st.integers(0, FRAME_BYTES * 2)), max_size=6), st.randoms())
def test_parts_go_to_their_places_across_frames_and_over_gaps(parts: list[tuple[int, int]], chance: random.Random) -> None:
    spans, at = [], 0
    for gap, length in parts:
        start = min(LARGE, at + gap)
        at = min(LARGE, start + length)
        spans.append((start, at - start))
    chance.shuffle(order := list(range(len(spans))))
    expected, placed, address = bytearray(b"?" * 3 * LARGE), {}, 0
    for index in order:
        start, length = spans[index]
        address += 7
        placed[index] = (address, start, length)
        expected[address : address + length] = DATA[start : start + length]
        address += length
    target = bytearray(b"?" * 3 * LARGE)
    opened().put([placed[index] for index in range(len(spans))], memoryview(target))()
    assert target == expected


def test_data_of_another_size_is_not_opened() -> None:
    for size in (LARGE - 1, LARGE + 1, 0):
        with pytest.raises(RequestError, match="wrong size"):
            decompress(LARGE_FRAMES, size)


@pytest.mark.parametrize("size", [1000, FRAME_BYTES])
def test_frame_that_is_cut_off_is_told_when_the_places_are_filled(size: int) -> None:
    (frame,) = compressed(DATA[:size])
    finish = decompress([frame[:-1]], size).put([(0, 0, size)], memoryview(bytearray(size)))
    with pytest.raises(RequestError) as refused:
        finish()
    assert refused.value.error.code == "SNAPSHOT_CORRUPT"
