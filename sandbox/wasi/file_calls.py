"""The WASI calls on open descriptors: `fd_*`.

Rules: arguments are Python ints that may be negative (wasm integers have no sign), so every address, length and offset is
masked. Nothing a guest chooses decides how much the host allocates or how long it is busy: iovecs are counted, and a call moves
a bounded piece (short reads and writes are legal, and programs go on). File data is checked against the quotas before it is
copied. Reading or writing without the right answers EBADF, as POSIX does; any other missing right ENOTCAPABLE. A listing is
taken when a directory is read from its beginning, so that positions stay valid while it changes. A read into the first bytes of
the memory, where no program has anything, is how the Python guest's SQLite asks for a lock (wasm_modules/ABI.md).
"""

from __future__ import annotations

from sandbox.filesystem.descriptors import (
    DEVICE,
    FILE,
    FOLDER,
    STREAM,
    Descriptor,
    DescriptorTable,
    Right,
)
from sandbox.filesystem.errnos import (
    EAGAIN,
    EBADF,
    EINVAL,
    EISDIR,
    ENAMETOOLONG,
    ENOSPC,
    ENOTCAPABLE,
    ENOTDIR,
    ESPIPE,
    SUCCESS,
    VfsError,
)
from sandbox.filesystem.file_locks import EXCLUSIVE, FREE, SHARED, FileLock
from sandbox.filesystem.inodes import DIRECTORY, Device, Directory, File, MountedFile, Node
from sandbox.filesystem.vfs import Vfs
from sandbox.wasi.abi import (
    CHUNK_BYTES_MAX,
    DIRENT,
    FDSTAT,
    FILESTAT,
    FLAG_APPEND,
    FLAGS_ALL,
    FLOCK,
    IOVEC,
    IOVECS_MAX,
    LOCK_COMMANDS,
    LOCK_COMMANDS_END,
    OFFSET_MAX,
    SET_ATIME,
    SET_ATIME_NOW,
    SET_MTIME,
    SET_MTIME_NOW,
    STREAM_BYTES_MAX,
    TRANSFER_BYTES_MAX,
    U32,
    U64,
    Host,
    Memory,
    answer_errors,
)

_UNKNOWN_TYPE = 0
_FOLDER_BYTES = 4096
_DEVICE = 1
_MODE_SHIFT = 32
_STREAM_DEVICE = 0o620 << _MODE_SHIFT


class FileCalls:
    """`fd_*` over one guest's memory, descriptors and filesystem."""

    def __init__(self, memory: Memory, vfs: Vfs, table: DescriptorTable, host: Host) -> None:
        self.memory = memory
        self.vfs = vfs
        self.table = table
        self.host = host

    @answer_errors
    def fd_read(self, fd: int, iovs: int, iovs_len: int, nread: int) -> int:
        descriptor = self.table.entries.get(fd)
        if descriptor is None or not descriptor.rights & Right.READ:
            return EBADF if descriptor is None or descriptor.kind != FOLDER else EISDIR
        offset = descriptor.offset
        count = self._read(descriptor, iovs & U32, iovs_len & U32, offset)
        self.memory.put_u32(nread & U32, count)
        descriptor.offset = offset + count
        return SUCCESS

    @answer_errors
    def fd_pread(self, fd: int, iovs: int, iovs_len: int, offset: int, nread: int) -> int:
        descriptor = self._find_positioned(fd, Right.READ, offset)
        self.memory.put_u32(nread & U32, self._read(descriptor, iovs & U32, iovs_len & U32, offset & U64))
        return SUCCESS

    @answer_errors
    def fd_write(self, fd: int, iovs: int, iovs_len: int, nwritten: int) -> int:
        descriptor = self.table.entries.get(fd)
        if descriptor is None or not descriptor.rights & Right.WRITE:
            return EBADF
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
        return SUCCESS

    @answer_errors
    def fd_pwrite(self, fd: int, iovs: int, iovs_len: int, offset: int, nwritten: int) -> int:
        descriptor = self._find_positioned(fd, Right.WRITE, offset)
        self.memory.put_u32(nwritten & U32, self._write(descriptor, iovs & U32, iovs_len & U32, offset & U64))
        return SUCCESS

    @answer_errors
    def fd_seek(self, fd: int, offset: int, whence: int, out: int) -> int:
        descriptor = self._descriptor(fd)
        if not descriptor.rights & (Right.SEEK | Right.TELL if whence == 1 and offset == 0 else Right.SEEK):
            return ESPIPE if descriptor.kind == STREAM else EBADF if descriptor.kind == FOLDER else ENOTCAPABLE
        if descriptor.kind == DEVICE:
            base = offset = 0
        elif whence == 0:
            base = 0
        elif whence == 1:
            base = descriptor.offset
        elif whence == 2:
            base = self.vfs.node(descriptor.ino).size()
        else:
            return EINVAL
        target = base + offset
        if not 0 <= target <= OFFSET_MAX:
            return EINVAL
        self.memory.put_u64(out & U32, target)
        descriptor.offset = target
        return SUCCESS

    def fd_tell(self, fd: int, out: int) -> int:
        return self.fd_seek(fd, 0, 1, out)

    @answer_errors
    def fd_close(self, fd: int) -> int:
        self.table.close(self.vfs, fd)
        return SUCCESS

    @answer_errors
    def fd_renumber(self, fd: int, to: int) -> int:
        self.table.renumber(self.vfs, fd, to)
        return SUCCESS

    @answer_errors
    def fd_fdstat_get(self, fd: int, out: int) -> int:
        descriptor = self._descriptor(fd)
        kind = self.vfs.node(descriptor.ino).kind if descriptor.ino else _UNKNOWN_TYPE
        self.memory.write(out & U32, FDSTAT.pack(kind, descriptor.flags, descriptor.rights, descriptor.inheriting))
        return SUCCESS

    @answer_errors
    def fd_fdstat_set_flags(self, fd: int, flags: int) -> int:
        descriptor = self._descriptor(fd, Right.SET_FLAGS)
        if flags & ~FLAGS_ALL:
            return EINVAL
        descriptor.flags = flags
        return SUCCESS

    @answer_errors
    def fd_fdstat_set_rights(self, fd: int, base: int, inheriting: int) -> int:
        descriptor = self._descriptor(fd)
        base, inheriting = base & U64, inheriting & U64
        if base & ~descriptor.rights or inheriting & ~descriptor.inheriting:
            return ENOTCAPABLE
        descriptor.rights, descriptor.inheriting = base, inheriting
        return SUCCESS

    def put_filestat(self, out: int, ino: int, node: Node) -> None:
        # Programs take a directory of size 0 for an odd one (`test -s .`); it is not charged for what it shows here.
        size = _FOLDER_BYTES if node.kind == DIRECTORY else node.size()
        # Preview 1 has no permissions: they travel in the upper half of the device's number (ABI.md).
        device = _DEVICE | node.mode << _MODE_SHIFT
        packed = FILESTAT.pack(device, ino, node.kind, node.nlink, size, node.atime_ns, node.mtime_ns, node.ctime_ns)
        self.memory.write(out & U32, packed)

    @answer_errors
    def fd_filestat_get(self, fd: int, out: int) -> int:
        descriptor = self._descriptor(fd, Right.FILESTAT_GET)
        if descriptor.ino:
            self.put_filestat(out, descriptor.ino, self.vfs.node(descriptor.ino))
        else:
            self.memory.write(out & U32, FILESTAT.pack(_STREAM_DEVICE, descriptor.stream, _UNKNOWN_TYPE, 1, 0, 0, 0, 0))
        return SUCCESS

    @answer_errors
    def fd_filestat_set_size(self, fd: int, size: int) -> int:
        descriptor = self._descriptor(fd)
        if descriptor.kind != FILE or not descriptor.rights & Right.SET_SIZE:
            return EINVAL if descriptor.kind != FOLDER else EBADF
        if size & U64 > OFFSET_MAX:
            return EINVAL
        self.vfs.truncate(descriptor.ino, size & U64)
        return SUCCESS

    @answer_errors
    def fd_allocate(self, fd: int, offset: int, length: int) -> int:
        descriptor = self._descriptor(fd)
        if descriptor.kind != FILE:
            return ESPIPE if descriptor.kind == STREAM else EBADF
        if not descriptor.rights & Right.ALLOCATE:
            return EBADF
        offset, length = offset & U64, length & U64
        if length == 0 or offset > OFFSET_MAX or length > OFFSET_MAX:
            return EINVAL
        if offset + length > self.vfs.node(descriptor.ino).size():
            self.vfs.truncate(descriptor.ino, offset + length)
        return SUCCESS

    def choose_times(self, atime_ns: int, mtime_ns: int, flags: int) -> tuple[int | None, int | None]:
        """The times to set; None leaves one as it is."""
        if flags & ~15 or flags & 3 == 3 or flags & 12 == 12:
            raise VfsError(EINVAL)
        now = self.vfs.clock() if flags & (SET_ATIME_NOW | SET_MTIME_NOW) else 0
        atime = atime_ns & U64 if flags & SET_ATIME else now if flags & SET_ATIME_NOW else None
        mtime = mtime_ns & U64 if flags & SET_MTIME else now if flags & SET_MTIME_NOW else None
        return atime, mtime

    @answer_errors
    def fd_filestat_set_times(self, fd: int, atime_ns: int, mtime_ns: int, flags: int) -> int:
        descriptor = self._descriptor(fd, Right.SET_TIMES)
        times = self.choose_times(atime_ns, mtime_ns, flags)
        if descriptor.ino:
            self.vfs.set_times(descriptor.ino, *times)
        return SUCCESS

    @answer_errors
    def fd_advise(self, fd: int, offset: int, length: int, advice: int) -> int:
        descriptor = self._descriptor(fd, Right.ADVISE)
        if descriptor.kind == STREAM:
            return ESPIPE
        if descriptor.kind == FOLDER:
            return EBADF
        return SUCCESS if 0 <= advice <= 5 and offset >= 0 and length >= 0 else EINVAL

    @answer_errors
    def fd_sync(self, fd: int) -> int:
        self._descriptor(fd, Right.SYNC)
        return SUCCESS

    @answer_errors
    def fd_datasync(self, fd: int) -> int:
        self._descriptor(fd, Right.DATASYNC)
        return SUCCESS

    @answer_errors
    def fd_prestat_get(self, fd: int, out: int) -> int:
        name = self._descriptor(fd).preopen
        if name is None:
            return EBADF
        self.memory.put_u64(out & U32, len(name.encode("utf-8")) << 32)
        return SUCCESS

    @answer_errors
    def fd_prestat_dir_name(self, fd: int, out: int, length: int) -> int:
        name = self._descriptor(fd).preopen
        if name is None:
            return EBADF
        encoded = name.encode("utf-8")
        if len(encoded) > length & U32:
            return ENAMETOOLONG
        self.memory.write(out & U32, encoded)
        return SUCCESS

    @answer_errors
    def fd_readdir(self, fd: int, out: int, length: int, cookie: int, used: int) -> int:
        descriptor = self._descriptor(fd)
        if descriptor.kind != FOLDER:
            return ENOTDIR
        if not descriptor.rights & Right.READDIR:
            return ENOTCAPABLE
        self.vfs.arrive()
        node = self.vfs.node(descriptor.ino)
        assert isinstance(node, Directory)
        cookie, length = cookie & U64, length & U32
        if cookie == 0 or not descriptor.listing:
            descriptor.listing = (".", "..", *node.entries)
        packed = self._list(descriptor, node, cookie, length)
        self.memory.write(out & U32, packed)
        self.memory.put_u32(used & U32, len(packed))
        return SUCCESS

    def _list(self, descriptor: Descriptor, node: Directory, cookie: int, length: int) -> bytes:
        """Directory entries from position `cookie`; a buffer that is not filled means the end, so the last may be cut short."""
        nodes = self.vfs.nodes
        packed = bytearray()
        for position in range(min(cookie, len(descriptor.listing)), len(descriptor.listing)):
            name = descriptor.listing[position]
            ino = descriptor.ino if name == "." else node.parent if name == ".." else node.entries.get(name)
            child = nodes.get(ino) if ino is not None else None
            if ino is None or child is None:
                continue
            encoded = name.encode("utf-8")
            packed += DIRENT.pack(position + 1, ino, len(encoded), child.kind)
            packed += encoded
            if len(packed) >= length:
                break
        return bytes(packed[:length])

    def _find_positioned(self, fd: int, right: int, offset: int) -> Descriptor:
        descriptor = self._descriptor(fd)
        if not descriptor.rights & right:
            raise VfsError(EISDIR if descriptor.kind == FOLDER and right == Right.READ else EBADF)
        if descriptor.kind == STREAM:
            raise VfsError(ESPIPE)
        if offset & U64 > OFFSET_MAX:
            raise VfsError(EINVAL)
        return descriptor

    def _descriptor(self, fd: int, right: int = 0) -> Descriptor:
        """THREAT[TM-ISO-RIGHTS]: every call names the right that it needs, here or where the errno is POSIX's."""
        descriptor = self.table.entries.get(fd)
        if descriptor is None:
            raise VfsError(EBADF)
        if right & ~descriptor.rights:
            raise VfsError(ENOTCAPABLE)
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
            if pair & U32 < LOCK_COMMANDS_END:
                return self._lock(descriptor.ino, pair & U32, pair >> 32)
            piece = self._read_file(descriptor.ino, offset, min(pair >> 32, TRANSFER_BYTES_MAX))
            memory.write(pair & U32, piece)
            return len(piece)
        vectors = self._vectors(iovs, iovs_len, TRANSFER_BYTES_MAX)
        return self._scatter(vectors, self._read_file(descriptor.ino, offset, sum(length for _, length in vectors)))

    def _lock(self, ino: int, command: int, arguments: int) -> int:
        """`fcntl` with a command for locks and where its arguments are; of others there is nothing to do."""
        memory, locks = self.memory, self.table.locks
        if command not in LOCK_COMMANDS:
            return 0
        place = memory.u32(arguments)
        kind, start, length = FLOCK.unpack(memory.read(place, FLOCK.size))
        if kind not in (SHARED, EXCLUSIVE, FREE) or start < 0 or length < 0:
            raise VfsError(EINVAL)
        wanted = FileLock(kind, start, start + (length or OFFSET_MAX))
        found = None if kind == FREE else locks.find_excluding(ino, wanted)
        if command == LOCK_COMMANDS[0]:
            memory.write(place, FLOCK.pack(FREE if found is None else found.kind, start, length))
        elif found is not None:
            raise VfsError(EAGAIN)
        else:
            locks.put(ino, wanted)
        return 0

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
