"""The short version of the crash campaign (`python -m tests.gateway.crash_campaign --kills 1000` is the long one)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.stores.servers import find_binaries

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(("store", "kills"), [("sqlite", 10), ("postgres", 4)])
def test_kill_9_at_random_instants_loses_nothing_acknowledged_and_leaves_nothing_half_there(store: str, kills: int) -> None:
    if store == "postgres" and find_binaries() is None:
        pytest.skip("no PostgreSQL here: pip install pgserver")
    command = [sys.executable, "-m", "tests.gateway.crash_campaign", "--seed", "7", "--kills", str(kills), "--store", store]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"kills={kills}," in done.stdout and "acknowledged=0," not in done.stdout and "problems=[]" in done.stdout
