"""The guests' allocator: random calls over an array, every byte checked; and what a program may use of its limit in a guest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import NewBox

SOURCE = Path(__file__).with_name("heap_client.c")
PATIENT = {"wall_ms": 60_000, "cpu_ms": 60_000}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("heap") / "heap_client"
    flags = ["-O1", "-g", "-std=gnu23", "-Wall", "-Wextra", "-Werror", "-DHEAP_TEST", "-fsanitize=undefined"]
    subprocess.run([sys.executable, "-m", "ziglang", "cc", *flags, SOURCE, "-o", program], check=True)
    return program


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("pages", [1024, 300])
def test_blocks_hold_what_was_written_and_all_is_joined_again_in_the_end(client: Path, seed: int, pages: int) -> None:
    done = subprocess.run([client, str(seed), "60000", str(pages)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    refused, most, taken = (int(number) for number in re.findall(r"\d+", done.stdout))
    assert refused > 0, "the limit was never met"
    assert most > 0.9 * taken, "a tenth of the memory could not be used"


@pytest.mark.parametrize(
    ("language", "program"),
    [
        ("javascript", "let all = []; for (let i = 0; i < 300000; i++) all.push({i, s: 'x' + i}); all.length"),
        ("javascript", "let s = new Uint8Array(40 << 20); s.length"),
        ("shell", "head -c 40000000 /dev/zero | wc -c"),
        ("shell", "for n in 1 2 3; do head -c 30000000 /dev/zero | wc -c; done; seq 1 100000 | sort -n | tail -1"),
    ],
)
def test_most_of_a_memory_limit_can_be_used(new_box: NewBox, language: str, program: str) -> None:
    done = new_box(language=language, limits=PATIENT).run(program)
    assert done.error is None
