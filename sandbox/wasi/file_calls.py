"""The WASI calls on open descriptors, except those that move bytes: positions, sizes, times, flags, rights, directory listings.

Rules: every address, length and offset is masked. Reading or writing without the right answers EBADF, as POSIX does; any other
missing right ENOTCAPABLE. A listing is taken when a directory is read from its beginning, so that positions stay valid while it
changes.
"""

from __future__ import annotations

from sandbox.engine.memory import MemoryFault
from sandbox.filesystem.descriptors import (
    DEVICE,
    FILE,
    FOLDER,
    RIGHT_ALLOCATE,
    RIGHT_FILESTAT_SET_SIZE,
    RIGHT_READDIR,
    RIGHT_SEEK,
    STREAM,
    Descriptor,
)
from sandbox.filesystem.errnos import EBADF, EFAULT, EINVAL, ENAMETOOLONG, ENOTCAPABLE, ENOTDIR, ESPIPE, SUCCESS, VfsError
from sandbox.filesystem.inodes import DIRECTORY, Directory, Node
from sandbox.wasi.abi import (
    DIRENT,
    FDSTAT,
    FILESTAT,
    FLAGS_ALL,
    OFFSET_MAX,
    SET_ATIME,
    SET_ATIME_NOW,
    SET_MTIME,
    SET_MTIME_NOW,
    U32,
    U64,
    answering,
)
from sandbox.wasi.transfer_calls import TransferCalls

_UNKNOWN_TYPE = 0
_FOLDER_BYTES = 4096


class FileCalls(TransferCalls):
    """`fd_*` over the same guest."""

    def fd_seek(self, fd: int, offset: int, whence: int, out: int) -> int:
        descriptor = self.table.entries.get(fd)
        if descriptor is None:
            return EBADF
        if not descriptor.rights & RIGHT_SEEK:
            return ESPIPE if descriptor.kind == STREAM else EBADF if descriptor.kind == FOLDER else ENOTCAPABLE
        try:
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
        except VfsError as error:
            return error.errno
        except MemoryFault:
            return EFAULT
        return SUCCESS

    def fd_tell(self, fd: int, out: int) -> int:
        return self.fd_seek(fd, 0, 1, out)

    @answering
    def fd_close(self, fd: int) -> int:
        self.table.close(self.vfs, fd)
        return SUCCESS

    @answering
    def fd_renumber(self, fd: int, to: int) -> int:
        self.table.renumber(self.vfs, fd, to)
        return SUCCESS

    @answering
    def fd_fdstat_get(self, fd: int, out: int) -> int:
        descriptor = self._descriptor(fd)
        kind = self.vfs.node(descriptor.ino).kind if descriptor.ino else _UNKNOWN_TYPE
        self.memory.write(out & U32, FDSTAT.pack(kind, descriptor.flags, descriptor.rights, descriptor.inheriting))
        return SUCCESS

    @answering
    def fd_fdstat_set_flags(self, fd: int, flags: int) -> int:
        descriptor = self._descriptor(fd)
        if flags & ~FLAGS_ALL:
            return EINVAL
        descriptor.flags = flags
        return SUCCESS

    @answering
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
        packed = FILESTAT.pack(1, ino, node.kind, node.nlink, size, node.atime_ns, node.mtime_ns, node.ctime_ns)
        self.memory.write(out & U32, packed)

    @answering
    def fd_filestat_get(self, fd: int, out: int) -> int:
        descriptor = self._descriptor(fd)
        if descriptor.ino:
            self.put_filestat(out, descriptor.ino, self.vfs.node(descriptor.ino))
        else:
            self.memory.write(out & U32, FILESTAT.pack(0, descriptor.stream, _UNKNOWN_TYPE, 1, 0, 0, 0, 0))
        return SUCCESS

    @answering
    def fd_filestat_set_size(self, fd: int, size: int) -> int:
        descriptor = self._descriptor(fd)
        if descriptor.kind != FILE or not descriptor.rights & RIGHT_FILESTAT_SET_SIZE:
            return EINVAL if descriptor.kind != FOLDER else EBADF
        if size & U64 > OFFSET_MAX:
            return EINVAL
        self.vfs.truncate(descriptor.ino, size & U64)
        return SUCCESS

    @answering
    def fd_allocate(self, fd: int, offset: int, length: int) -> int:
        descriptor = self._descriptor(fd)
        if descriptor.kind != FILE:
            return ESPIPE if descriptor.kind == STREAM else EBADF
        if not descriptor.rights & RIGHT_ALLOCATE:
            return EBADF
        offset, length = offset & U64, length & U64
        if length == 0 or offset > OFFSET_MAX or length > OFFSET_MAX:
            return EINVAL
        if offset + length > self.vfs.node(descriptor.ino).size():
            self.vfs.truncate(descriptor.ino, offset + length)
        return SUCCESS

    def chosen_times(self, atime_ns: int, mtime_ns: int, flags: int) -> tuple[int | None, int | None]:
        """The times to set; None leaves one as it is."""
        if flags & ~15 or flags & 3 == 3 or flags & 12 == 12:
            raise VfsError(EINVAL)
        now = self.vfs.clock() if flags & (SET_ATIME_NOW | SET_MTIME_NOW) else 0
        atime = atime_ns & U64 if flags & SET_ATIME else now if flags & SET_ATIME_NOW else None
        mtime = mtime_ns & U64 if flags & SET_MTIME else now if flags & SET_MTIME_NOW else None
        return atime, mtime

    @answering
    def fd_filestat_set_times(self, fd: int, atime_ns: int, mtime_ns: int, flags: int) -> int:
        descriptor = self._descriptor(fd)
        times = self.chosen_times(atime_ns, mtime_ns, flags)
        if descriptor.ino:
            self.vfs.set_times(descriptor.ino, *times)
        return SUCCESS

    @answering
    def fd_advise(self, fd: int, offset: int, length: int, advice: int) -> int:
        descriptor = self._descriptor(fd)
        if descriptor.kind == STREAM:
            return ESPIPE
        if descriptor.kind == FOLDER:
            return EBADF
        return SUCCESS if 0 <= advice <= 5 and offset >= 0 and length >= 0 else EINVAL

    @answering
    def fd_sync(self, fd: int) -> int:
        self._descriptor(fd)
        return SUCCESS

    @answering
    def fd_datasync(self, fd: int) -> int:
        self._descriptor(fd)
        return SUCCESS

    @answering
    def fd_prestat_get(self, fd: int, out: int) -> int:
        name = self._descriptor(fd).preopen
        if name is None:
            return EBADF
        self.memory.put_u64(out & U32, len(name.encode("utf-8")) << 32)
        return SUCCESS

    @answering
    def fd_prestat_dir_name(self, fd: int, out: int, length: int) -> int:
        name = self._descriptor(fd).preopen
        if name is None:
            return EBADF
        encoded = name.encode("utf-8")
        if len(encoded) > length & U32:
            return ENAMETOOLONG
        self.memory.write(out & U32, encoded)
        return SUCCESS

    @answering
    def fd_readdir(self, fd: int, out: int, length: int, cookie: int, used: int) -> int:
        descriptor = self._descriptor(fd)
        if descriptor.kind != FOLDER:
            return ENOTDIR
        if not descriptor.rights & RIGHT_READDIR:
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
