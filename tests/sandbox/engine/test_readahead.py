"""Reading ahead finds the tables behind compiled code, and leaves everything else alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sandbox.engine import readahead
from sandbox.guests.images import images, source_of


def compiled() -> Path:
    source = source_of("shell")
    images.get("shell")
    found = images.cache.find(images.names(source, metered=False)[0])
    assert found is not None
    return found


def test_the_tables_of_compiled_code_are_found_behind_it() -> None:
    descriptor = os.open(compiled(), os.O_RDONLY)
    try:
        found = readahead.tables(descriptor)
        assert len(found) >= 2
        assert all(length > 0 and start + length <= os.fstat(descriptor).st_size for start, length in found)
    finally:
        os.close(descriptor)


def test_a_file_that_is_no_code_or_is_cut_off_has_none(tmp_path: Path) -> None:
    whole = compiled().read_bytes()
    for data in (b"", b"\x7fELF", bytes(1000), whole[:100], whole[:-100]):
        (tmp_path / "file").write_bytes(data)
        descriptor = os.open(tmp_path / "file", os.O_RDONLY)
        try:
            assert readahead.tables(descriptor) == []
        finally:
            os.close(descriptor)


def test_a_file_that_is_gone_is_not_missed(tmp_path: Path) -> None:
    readahead.advise(tmp_path / "nowhere")


def test_loading_code_starts_no_thread() -> None:
    """A zygote loads all guests and leaves the network after that, which only a process with a single thread can."""
    code = "import threading\nfrom sandbox.guests.images import images\nimages.get('shell')\nprint(threading.active_count())"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "1\n"
