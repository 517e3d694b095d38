"""A guest: hostile messages to the host, and being put back exactly as it was."""

from __future__ import annotations

import os
import resource
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import hatchway
from sandbox.engine.limits import Run
from sandbox.engine.memory import PAGE_BYTES
from sandbox.engine.wasmtime import Trap
from sandbox.errors import Stop
from sandbox.filesystem.vfs import Vfs
from sandbox.guests.guest import MESSAGE_BYTES_MAX, Guest
from sandbox.guests.host_inputs import World
from sandbox.guests.images import IMPORTS, Image, Source
from sandbox.guests.memory_use import MemoryUse
from sandbox.wire import DEFAULT_LIMITS
from tests.conftest import NewBox
from tests.sandbox import wat

SIZE = 2 * 65536
ALLOC = 4096
ANSWERED = 512
CALLER = """(module
  (import "host" "call" (func $call (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "host_alloc") (param i32) (result i32) {alloc})
  (func (export "turn") (param i32 i32) (result i32)
    (i32.store (i32.const 512) (call $call
      (i32.load (local.get 0)) (i32.load offset=4 (local.get 0))
      (i32.load offset=8 (local.get 0)) (i32.load offset=12 (local.get 0))))
    {after} (i32.const 0)))"""


class Hostile:
    """Runs turns that make one `host.call` with chosen arguments; `heard` is what got through to the handler."""

    def __init__(self, folder: Path, alloc: str, after: str) -> None:
        prepared = wat.prepare(folder, CALLER.format(alloc=alloc, after=after), IMPORTS)
        memory = folder / "hostile.mem"
        memory.write_bytes(b"\x44" * SIZE)
        self.guest = Guest(Image(Source("hostile", memory, "", ()), prepared, memory, ""), Vfs())
        self.heard: list[tuple[int, int]] = []
        self.reply = b"reply"

    def call(self, *arguments: int) -> int:
        def handle(opcode: int, body: bytes) -> bytes:
            self.heard.append((opcode, len(body)))
            return self.reply

        run = Run(DEFAULT_LIMITS)
        self.guest.turn(struct.pack("<4I", *(a & 0xFFFFFFFF for a in arguments)), run, handle, World(run, b""))
        return int.from_bytes(self.guest._memory.read(ANSWERED, 4), "little", signed=True)


NewHostile = Callable[..., Hostile]


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[NewHostile]:
    made: list[Hostile] = []

    def make(alloc: str = f"(i32.const {ALLOC})", after: str = "") -> Hostile:
        made.append(Hostile(tmp_path, alloc, after))
        return made[-1]

    yield make
    for one in made:
        one.guest.close()


def test_well_formed_call_is_answered_in_place(hostile: NewHostile) -> None:
    one = hostile()
    assert one.call(1000, 5, 600, 604) == 0
    assert one.heard == [(0x44, 4)]
    memory = one.guest._memory
    assert (memory.u32(600), memory.u32(604), memory.read(ALLOC, 5)) == (ALLOC, 5, b"reply")


def test_empty_reply_is_address_and_length_zero(hostile: NewHostile) -> None:
    one = hostile()
    one.reply = b""
    assert one.call(1000, 5, 600, 604) == 0
    assert (one.guest._memory.u32(600), one.guest._memory.u32(604)) == (0, 0)


@pytest.mark.parametrize("length", [1, 2, SIZE])
def test_message_may_reach_to_the_last_byte_of_memory(hostile: NewHostile, length: int) -> None:
    one = hostile()
    assert one.call(SIZE - length, length, 600, 604) == 0
    assert one.heard == [(0x44, length - 1)]


@pytest.mark.parametrize(
    "arguments",
    [
        (1000, 0, 600, 604),
        (SIZE - 1, 2, 600, 604),
        (SIZE, 1, 600, 604),
        (-1, 1, 600, 604),
        (-1, -1, 600, 604),
        (0, -1, 600, 604),
        (0, MESSAGE_BYTES_MAX + 1, 600, 604),
        (0, 2**31, 600, 604),
        (2**31, 2**31, 600, 604),
        (1000, 5, SIZE - 3, 604),
        (1000, 5, 600, SIZE - 3),
        (1000, 5, -1, -1),
        (1000, 5, SIZE, 604),
    ],
)
def test_call_with_bad_pointers_or_lengths_is_refused_before_it_is_heard(hostile: NewHostile, arguments: tuple[int, ...]) -> None:
    one = hostile()
    assert one.call(*arguments) == -2
    assert one.heard == []
    assert one.call(1000, 5, 600, 604) == 0


@pytest.mark.parametrize("alloc", ["(i32.const 0)"])
def test_guest_without_memory_for_a_request_is_a_memory_limit(hostile: NewHostile, alloc: str) -> None:
    with pytest.raises(Stop) as stopped:
        hostile(alloc).call(1000, 5, 600, 604)
    assert stopped.value.error.code == "MEMORY_EXCEEDED"


@pytest.mark.parametrize("alloc", ["(i32.const -1)", f"(i32.const {SIZE - 8})", f"(i32.const {SIZE})", "unreachable"])
def test_allocator_that_lies_ends_the_turn(hostile: NewHostile, alloc: str) -> None:
    one = hostile(alloc)
    for _ in range(2):
        with pytest.raises(Trap):
            one.call(1000, 5, 600, 604)


def test_allocator_that_lies_only_about_replies_gets_no_reply(hostile: NewHostile) -> None:
    one = hostile(
        f"(if (result i32) (i32.eq (local.get 0) (i32.const 16)) (then (i32.const {ALLOC})) (else (i32.const {SIZE - 2})))"
    )
    assert one.call(1000, 5, 600, 604) == -2


def test_tm_iso_reentry_allocator_that_calls_the_host_again_and_again_is_stopped(hostile: NewHostile) -> None:
    one = hostile(
        f"""(if (i32.ne (local.get 0) (i32.const 16))
              (then (drop (call $call (i32.const 1000) (i32.const 5) (i32.const 600) (i32.const 604)))))
            (i32.const {ALLOC})"""
    )
    assert one.call(1000, 5, 600, 604) == 0
    assert len(one.heard) == 1


def test_opcodes_out_of_turn_are_refused(hostile: NewHostile) -> None:
    one = hostile()
    one.guest._memory.write(1000, struct.pack("<4I", 2000, 3, 600, 604))
    one.guest._memory.write(2000, b"C{}")
    with pytest.raises(Trap, match="out of turn"):
        one.guest._instance.call("turn", 1000, 16)


SMALL_TURNS = {
    "python": [
        "x = 1",
        "import time\nt = time.time()",
        "import random\nr = random.random()",
        "import uuid\nu = uuid.uuid4().hex",
        "print('x' * 100)",
        "import os\nb = os.urandom(32)",
        "d = {object(): 1}",
        "s = {str(i) for i in range(50)}",
        "1 + 1",
        "try: 1/0\nexcept ZeroDivisionError: pass",
        "1/0",
        "m = time.monotonic()",
        "undefined_name",
        "def f(",
        "c = time.process_time()",
    ],
    "javascript": [
        "globalThis.x = 1",
        "let t = Date.now()",
        "let r = Math.random()",
        "console.log('x'.repeat(100))",
        "let o = { a: [1, 2, 3] }",
        "performance.now()",
        "const m = new Map([[{}, 1]])",
        "1 + 1",
        "try { null.x } catch {}",
        "null.x",
        "let q = () => q",
        "await 1",
        "undefinedName",
        "function (",
        "new Date().toISOString()",
    ],
    "shell": [
        "x=1",
        "echo $RANDOM",
        "y=$((x + 1))",
        "f() { echo $1; }",
        "f a",
        "a=(1 2 3)",
        "false",
        "echo ${a[@]}",
        "date +%s",
        "z=$x$y",
    ],
}
BIG_TURN = {
    "python": "big = [str(i) for i in range(30_000)]\nopen('/workspace/f', 'a').write('x')\nNone",
    "javascript": "globalThis.big = Array.from({ length: 30000 }, (_, i) => 'n' + i); 0",
    "shell": "echo x >> /workspace/f",
}
KILLED = {
    "python": "x = 2\nbig = None\nwhile True: pass",
    "javascript": "x = 2; while (true) {}",
    "shell": "x=2; while :; do :; done",
}


def pages_of(box: hatchway.Sandbox, language: str) -> dict[int, bytes]:
    """The pages in which a guest differs from its image. (It may have pages of its own that do not.)"""
    guest = box._session._guests[language]
    if guest._lost:
        guest._restore()
    return {n: guest._memory.read(n * PAGE_BYTES, PAGE_BYTES) for n in guest._dirty._list_differing_pages()}


def kill(box: hatchway.Sandbox, language: str) -> None:
    result = box.run(KILLED[language], language=language, limits={"cpu_ms": 20})
    assert result.error is not None and result.error.code == "TIMEOUT_CPU"


@pytest.mark.parametrize("language", SMALL_TURNS)
def test_memory_after_a_killed_run_is_byte_for_byte_what_it_was(new_box: NewBox, language: str) -> None:
    box = new_box(language=language)
    for number, code in enumerate([*SMALL_TURNS[language], BIG_TURN[language], *SMALL_TURNS[language]]):
        box.run(code)
        if number % 5 == 4:
            before = pages_of(box, language)
            kill(box, language)
            assert pages_of(box, language) == before, code
    before = pages_of(box, language)
    for _ in range(3):
        kill(box, language)
        assert pages_of(box, language) == before


@pytest.mark.parametrize("language", SMALL_TURNS)
def test_many_small_turns_are_put_back_past_the_journals_length(new_box: NewBox, language: str) -> None:
    box = new_box(language=language)
    for number in range(150):
        box.run(SMALL_TURNS[language][number % len(SMALL_TURNS[language])])
    before = pages_of(box, language)
    kill(box, language)
    assert pages_of(box, language) == before


def test_turn_that_waited_long_and_computed_little_is_small(new_box: NewBox, monkeypatch: pytest.MonkeyPatch) -> None:
    box = new_box()
    for _ in range(2):  # the first has more to do, and is saved before the second
        box.run("1")
    saved: list[Guest] = []
    monkeypatch.setattr(Guest, "_save", lambda guest: saved.append(guest))
    monkeypatch.setattr(
        Run, "end", lambda run: (run.measure()[0], 1_000_000)
    )  # what the machine really takes is nobody's promise
    box.run("print(1)", on_output=lambda stream, data: time.sleep(0.02))
    assert box.run("1").result == 1
    assert saved == []
    monkeypatch.setattr(Run, "end", lambda run: (run.measure()[0], 1_000_000_000))
    box.run("1")
    assert box.run("1").result == 1
    assert saved != []


def test_small_turn_that_met_a_memory_limit_meets_it_again_when_repeated(new_box: NewBox) -> None:
    box = new_box()
    box.run("1")
    box.run("try:\n  big = bytearray(50_000_000)\n  said = 'room'\nexcept MemoryError: said = 'none'", limits={"memory_mb": 4})
    before = pages_of(box, "python")
    kill(box, "python")
    assert pages_of(box, "python") == before and box.run("said").result == "none"


def test_run_that_is_taken_back_after_it_ended_leaves_no_trace(new_box: NewBox) -> None:
    box = new_box()
    box.run("x = 1")
    before = pages_of(box, "python")
    assert box.run("x = 2\nopen('/workspace/f', 'w').write('y')\nraise MemoryError").error.code == "MEMORY_EXCEEDED"  # type: ignore[union-attr]
    assert pages_of(box, "python") == before and box.files.list_dir("/workspace") == []


def test_memory_of_a_run_that_did_not_happen_is_given_back_before_the_next_one(new_box: NewBox) -> None:
    box = new_box(limits={"memory_mb": 256})
    box.run("1")
    before_kb = current_rss_kb()
    result = box.run("x = bytearray(100 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nraise MemoryError")
    assert result.error is not None and result.metrics.memory_peak_bytes > 100 << 20
    assert box.run("1").ok
    assert current_rss_kb() - before_kb < 50 << 10


def test_killed_first_run_leaves_the_image(new_box: NewBox) -> None:
    box = new_box()
    kill(box, "python")
    assert pages_of(box, "python") == {}


@pytest.mark.parametrize(
    ("code", "most_mb"),
    [
        ("import os\nwhile True: os.urandom(1 << 20)", 40),
        ("import time\nwhile True: time.time()", 40),
        ("import _host\nm = b'D' + bytes(10_000_000)\nwhile True: _host.call(m)", 120),
        ("import _host\nm = b'C' + b'[' * 20_000_000\nwhile True: _host.call(m)", 160),
        (
            'import _host\nm = b\'C{"name":"f","kwargs":{},"args":[\' + b\'[],\' * 4_000_000 + b\'1]}\'\n'
            "_host.call(m)\nwhile True: pass",
            160,
        ),
        ("while True: print('x' * 10_000)", 40),
    ],
)
def test_tm_lim_hostmem_guest_cannot_fill_the_hosts_memory_by_what_it_asks(new_box: NewBox, code: str, most_mb: int) -> None:
    box = new_box(tools={"f": lambda *a: len(a)}, limits={"cpu_ms": 700, "wall_ms": 20_000})
    box.run("1")
    before_kb = current_rss_kb()
    watermark_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not box.run(code).ok
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= max(watermark_kb, before_kb + most_mb * 1024)


def current_rss_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def forget_first_turns(new_box: NewBox, monkeypatch: pytest.MonkeyPatch) -> Guest:
    """As if no session of the image had taken a turn yet; a guest of it."""
    box = new_box()
    box.run("1")
    guest = box._session._guests["python"]
    for name, nothing in (("first_turn_bytes", 0), ("first_turn_reads", 0), ("first_turn_ranges", ())):
        monkeypatch.setattr(guest.image, name, nothing)
    return guest


def test_first_turns_that_only_read_more_of_the_image_are_not_measured_each_time(
    new_box: NewBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_first_turns(new_box, monkeypatch)
    for _ in range(2):  # the first tells how much first turns write, the second how much they only read
        new_box().run("1")
    measured: list[MemoryUse] = []
    measure = MemoryUse.measure
    monkeypatch.setattr(MemoryUse, "measure", lambda use, dirty: (measured.append(use), measure(use, dirty))[1])
    for _ in range(6):
        assert new_box().run("1").metrics.memory_peak_bytes > 0
    assert len(measured) < 6
    measured.clear()
    assert new_box().run("x = b'x' * (10 << 20)").metrics.memory_peak_bytes > 10 << 20
    assert len(measured) == 1


def test_tm_lim_unseen_what_one_session_reads_hides_nothing_that_another_writes(
    new_box: NewBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = forget_first_turns(new_box, monkeypatch)
    new_box().run("1")
    guest.memory_use.learn(
        guest._dirty, 1_000_000, is_first=True
    )  # how many pages a program can read without writing depends on the machine
    writes = new_box().run("x = bytearray(2 << 20); x[::4096] = b'x' * 512")
    assert writes.metrics.memory_peak_bytes > 2 << 20
