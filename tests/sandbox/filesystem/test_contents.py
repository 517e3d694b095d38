"""A file's bytes in blocks, against a plain bytearray."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.filesystem.contents import BLOCK_BYTES, Contents

# Around the edges of the first three blocks, where mistakes live.
PLACES = st.builds(lambda block, delta: max(0, block * BLOCK_BYTES + delta), st.integers(0, 3), st.integers(-3, 3))
LENGTHS = st.one_of(st.integers(0, 5), PLACES)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), PLACES, LENGTHS),
        st.tuples(st.just("resize"), PLACES, st.just(0)),
        st.tuples(st.just("clone"), st.just(0), st.just(0)),
    ),
    max_size=8,
)


def check(contents: Contents, model: bytes | bytearray) -> None:
    assert len(contents) == len(model) and bytes(contents) == model
    assert all(len(block) == BLOCK_BYTES for block in contents.blocks[:-1])
    assert not contents.blocks or contents.blocks[-1]


@settings(max_examples=150)
@given(LENGTHS, STEPS, PLACES, LENGTHS)
def test_blocks_behave_like_one_array_and_clones_never_meet(
    size: int, steps: list[tuple[str, int, int]], offset: int, length: int
) -> None:
    start = b"s" * size
    contents, model = Contents(start), bytearray(start)
    past: list[tuple[Contents, bytes]] = []
    for number, (step, place, count) in enumerate(steps):
        if step == "write":
            data = bytes([number + 1]) * count
            contents.write(place, data)
            if count or place > len(model):
                model.extend(bytes(max(0, place - len(model))))
                model[place : place + count] = data
        elif step == "resize":
            contents.resize(place)
            del model[place:]
            model.extend(bytes(place - len(model)))
        else:
            past.append((contents, bytes(model)))
            contents = contents.clone()
        check(contents, model)
        assert contents.read(offset, length) == model[offset : offset + length]
    for old, picture in past:
        check(old, picture)


def test_a_hole_costs_nothing() -> None:
    contents = Contents()
    contents.resize(64 << 20)
    assert len({id(block) for block in contents.blocks}) == 1


def test_a_write_copies_only_the_block_it_touches() -> None:
    original = Contents(b"x" * (10 * BLOCK_BYTES))
    clone = original.clone()
    clone.write(3 * BLOCK_BYTES + 5, memoryview(b"changed"))
    different = [index for index, (old, new) in enumerate(zip(original.blocks, clone.blocks, strict=True)) if old is not new]
    assert different == [3]
    assert original.read(3 * BLOCK_BYTES, 20) == b"x" * 20
