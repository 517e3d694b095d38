"""A disk that is full or broken: a typed error, reads go on, and the store recovers by itself."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.stores.faulty_writer import build_library

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library(tmp_path_factory.mktemp("faults"))


def try_faults(library: Path, folder: Path, errors: list[int]) -> dict[str, object]:
    plan = folder / "faults"
    plan.write_bytes(b"\0" * 16)
    environment = {**os.environ, "LD_PRELOAD": str(library), "HATCHWAY_FAULTS": str(plan), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.gateway.stores.faulty_writer", str(folder), ",".join(map(str, errors)), "200"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("error", "code"), [(errno.ENOSPC, "STORE_FULL"), (errno.EIO, "STORE_IO")])
def test_tm_store_disk_an_error_at_every_nth_call_is_typed_and_survived(
    library: Path, tmp_path: Path, error: int, code: str
) -> None:
    found = try_faults(library, tmp_path, [error])
    assert found["problems"] == []
    codes = found["codes"]
    assert isinstance(codes, dict) and codes[code] >= 10 and codes["ok"] >= 10
    assert isinstance(found["reached"], int) and found["reached"] >= 10


def test_a_short_write_at_every_nth_call_loses_nothing(library: Path, tmp_path: Path) -> None:
    found = try_faults(library, tmp_path, [0])
    assert found["problems"] == [] and isinstance(found["reached"], int) and found["reached"] >= 10
