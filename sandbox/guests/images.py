"""Images: a guest that has already started, ready to be mapped.

An image is compiled code plus a frozen linear memory, taken after the guest's start-up and our prelude have run. Both are made
once per machine, kept in the cache under a name that holds a digest of everything they were made of, and shared by all
processes; a new session maps the memory copy-on-write.

Rules: an image holds no secret and nothing of any tenant. INVARIANT: a frozen guest has only the standard descriptors open, so
that its memory is its whole state. Building takes a lock, so that two processes do not compile the same thing.
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import json
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.engine import readahead
from sandbox.engine.cache import Cache
from sandbox.engine.limits import ticker
from sandbox.engine.memory import PAGE_BYTES, WASM_PAGE_BYTES, GuestMemory, map_image
from sandbox.engine.signals import shelter
from sandbox.engine.wasmtime import Call, Engine, Instance, Prepared
from sandbox.errors import SetupError
from sandbox.filesystem import standard_tree
from sandbox.filesystem.descriptors import DescriptorTable
from sandbox.filesystem.inode_table import Checkpoint, VfsLimits
from sandbox.filesystem.vfs import HostFile, Vfs
from sandbox.guests import cpython, sqlite
from sandbox.wasi.wasi import SIGNATURES, Wasi
from wasm_modules.pinned import ARTIFACTS, BUILT, GIT_DIGEST, GIT_LIBRARY, PYTHON_CODE, PYTHON_LIBRARY, PinError, check

IMPORTS: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("host", "call", "iiii", "i"),
    *(("wasi_snapshot_preview1", name, parameters, results) for name, (parameters, results) in SIGNATURES.items()),
)
ENVIRON: Final = (
    b"HOME=/workspace", b"PATH=/usr/local/bin:/usr/bin:/bin", b"LANG=C.UTF-8", b"TMPDIR=/tmp", b"USER=user", b"HOSTNAME=hatchway",
    b"MPLBACKEND=module://_hatchway_backend", b"MPLCONFIGDIR=/tmp",
)  # fmt: skip
_FORMAT = 1
_BLOCKS: Final = struct.Struct("512s" * (PAGE_BYTES // 512))
_BLOCKS_PAGES_MAX: Final = 1024
ZERO_BLOCKS: Final = (bytes(512),) * (PAGE_BYTES // 512)
"""The blocks of every page where an image has nothing, and of no other."""
_ZERO_PAGE: Final = bytes(PAGE_BYTES)
_COMPILE_SECONDS_PER_MB = 0.75
_PIECE_PAGES: Final = 2
"""Of WebAssembly: 128 KiB. The kernel keeps a file in pieces as it was written: of smaller ones each page is mapped on its own,
of larger ones too many are mapped at once."""
_PRELUDE_MODULES = (
    "words", "errors", "surroundings", "plain", "nearest", "absent", "stand_ins", "threads", "permissions", "capabilities",
    "loop", "processes", "displays", "failures", "magics", "timing", "notebook", "turn", "immortals", "install",
)  # fmt: skip
_GIT_MODULES = (
    "library", "base", "lines", "dates", "repository", "changes", "patches", "revisions", "pretty", "worktree", "combined",
    "setup", "plumbing", "status", "staging", "commits", "comparison", "history", "blame", "three_way", "merging", "branches",
    "switching", "picks", "stashes", "tags", "fetching", "remotes", "command",
)  # fmt: skip
_SQLITE_MODULES = ("texts", "modes", "settings", "statements", "schema", "imports", "dots", "program")
_COMMAND_MODULES = (*(f"git/{name}" for name in _GIT_MODULES), *(f"sqlite/{name}" for name in _SQLITE_MODULES))
"""Commands that are written in Python: `git` and `sqlite3`."""
_PRELOAD = b'{"code":"import _hatchway\\n_hatchway.install.preload()\\ndel _hatchway"}'
_PYTHON_TURNS = (
    *[b'{"code":%s}' % code for code in (b'"1+1"', b'"x=1\\nx"', b'"print(1)\\nfrom math import pi"', b'"1/0"', b'"del x,pi"')]
    * 2,
    b'{"code":"import _hatchway\\n_hatchway.install.settle()\\ndel _hatchway"}',
    b'{"code":"1+1"}',
)
_FIGURE_DATA = ("/usr/local/lib/python315.zip/matplotlib/mpl-data", "/usr/local/share/matplotlib")
"""matplotlib looks for its data next to its code, which is in the zip; the artifact carries it as an archive of its own."""
_WRITE, _COPY = ord("W"), ord("Y")
_PAIR: Final = struct.Struct("<II")
_EMPTY_TURN = b'{"code":"","filename":"<warm-up>","inputs":{},"validate_only":false,"max_stack_depth":256}'

Progress = Callable[[str, float], None]
"""Told what is being done and how far it is, from 0 to 1."""


def _ignore(what: str, done: float) -> None:
    pass


@dataclass(frozen=True)
class Source:
    """What an image is made of. `turns` are run before it is frozen; `preopens` are directories the guest sees under other
    names; `libraries` are files it reads while it starts, with their digests."""

    name: str
    wasm: Path
    digest: str
    turns: tuple[bytes, ...]
    preopens: tuple[tuple[str, str], ...] = ()
    libraries: tuple[tuple[Path, str], ...] = ()


class _Still:
    """The world while an image is made: no time passes, nothing is random, no listener."""

    args: Sequence[bytes] = (b"hatchway",)
    environ: Sequence[bytes] = ENVIRON
    written = b""

    def now_realtime_ns(self) -> int:
        return 1_767_225_600_000_000_000

    now_monotonic_ns = cpu_time_ns = now_realtime_ns

    def random(self, n: int, /) -> bytes:
        return bytes(n)

    def wait_until(self, monotonic_ns: int, /) -> None:
        pass

    def stdout(self, data: bytes, /) -> None:
        self.written += data

    stderr = stdout

    def stdin_read(self, n: int, /) -> bytes:
        return b""


class Image:
    first_turn_bytes = 0
    """Pages a guest of this image writes in its first turn, once that has been measured."""
    first_turn_reads = 0
    """Page faults of a guest that has them, in its first turn: pages of the image that it only reads."""
    first_turn_ranges: Sequence[tuple[int, int]] = ()
    """Where they are: later guests get them all at once, which costs less than a fault for each."""

    def __init__(self, source: Source, prepared: Prepared, memory_path: Path, memory_digest: str) -> None:
        self.name = source.name
        self.digest = source.digest
        self.memory_digest = memory_digest
        self.preopens = source.preopens
        self.prepared = prepared
        self.metered = prepared.module.engine.metered
        self.descriptor = os.open(memory_path, os.O_RDONLY | os.O_CLOEXEC)
        self.size_bytes = os.fstat(self.descriptor).st_size
        self.free_bytes = self.size_bytes
        """Memory that sessions have for nothing: what they grow over it is charged."""
        self.root: Image = self

    def map(self, instance: Instance) -> None:
        map_image(instance, self.descriptor, self.size_bytes)

    def read(self, start: int, length: int) -> bytes:
        return os.pread(self.descriptor, length, start)

    @functools.cached_property
    def contents(self) -> mmap.mmap:
        """The frozen memory, to compare with."""
        return mmap.mmap(self.descriptor, self.size_bytes, access=mmap.ACCESS_READ)

    @functools.cached_property
    def _blocks(self) -> dict[int, tuple[bytes, ...]]:
        return {}

    def blocks(self, page: int) -> tuple[bytes, ...]:
        """A page of the frozen memory in pieces of 512 bytes. Sessions write to the same pages again and again: they are kept."""
        found = self._blocks.get(page)
        if found is None:
            data = self.contents[page * PAGE_BYTES : (page + 1) * PAGE_BYTES]
            if not data or data == _ZERO_PAGE:
                return ZERO_BLOCKS
            found = _BLOCKS.unpack(data)
            if len(self._blocks) < _BLOCKS_PAGES_MAX:
                self._blocks[page] = found
        return found


def _python_modules(names: Sequence[str]) -> bytes:
    """A program that makes modules of ours in the guest, in the order in which they need one another, and puts them in place."""
    modules = {name: (BUILT.parent / "python" / f"{name}.py").read_text("utf-8") for name in names}
    return (
        "import sys, types\n"
        f"for name, source in {modules!r}.items():\n"
        "    at = ('_hatchway/' + name).split('/')\n"
        "    for depth in range(1, len(at) + 1):\n"
        "        module = sys.modules.setdefault('.'.join(at[:depth]), types.ModuleType('.'.join(at[:depth])))\n"
        "        if depth > 1:\n"
        "            setattr(sys.modules['.'.join(at[: depth - 1])], at[depth - 1], module)\n"
        "    exec(compile(source, '<hatchway/' + name + '>', 'exec'), module.__dict__)\n"
        "if hasattr(module, 'install'):\n"
        "    module.install()\n"
        "del sys, types, name, source, module, at, depth\n"
    ).encode()


def _turn(code: bytes) -> bytes:
    return json.dumps({"code": code.decode()}).encode()


def source_of(name: str) -> Source:
    """`python`, `javascript` or `shell`."""
    wasm = BUILT / (PYTHON_CODE if name == "python" else f"{name}.wasm")
    if not wasm.exists():
        raise SetupError(f"the {name} guest is not built; run: python -m wasm_modules.build")
    if name == "python":
        libraries = ((BUILT / PYTHON_LIBRARY, ARTIFACTS[PYTHON_LIBRARY]), (BUILT / GIT_LIBRARY, GIT_DIGEST))
        turns = (_python_modules(_PRELUDE_MODULES), _turn(_python_modules(_COMMAND_MODULES)), _PRELOAD, *_PYTHON_TURNS)
        return Source(name, wasm, ARTIFACTS[PYTHON_CODE], turns, (_FIGURE_DATA,), libraries)
    return Source(name, wasm, hashlib.sha256(wasm.read_bytes()).hexdigest(), (_EMPTY_TURN, _EMPTY_TURN))


def check_pins(source: Source) -> None:
    """Raises if what the guest is made of is not what was pinned, which a start does not look at: it would take a second."""
    try:
        for path, digest in ((source.wasm, source.digest), *source.libraries):
            check(path, digest)
    except (OSError, PinError) as error:
        raise SetupError(f"the {source.name} guest is damaged: {error}") from None


def _figure_data(path: Path) -> None:
    """Write matplotlib's data as one file: a line with name and size of each member, then their bytes."""
    import zipfile

    with zipfile.ZipFile(BUILT / PYTHON_LIBRARY) as outer, outer.open("matplotlib/mpl-data.zip") as inner:
        archive = zipfile.ZipFile(io.BytesIO(inner.read()))
        members = {
            item.filename.removeprefix("mpl-data/"): archive.read(item) for item in archive.infolist() if not item.is_dir()
        }
    index = json.dumps({name: len(data) for name, data in members.items()})
    path.write_bytes(b"".join((index.encode(), b"\n", *members.values())))


class Images:
    """All images of one process, loaded when first asked for."""

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache
        self._images: dict[tuple[str, bool], Image] = {}
        self._engines: dict[bool, Engine] = {}
        self._files: Checkpoint | None = None
        self._lock = threading.RLock()

    @property
    def cache(self) -> Cache:
        if self._cache is None:
            self._cache = Cache()
        return self._cache

    def get(self, name: str, *, metered: bool = False, progress: Progress = _ignore) -> Image:
        image = self._images.get((name, metered))
        if image is None:
            with self._lock:
                image = self._images.get((name, metered)) or self._load(name, metered, progress)
                self._images[name, metered] = image
        return image

    def files(self) -> Checkpoint:
        """The filesystem every session starts with: the standard tree, a small system, and what Python's library consists of."""
        if self._files is None:
            with self._lock:
                vfs = Vfs()
                standard_tree.mount(vfs)
                if (BUILT / PYTHON_LIBRARY).exists():
                    vfs.mount_file("/usr/local/lib/python315.zip", HostFile.open(BUILT / PYTHON_LIBRARY))
                    self._mount_figure_data(vfs)
                self._files = vfs.checkpoint()
        return self._files

    def figures_name(self) -> str:
        return f"figures-{ARTIFACTS[PYTHON_LIBRARY][:20]}.data"

    def _mount_figure_data(self, vfs: Vfs) -> None:
        name = self.figures_name()
        data = memoryview(HostFile.open(self.cache.find(name) or self.cache.store(name, _figure_data)).data)
        start = bytes(data[:1000000]).find(b"\n") + 1
        for member, size in json.loads(bytes(data[:start])).items():
            vfs.mount_file(f"{_FIGURE_DATA[1]}/{member}", HostFile(data[start : start + size], member))
            start += size

    def engine(self, metered: bool) -> Engine:
        if metered not in self._engines:
            engine = self._engines[metered] = Engine(metered=metered)
            ticker.add(engine)
        return self._engines[metered]

    def names(self, source: Source, metered: bool) -> tuple[str, str]:
        """The cache's names for an image's code and memory."""
        code = hashlib.sha256(f"{_FORMAT} {source.digest} {self.engine(metered).settings}".encode()).hexdigest()[:20]
        libraries = tuple(digest for _, digest in source.libraries)
        written = (standard_tree.PROGRAMS, cpython.STACK_BYTES, sqlite.LOCKS)
        parts = (code, libraries, source.turns, source.preopens, ENVIRON, IMPORTS, *written)
        made_of = hashlib.sha256(repr(parts).encode()).hexdigest()[:20]
        return f"{source.name}-{code}.cwasm", f"{source.name}-{made_of}.mem"

    def is_ready(self, name: str, *, metered: bool = False) -> bool:
        return all(self.cache.find(n) for n in self.names(source_of(name), metered))

    def gather(self, name: str) -> None:
        """Make sessions of an image that is ready cheaper. Takes as long as reading its file."""
        readahead.gather(self.cache.directory / self.names(source_of(name), metered=False)[1])

    def _load(self, name: str, metered: bool, progress: Progress) -> Image:
        source = source_of(name)
        code_name, memory_name = self.names(source, metered)
        code = self.cache.build(code_name, lambda: self._compile(source, metered, progress))
        prepared = Prepared(self.engine(metered).load(code), IMPORTS)
        readahead.advise(code)
        memory = self.cache.build(memory_name, lambda: self._freeze(source, prepared, progress))
        return Image(source, prepared, memory, self.cache.digest(memory_name))

    def _compile(self, source: Source, metered: bool, progress: Progress) -> Callable[[Path], object]:
        check_pins(source)
        wasm = source.wasm.read_bytes()
        finished = threading.Event()
        watcher = threading.Thread(target=_estimate, args=(source.name, len(wasm), finished, progress), daemon=True)
        watcher.start()
        try:
            code = self.engine(metered).compile(wasm)
        finally:
            finished.set()
            watcher.join()
        progress(f"compiling {source.name}", 1.0)
        return lambda path: path.write_bytes(code)

    def _freeze(self, source: Source, prepared: Prepared, progress: Progress) -> Callable[[Path], object]:
        progress(f"starting {source.name}", 0.0)
        check_pins(source)
        with shelter(lambda: None):
            memory = _start(source, prepared, self.files())
        progress(f"starting {source.name}", 1.0)
        return lambda path: _write_sparse(path, memory)


def _start(source: Source, prepared: Prepared, files: Checkpoint) -> GuestMemory:
    """Boot the guest and run its first turns."""
    vfs = Vfs.at(files, VfsLimits())
    if source.libraries:
        vfs.mount_file(f"/usr/local/lib/{GIT_LIBRARY}", HostFile.open(BUILT / GIT_LIBRARY))
    host = _Still()
    table = DescriptorTable.standard(vfs, source.preopens)
    standard = sorted(table.entries)
    wasi = Wasi(None, vfs, table, host)  # type: ignore[arg-type]  # the memory exists only after the instance

    def answer(pointer: int, length: int, reply: int, reply_length: int) -> int:
        message = wasi.memory.read(pointer & 0xFFFFFFFF, length & 0xFFFFFFFF)
        if message[0] in (_WRITE, _COPY):
            for address, word in _PAIR.iter_unpack(message[1:]):
                wasi.memory.put_u32(address, wasi.memory.u32(word) if message[0] == _COPY else word)
        wasi.memory.put_u32(reply & 0xFFFFFFFF, 0)
        wasi.memory.put_u32(reply_length & 0xFFFFFFFF, 0)
        return 0

    call = Call([answer, *(getattr(wasi, name) for name in SIGNATURES)], lambda: None)
    instance = Instance(prepared, call)
    memory = wasi.memory = GuestMemory(instance)
    instance.watch()
    if source.libraries and not cpython.widen_stack(memory):
        raise SetupError("the python guest has its stack elsewhere than this version expects")
    if source.libraries and not sqlite.use_locks(memory):
        raise SetupError("the python guest has SQLite's tables elsewhere than this version expects")
    if instance.has("_initialize"):
        instance.call("_initialize")
    for number, turn in enumerate(source.turns):
        address = instance.call("host_alloc", len(turn))
        memory.write(address, turn)
        instance.call("turn", address, len(turn))
        if number < 3 and b"Traceback" in host.written:
            raise SetupError(f"the {source.name} guest did not start: {host.written.decode('utf-8', 'replace')}")
    if sorted(table.entries) != standard:
        raise SetupError(f"the {source.name} guest left files open while starting")
    return memory


def _estimate(name: str, size_bytes: int, finished: threading.Event, progress: Progress) -> None:
    """The compiler tells nothing until it is done: show time against what the size suggests, never reaching the end."""
    expected = max(1.0, size_bytes / 1e6 * _COMPILE_SECONDS_PER_MB)
    started = time.monotonic()
    while not finished.wait(0.2):
        share = (time.monotonic() - started) / expected
        progress(f"compiling {name}", min(0.99, share if share < 0.8 else 1 - 0.2 / (1 + (share - 0.8) * 5)))


def _write_sparse(path: Path, memory: GuestMemory) -> None:
    """Zero pages stay holes: most of an interpreter's memory is one. What is between them is written in larger pieces."""
    starts = range(0, memory.size_bytes, WASM_PAGE_BYTES)
    with path.open("wb") as file:
        for is_hole, run in itertools.groupby(starts, lambda start: _is_zero(memory.read(start, WASM_PAGE_BYTES))):
            pages = [*run]
            for first in [] if is_hole else range(0, len(pages), _PIECE_PAGES):
                piece = pages[first : first + _PIECE_PAGES]
                file.seek(piece[0])
                file.write(memory.read(piece[0], len(piece) * WASM_PAGE_BYTES))
        file.truncate(memory.size_bytes)


def _is_zero(data: bytes) -> bool:
    return data.count(0) == len(data)


images = Images()
