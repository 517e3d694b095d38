"""The WASI calls on paths: `path_*`.

Rules: a path is relative to an open directory; an absolute one starts at the filesystem's root, and `..` may leave the
directory, because the boundary is the filesystem itself and everything in it is the session's own. Lengths are checked before a
byte is read. All decisions about names are the filesystem's; this file only translates arguments and flags.
"""

from __future__ import annotations

from sandbox.filesystem.descriptors import (
    DESCRIPTORS_MAX,
    DEVICE,
    FILE,
    FOLDER,
    RIGHTS_FILE,
    RIGHTS_FOLDER,
    Descriptor,
    Right,
    stream,
)
from sandbox.filesystem.errnos import (
    EBADF,
    EEXIST,
    EINVAL,
    EISDIR,
    ELOOP,
    EMFILE,
    ENAMETOOLONG,
    ENOTCAPABLE,
    ENOTDIR,
    SUCCESS,
    VfsError,
)
from sandbox.filesystem.inodes import Device, Directory, File, Node, Symlink
from sandbox.filesystem.lookup import ROOT
from sandbox.filesystem.paths import PATH_BYTES_MAX, decode_path
from sandbox.wasi.abi import (
    FLAGS_ALL,
    LOOKUP_FOLLOW,
    OPEN_CREATE,
    OPEN_DIRECTORY,
    OPEN_EXCLUSIVE,
    OPEN_TRUNCATE,
    U32,
    answer_errors,
)
from sandbox.wasi.file_calls import FileCalls

_STREAM_NUMBERS = {"stdin": 0, "stdout": 1, "stderr": 2}


class PathCalls(FileCalls):
    """`path_*` over the same guest."""

    def _folder(self, fd: int, right: int) -> int:
        """The directory that a path starts from, for a call that needs `right` there."""
        descriptor = self.table.entries.get(fd)
        if descriptor is None or descriptor.kind != FOLDER:
            raise VfsError(EBADF if descriptor is None else ENOTDIR)
        if right & ~descriptor.rights:
            raise VfsError(ENOTCAPABLE)
        return descriptor.ino

    def _path(self, address: int, length: int) -> str:
        length &= U32
        if length > PATH_BYTES_MAX:
            raise VfsError(ENAMETOOLONG)
        return decode_path(self.memory.read(address & U32, length))

    @answer_errors
    def path_filestat_get(self, fd: int, flags: int, path: int, path_len: int, out: int) -> int:
        start = self._folder(fd, Right.PATH_FILESTAT_GET)
        ino = self.vfs.lookup(start, self._path(path, path_len), bool(flags & LOOKUP_FOLLOW))
        self.put_filestat(out, ino, self.vfs.nodes[ino])
        return SUCCESS

    @answer_errors
    def path_filestat_set_times(
        self, fd: int, flags: int, path: int, path_len: int, atime_ns: int, mtime_ns: int, which: int
    ) -> int:
        start = self._folder(fd, Right.PATH_SET_TIMES)
        ino = self.vfs.lookup(start, self._path(path, path_len), bool(flags & LOOKUP_FOLLOW))
        self.vfs.set_times(ino, *self.choose_times(atime_ns, mtime_ns, which))
        return SUCCESS

    @answer_errors
    def path_open(
        self,
        fd: int,
        dirflags: int,
        path: int,
        path_len: int,
        oflags: int,
        rights: int,
        inheriting: int,
        flags: int,
        out: int,
    ) -> int:
        self.memory.view(out & U32, 4)
        needed = Right.CREATE_FILE * bool(oflags & OPEN_CREATE) | Right.PATH_SET_SIZE * bool(oflags & OPEN_TRUNCATE)
        start = self._folder(fd, Right.OPEN | needed)
        allowed = self.table.entries[fd].inheriting
        if rights & (Right.READ | Right.WRITE) & ~allowed:
            return ENOTCAPABLE
        name = self._path(path, path_len)
        if len(self.table.entries) >= DESCRIPTORS_MAX:
            return EMFILE
        if flags & ~FLAGS_ALL or oflags & ~15:
            return EINVAL
        ino = self._find_or_create(start, name, bool(dirflags & LOOKUP_FOLLOW), oflags, rights)
        opened = self._describe(ino, self.vfs.nodes[ino], flags)
        # C libraries ask for the right to sync data only with that to write, and POSIX needs none.
        opened.rights &= (rights | (Right.DATASYNC if rights & Right.SYNC else 0)) & allowed
        opened.inheriting = inheriting & allowed if opened.kind == FOLDER else 0
        self.memory.put_u32(out & U32, self.table.install(self.vfs, opened))
        return SUCCESS

    def _find_or_create(self, start: int, name: str, follow: bool, oflags: int, rights: int) -> int:
        vfs, writing = self.vfs, rights & Right.WRITE
        if oflags & OPEN_CREATE:
            if oflags & OPEN_DIRECTORY:
                raise VfsError(EINVAL, name)
            place = vfs.locate(start, name, follow and not oflags & OPEN_EXCLUSIVE, creating=True)
            if place.slash and place.name not in ("", ".", ".."):
                raise VfsError(EISDIR, name)
            if not place.ino:
                return vfs.create_file(place, name, 0o666 & ~self.table.umask)
            if oflags & OPEN_EXCLUSIVE:
                raise VfsError(EEXIST, name)
            ino = place.ino
        else:
            ino = vfs.lookup(start, name, follow)
        node = vfs.nodes[ino]
        if isinstance(node, Symlink):
            raise VfsError(ELOOP, name)
        if oflags & OPEN_DIRECTORY and not isinstance(node, Directory):
            raise VfsError(ENOTDIR, name)
        if rights & (Right.READDIR if isinstance(node, Directory) else Right.READ):
            vfs.check_readable(ino, name)
        if oflags & OPEN_DIRECTORY:
            if writing:
                raise VfsError(EISDIR, name)
            return ino
        if isinstance(node, Directory) and oflags & OPEN_CREATE:
            raise VfsError(EISDIR, name)
        if writing or oflags & OPEN_TRUNCATE:
            vfs.check_writable(ino, name)
        if oflags & OPEN_TRUNCATE and isinstance(node, File):
            vfs.truncate(ino, 0)
        return ino

    def _describe(self, ino: int, node: Node, flags: int) -> Descriptor:
        """A descriptor for the node with every right that its kind can have."""
        if isinstance(node, Directory):
            return Descriptor(FOLDER, ino, RIGHTS_FOLDER, 0, flags)
        if isinstance(node, Device) and node.device in _STREAM_NUMBERS:
            return stream(_STREAM_NUMBERS[node.device])
        return Descriptor(DEVICE if isinstance(node, Device) else FILE, ino, RIGHTS_FILE, 0, flags)

    @answer_errors
    def path_create_directory(self, fd: int, path: int, path_len: int) -> int:
        start, mode = self._folder(fd, Right.CREATE_DIRECTORY), 0o777 & ~self.table.umask
        self.vfs.make_directory(start, self._path(path, path_len), mode)
        return SUCCESS

    @answer_errors
    def path_link(self, old_fd: int, flags: int, old_path: int, old_len: int, new_fd: int, new_path: int, new_len: int) -> int:
        old, new = self._path(old_path, old_len), self._path(new_path, new_len)
        source, target = self._folder(old_fd, Right.LINK_SOURCE), self._folder(new_fd, Right.LINK_TARGET)
        self.vfs.link(source, old, bool(flags & LOOKUP_FOLLOW), target, new)
        return SUCCESS

    @answer_errors
    def path_readlink(self, fd: int, path: int, path_len: int, out: int, length: int, used: int) -> int:
        node = self.vfs.nodes[self.vfs.lookup(self._folder(fd, Right.READLINK), self._path(path, path_len), False)]
        if not isinstance(node, Symlink):
            return EINVAL
        target = node.target.encode("utf-8")[: length & U32]
        self.memory.write(out & U32, target)
        self.memory.put_u32(used & U32, len(target))
        return SUCCESS

    @answer_errors
    def path_remove_directory(self, fd: int, path: int, path_len: int) -> int:
        self.vfs.remove_directory(self._folder(fd, Right.REMOVE_DIRECTORY), self._path(path, path_len))
        return SUCCESS

    @answer_errors
    def path_rename(self, old_fd: int, old_path: int, old_len: int, new_fd: int, new_path: int, new_len: int) -> int:
        old, new = self._path(old_path, old_len), self._path(new_path, new_len)
        self.vfs.rename_at(self._folder(old_fd, Right.RENAME_SOURCE), old, self._folder(new_fd, Right.RENAME_TARGET), new)
        return SUCCESS

    @answer_errors
    def path_symlink(self, old_path: int, old_len: int, fd: int, new_path: int, new_len: int) -> int:
        self.vfs.make_symlink(self._path(old_path, old_len), self._folder(fd, Right.SYMLINK), self._path(new_path, new_len))
        return SUCCESS

    @answer_errors
    def path_unlink_file(self, fd: int, path: int, path_len: int) -> int:
        self.vfs.unlink(self._folder(fd, Right.UNLINK_FILE), self._path(path, path_len))
        return SUCCESS

    def change_mode(self, body: bytes) -> bytes:
        """The message `M` (ABI.md): MODE, FD, FOLLOW and PATH. The answer is empty, or an error's number."""
        try:
            mode, fd, follow, path = body.split(b" ", 3)
            if int(fd) >= 0:
                ino = self._descriptor(int(fd)).ino
            else:
                ino = self.vfs.lookup(ROOT, decode_path(path[: PATH_BYTES_MAX + 1]), follow == b"1")
            self.vfs.set_mode(ino, int(mode, 8))
        except VfsError as error:
            return b"%d" % error.errno
        except ValueError:
            return b"%d" % EINVAL
        return b""

    def change_umask(self, body: bytes) -> bytes:
        """The message `U` (ABI.md)."""
        try:
            self.table.umask = int(body, 8) & 0o777
        except ValueError:
            return b"%d" % EINVAL
        return b""
