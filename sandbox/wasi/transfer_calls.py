"""The WASI calls that move bytes: `fd_read`, `fd_write` and their positioned forms.

Rules: arguments are Python ints that may be negative (wasm integers have no sign), so every address, length and offset is
masked. Nothing a guest chooses decides how much the host allocates or how long it is busy: iovecs are counted, and a call moves
a bounded piece (short reads and writes are legal, and programs go on). File data is checked against the quotas before it is
copied. A program makes these calls thousands of times, so they are kept flat.

A descriptor without the right to read or write answers EBADF, as POSIX does.
"""

from __future__ import annotations

from sandbox.engine.memory import MemoryFault
from sandbox.filesystem.descriptors import FILE, FOLDER, RIGHT_READ, RIGHT_WRITE, STREAM, Descriptor, DescriptorTable
from sandbox.filesystem.errnos import EBADF, EFAULT, EINVAL, EISDIR, ENOSPC, ESPIPE, SUCCESS, VfsError
from sandbox.filesystem.inodes import Device, File, MountedFile
from sandbox.filesystem.vfs import Vfs
from sandbox.wasi.abi import (
    CHUNK_BYTES_MAX,
    FLAG_APPEND,
    IOVEC,
    IOVECS_MAX,
    OFFSET_MAX,
    STREAM_BYTES_MAX,
    TRANSFER_BYTES_MAX,
    U32,
    U64,
    Host,
    Memory,
    answering,
)


class TransferCalls:
    """Reading and writing, over one guest's memory, descriptors and filesystem."""

    def __init__(self, memory: Memory, vfs: Vfs, table: DescriptorTable, host: Host) -> None:
        self.memory = memory
        self.vfs = vfs
        self.table = table
        self.host = host

    def fd_read(self, fd: int, iovs: int, iovs_len: int, nread: int) -> int:
        descriptor = self.table.entries.get(fd)
        if descriptor is None or not descriptor.rights & RIGHT_READ:
            return EBADF if descriptor is None or descriptor.kind != FOLDER else EISDIR
        try:
            offset = descriptor.offset
            count = self._read(descriptor, iovs & U32, iovs_len & U32, offset)
            self.memory.put_u32(nread & U32, count)
            descriptor.offset = offset + count
        except VfsError as error:
            return error.errno
        except MemoryFault:
            return EFAULT
        return SUCCESS

    @answering
    def fd_pread(self, fd: int, iovs: int, iovs_len: int, offset: int, nread: int) -> int:
        descriptor = self._find_positioned(fd, RIGHT_READ, offset)
        self.memory.put_u32(nread & U32, self._read(descriptor, iovs & U32, iovs_len & U32, offset & U64))
        return SUCCESS

    def fd_write(self, fd: int, iovs: int, iovs_len: int, nwritten: int) -> int:
        descriptor = self.table.entries.get(fd)
        if descriptor is None or not descriptor.rights & RIGHT_WRITE:
            return EBADF
        try:
            if descriptor.kind == STREAM:
                data = bytes(self._gather(iovs & U32, iovs_len & U32, STREAM_BYTES_MAX))
                # The guest learns the count first: a stream that raises stops the guest and must not be asked twice.
                self.memory.put_u32(nwritten & U32, len(data))
                (self.host.stderr if descriptor.stream == 2 else self.host.stdout)(data)
                return SUCCESS
            offset = descriptor.offset
            if descriptor.flags & FLAG_APPEND and descriptor.kind == FILE:
                offset = self.vfs.node(descriptor.ino).size()
            count = self._write(descriptor, iovs & U32, iovs_len & U32, offset)
            if count:
                descriptor.offset = offset + count
            self.memory.put_u32(nwritten & U32, count)
        except VfsError as error:
            return error.errno
        except MemoryFault:
            return EFAULT
        return SUCCESS

    @answering
    def fd_pwrite(self, fd: int, iovs: int, iovs_len: int, offset: int, nwritten: int) -> int:
        descriptor = self._find_positioned(fd, RIGHT_WRITE, offset)
        self.memory.put_u32(nwritten & U32, self._write(descriptor, iovs & U32, iovs_len & U32, offset & U64))
        return SUCCESS

    def _find_positioned(self, fd: int, right: int, offset: int) -> Descriptor:
        descriptor = self._descriptor(fd)
        if not descriptor.rights & right:
            raise VfsError(EISDIR if descriptor.kind == FOLDER and right == RIGHT_READ else EBADF)
        if descriptor.kind == STREAM:
            raise VfsError(ESPIPE)
        if offset & U64 > OFFSET_MAX:
            raise VfsError(EINVAL)
        return descriptor

    def _descriptor(self, fd: int) -> Descriptor:
        descriptor = self.table.entries.get(fd)
        if descriptor is None:
            raise VfsError(EBADF)
        return descriptor

    def _vectors(self, iovs: int, count: int, most: int) -> list[tuple[int, int]]:
        """The guest's buffers as (address, length), cut off after `most` bytes."""
        if count > IOVECS_MAX:
            raise VfsError(EINVAL)
        vectors = []
        for address, length in IOVEC.iter_unpack(self.memory.read(iovs, count * 8)):
            vectors.append((address, min(length, most)))
            most -= length
            if most <= 0:
                break
        return vectors

    def _read(self, descriptor: Descriptor, iovs: int, iovs_len: int, offset: int) -> int:
        """Fills the guest's buffers from a descriptor and tells how much it was."""
        memory = self.memory
        if descriptor.kind != FILE:
            vectors = self._vectors(iovs, iovs_len, CHUNK_BYTES_MAX)
            return self._scatter(vectors, self._read_endless(descriptor, sum(length for _, length in vectors)))
        if iovs_len == 1:
            pair = memory.u64(iovs)
            piece = self._read_file(descriptor.ino, offset, min(pair >> 32, TRANSFER_BYTES_MAX))
            memory.write(pair & U32, piece)
            return len(piece)
        vectors = self._vectors(iovs, iovs_len, TRANSFER_BYTES_MAX)
        return self._scatter(vectors, self._read_file(descriptor.ino, offset, sum(length for _, length in vectors)))

    def _read_file(self, ino: int, offset: int, length: int) -> bytes | bytearray | memoryview:
        node = self.vfs.nodes.get(ino)
        if isinstance(node, File):
            return node.data.read(offset, length)
        if isinstance(node, MountedFile):
            return node.data[offset : offset + length]
        raise VfsError(EBADF)

    def _scatter(self, vectors: list[tuple[int, int]], data: bytes | bytearray | memoryview) -> int:
        done = 0
        for address, length in vectors:
            piece = data[done : done + length]
            self.memory.write(address, piece)
            done += len(piece)
        return done

    def _read_endless(self, descriptor: Descriptor, wanted: int) -> bytes:
        if descriptor.kind == STREAM:
            return self.host.stdin_read(wanted)[:wanted] if wanted else b""
        node = self.vfs.node(descriptor.ino)
        device = node.device if isinstance(node, Device) else ""
        if device == "random":
            return self.host.random(wanted)
        return bytes(wanted) if device in ("zero", "full") else b""

    def _gather(self, iovs: int, iovs_len: int, most: int) -> bytes | memoryview:
        """What the guest wants to write, or the beginning of it."""
        memory = self.memory
        if iovs_len == 1:
            pair = memory.u64(iovs)
            return memory.view(pair & U32, min(pair >> 32, most))
        return b"".join([memory.view(*vector) for vector in self._vectors(iovs, iovs_len, most)])

    def _write(self, descriptor: Descriptor, iovs: int, iovs_len: int, offset: int) -> int:
        """Writes the guest's buffers into a file or device and tells how much it was."""
        data = self._gather(iovs, iovs_len, TRANSFER_BYTES_MAX)
        if descriptor.kind == FILE:
            return self.vfs.write(descriptor.ino, offset, data)
        node = self.vfs.node(descriptor.ino)
        if data and isinstance(node, Device) and node.device == "full":
            raise VfsError(ENOSPC)
        return len(data)
