"""Standard streams, asyncio, displays and metrics of a run."""

from __future__ import annotations

import base64
import contextlib
import json
from typing import Any

import msgspec
import pytest

import hatchway
from tests.conftest import NewBox
from tests.sandbox.outcomes import code_of

PYTHON, JAVASCRIPT, SHELL, TYPESCRIPT = "python", "javascript", "shell", "type_script"


def test_stdin_is_read_and_does_not_carry_over(box: hatchway.Sandbox) -> None:
    assert box.run("[input(), input()]", stdin="a\né\nrest").result == ["a", "é"]
    assert code_of(box.run("input()")) == "RUNTIME_ERROR"
    assert box.run("import sys\nsys.stdin.read()", stdin="all\nof it").result == "all\nof it"
    assert box.run("import sys\nsys.stdin.buffer.read().hex()", stdin="\ufffd").result == "efbfbd"


def test_stdin_of_the_shell_is_read_and_does_not_carry_over(new_box: NewBox) -> None:
    box = new_box(language=SHELL)
    assert box.run("read a; echo $a", stdin="one\ntwo\n").stdout == "one\n"
    assert box.run("cat", stdin="x").stdout == "x"
    assert box.run("cat").stdout == ""


@pytest.mark.parametrize(
    "spoil",
    [
        "print(open(0).read())",
        "import os\nos.close(0)",
        "import os\nos.close(1)",
        "import os\nos.close(2)",
        "import os\nfor n in range(3): os.close(n)",
        "import os\nos.close(1)\nheld = open('taken.txt', 'w')\nassert held.fileno() == 1",
    ],
)
def test_a_program_that_closes_its_streams_leaves_the_next_run_its_own(box: hatchway.Sandbox, spoil: str) -> None:
    use = "import sys\nprint(input())\nprint('!', file=sys.stderr)"
    box.run(spoil, stdin="1")
    again = box.fork()
    for one in (box, again):
        done = one.run(use, stdin="a line")
        assert (code_of(done), done.stdout, done.stderr) == (None, "a line\n", "!\n")
    again.close()


def test_streams_are_put_back_also_for_a_run_that_is_recorded_and_one_that_a_limit_ends(new_box: NewBox) -> None:
    box = new_box(record=True)
    box.run("import os\nos.close(0)\nheld = open('taken.txt', 'w')\nos.remove('taken.txt')")
    assert box.run("print(input())", stdin="a").stdout == "a\n"
    assert box.recording is not None
    with contextlib.closing(hatchway.replay(box.recording).session) as played:
        assert played.vfs.used_bytes == box.files.used_bytes
    box.run("import os\nos.close(1)\nwhile True: pass", timeout_ms=50)
    assert box.run("print(input())", stdin="b").stdout == "b\n"


def test_streams_are_told_apart_and_heard_in_order(box: hatchway.Sandbox) -> None:
    heard: list[tuple[int, bytes]] = []
    result = box.run(
        "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')",
        on_output=lambda stream, data: heard.append((stream, data)),
    )
    assert (result.stdout, result.stderr) == ("a\nc\n", "b\n")
    assert [(stream, data.strip()) for stream, data in heard if data.strip()] == [(0, b"a"), (1, b"b"), (0, b"c")]


def test_output_that_is_not_utf8_is_shown_with_replacements(box: hatchway.Sandbox) -> None:
    assert box.run("import os\nos.write(1, b'a\\xffb')\nNone").stdout == "a�b"


def test_output_callback_that_raises_ends_the_run_and_the_session_goes_on(box: hatchway.Sandbox) -> None:
    def fail(stream: int, data: bytes) -> None:
        raise LookupError("nobody listens")

    box.run("x = 1")
    with pytest.raises(LookupError):
        box.run("x = 2\nprint('a')", on_output=fail)
    assert box.run("x").result == 1


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n\nawait asyncio.gather(f(1), f(2))", [1, 2]),
        ("import asyncio\nasync def f(): return 5\nasyncio.run(f())", 5),
        ("import asyncio\nasyncio.run(asyncio.sleep(0.001, 6))", 6),
        ("import asyncio\nasync with asyncio.timeout(5): x = 1\nx", 1),
        (
            "import asyncio\ntry:\n    await asyncio.wait_for(asyncio.sleep(10), 0.001)\n"
            "except TimeoutError: said = 'late'\nsaid",
            "late",
        ),
        (
            "import asyncio\nq = asyncio.Queue()\nasync def p():\n    for i in range(3): await q.put(i)\n"
            "t = asyncio.create_task(p())\n[await q.get() for _ in range(3)]",
            [0, 1, 2],
        ),
        ("import asyncio\nasync with asyncio.TaskGroup() as g:\n    t = g.create_task(asyncio.sleep(0, 9))\nt.result()", 9),
        ("import asyncio\nawait asyncio.to_thread(lambda: 4)", 4),
        (
            "import asyncio\nloop = asyncio.get_running_loop()\nf = loop.create_future()\n"
            "loop.call_later(0.001, f.set_result, 3)\nawait f",
            3,
        ),
        ("async def g():\n    yield 1\n    yield 2\n[x async for x in g()]", [1, 2]),
    ],
)
def test_asyncio_works_at_the_top_level_and_inside(box: hatchway.Sandbox, code: str, value: Any) -> None:
    result = box.run(code)
    assert (result.result, code_of(result)) == (value, None), result.stderr


def test_event_loop_with_nothing_left_to_wake_it_is_an_error_and_no_hang(box: hatchway.Sandbox) -> None:
    result = box.run("import asyncio\nawait asyncio.Event().wait()")
    assert code_of(result) == "RUNTIME_ERROR"
    assert box.run("import asyncio\nawait asyncio.sleep(0, 1)").result == 1


def test_figures_come_back_as_png(new_box: NewBox) -> None:
    box = new_box(limits={"cpu_ms": 60_000, "wall_ms": 600_000})
    result = box.run("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()")
    assert result.ok, result.stderr
    (display,) = result.displays
    assert display.mime == "image/png" and base64.b64decode(display.data).startswith(b"\x89PNG\r\n\x1a\n")
    left_open = box.run("plt.plot([1])\n1")
    assert [d.mime for d in left_open.displays] == ["image/png"]
    assert box.run("1").displays == []


def test_tables_and_rich_objects_are_displayed(box: hatchway.Sandbox) -> None:
    table = box.run("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
    assert table.ok and [d.mime for d in table.displays] == ["text/html", "text/plain", "application/vnd.dataframe+json"]
    assert "<table" in table.displays[0].data
    assert json.loads(table.displays[2].data) == {"columns": ["a"], "index": [0, 1], "data": [[1], [2]], "rows": 2}
    code = (
        "class R:\n    def __repr__(self): return 'R'\n    def _repr_svg_(self): return '<svg/>'\n"
        "    def _repr_markdown_(self): return '*x*'\ndisplay(R(), 'plain')"
    )
    assert {(d.mime, d.data) for d in box.run(code).displays} == {
        ("image/svg+xml", "<svg/>"),
        ("text/markdown", "*x*"),
        ("text/plain", "R"),
        ("text/plain", "plain"),
    }


def test_metrics_are_real_numbers(box: hatchway.Sandbox) -> None:
    small = box.run("1")
    large = box.run("x = bytearray(10_000_000)\nx[::4096] = b'x' * len(x[::4096])\nsum(range(100_000))")
    assert large.metrics.memory_peak_bytes - small.metrics.memory_peak_bytes > 9_000_000
    assert large.metrics.cpu_ms > 0 and large.metrics.duration_ms >= 0 and large.metrics.instructions == 0


BYTES = bytes(range(256)) * 3
COPIES = {
    PYTHON: "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\nsys.stderr.buffer.write(b'\\xff')",
    JAVASCRIPT: "const fs = require('fs'); fs.writeSync(1, fs.readFileSync(0)); fs.writeSync(2, Buffer.from([255]))",
    SHELL: "cat; printf '\\377' >&2",
}


@pytest.mark.parametrize("language", COPIES)
def test_input_and_output_are_byte_exact(box: hatchway.Sandbox, language: str) -> None:
    result = box.run(COPIES[language], language=language, stdin=BYTES)
    assert (result.stdout_bytes, result.stderr_bytes) == (BYTES, b"\xff"), result
    again = msgspec.json.decode(msgspec.json.encode(result), type=hatchway.RunResult)
    assert again.stdout_bytes == BYTES and again.stdout == BYTES.decode("utf-8", "replace")


def test_a_text_needs_no_second_form(box: hatchway.Sandbox) -> None:
    result = box.run("echo é", language=SHELL)
    assert result.stdout_bytes == "é\n".encode() and "base64" not in msgspec.json.encode(result).decode()


def test_output_that_a_limit_cut_inside_of_a_character_is_text(new_box: NewBox) -> None:
    box = new_box(language=SHELL, limits={"max_stdout_bytes": 1001})
    result = box.run("printf 'é%.0s' {1..1000}")
    assert result.stdout == "é" * 500 and result.stdout_bytes == result.stdout.encode()
