"""A file's bytes, in blocks.

Theory: a file is a list of blocks, all full but the last. Clones share blocks; a block is copied when it is first written by a
clone that does not own it. So a write costs what it touches, however large the file and however many checkpoints hold it, and a
hole is one block of zeros, shared.

INVARIANT: every block but the last has `BLOCK_BYTES` bytes, and together they have `size`.
INVARIANT: a block whose index is in `_owned` is a `bytearray` that no other `Contents` refers to; no other block is ever changed.

Knows no quotas: the caller has checked sizes. Offsets and sizes are never negative.
"""

from __future__ import annotations

from typing import Final

BLOCK_BITS: Final = 17
BLOCK_BYTES: Final = 1 << BLOCK_BITS
_MASK: Final = BLOCK_BYTES - 1
_ZEROS: Final = bytes(BLOCK_BYTES)


class Contents:
    """Bytes that can be read and written anywhere, resized, and cloned for almost nothing."""

    __slots__ = ("_owned", "blocks", "size")

    def __init__(self, data: bytes = b"") -> None:
        self.size = len(data)
        self.blocks: list[bytes | bytearray] = [data[start : start + BLOCK_BYTES] for start in range(0, len(data), BLOCK_BYTES)]
        self._owned: set[int] = set()

    def clone(self) -> Contents:
        other = Contents()
        other.size = self.size
        other.blocks = self.blocks.copy()
        return other

    def __len__(self) -> int:
        return self.size

    def __bytes__(self) -> bytes:
        return b"".join(self.blocks)

    def read(self, offset: int, length: int) -> bytes | bytearray:
        """The bytes there are between `offset` and `offset + length`."""
        end = min(offset + length, self.size)
        if offset >= end:
            return b""
        first, last = offset >> BLOCK_BITS, (end - 1) >> BLOCK_BITS
        if first == last:
            return self.blocks[first][offset & _MASK : end - (first << BLOCK_BITS)]
        pieces = self.blocks[first : last + 1]
        pieces[0] = pieces[0][offset & _MASK :]
        pieces[-1] = pieces[-1][: end - (last << BLOCK_BITS)]
        return b"".join(pieces)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Puts `data` at `offset`, after a hole of zeros if that lies behind the end."""
        if offset > self.size:
            self.resize(offset)
        position, end = 0, len(data)
        while position < end:
            index, start = offset >> BLOCK_BITS, offset & _MASK
            count = min(end - position, BLOCK_BYTES - start)
            if index == len(self.blocks):
                self.blocks.append(b"")
            block = self._own_block(index)
            piece = data if count == end else data[position : position + count]
            if start == len(block):
                block += piece
            elif start + count <= len(block):
                with memoryview(block) as existing:
                    existing[start : start + count] = piece
            else:
                block[start:] = piece
            position += count
            offset += count
        self.size = max(self.size, offset)

    def resize(self, size: int) -> None:
        """Cuts off what lies behind `size`, or fills up with zeros."""
        blocks = self.blocks
        full, rest = size >> BLOCK_BITS, size & _MASK
        if size < self.size:
            keep = full + (rest > 0)
            del blocks[keep:]
            self._owned = {index for index in self._owned if index < keep}
            if rest and rest < len(blocks[-1]):
                del self._own_block(keep - 1)[rest:]
        elif size > self.size:
            if blocks and len(blocks[-1]) < BLOCK_BYTES:
                last = len(blocks) - 1
                length = BLOCK_BYTES if last < full else rest
                block = self._own_block(last)
                block += _ZEROS[: length - len(block)]
            blocks.extend([_ZEROS] * (full - len(blocks)))
            if len(blocks) == full and rest:
                blocks.append(_ZEROS[:rest])
        self.size = size

    def _own_block(self, index: int) -> bytearray:
        """The block, ready to be changed in place."""
        block = self.blocks[index]
        if index in self._owned:
            assert isinstance(block, bytearray)
            return block
        copied = self.blocks[index] = bytearray(block)
        self._owned.add(index)
        return copied
