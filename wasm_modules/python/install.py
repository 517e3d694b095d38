"""Puts the prelude in place when the image is made, and warms the interpreter up: what libraries do at first use is then in the
image.

What the prelude offers (`tools`, `display`, `ToolError`) stands in `builtins`; names in `__main__` are the program's alone.
"""

import _frozen_importlib
import _frozen_importlib_external
import builtins
import gc
import importlib
import itertools
import linecache
import os
import sys
import threading
import types

import _reactor
from _hatchway import absent, errors, loop, permissions, processes, stand_ins, surroundings, threads, turn
from _hatchway.capabilities import ToolError, Tools, awaitable, compile_module, later
from _hatchway.displays import add_figure, backend, display, displays, keeping_backend
from _hatchway.immortals import immortalize
from _hatchway.notebook import get_ipython

# Part of the image: importing them in a session costs nothing, neither time nor memory.
PRELOADED = [
    "numpy",
    "pandas",
    "matplotlib.pyplot",
    "scipy.stats",
    "scipy.optimize",
    "scipy.signal",
    "scipy.interpolate",
    "scipy.integrate",
    "scipy.sparse.linalg",
    "sklearn.linear_model",
    "sklearn.ensemble",
    "sklearn.cluster",
    "sklearn.model_selection",
    "sklearn.metrics",
    "sklearn.preprocessing",
    "sklearn.pipeline",
    "sklearn.decomposition",
    "sklearn.neighbors",
    "sklearn.svm",
    "sklearn.tree",
    "sklearn.datasets",
    "statsmodels.api",
    "statsmodels.formula.api",
    "seaborn",
    "sympy",
    "networkx",
    "PIL.Image",
    "PIL.ImageDraw",
    "bs4",
    "lxml.etree",
    "lxml.html",
    "openpyxl",
    "xlsxwriter",
    "yaml",
    "jinja2",
    "sqlite3",
    "pypdf",
    "reportlab.pdfgen.canvas",
    "regex",
    "html5lib",
    "tabulate",
    "tqdm",
    "attrs",
    "dateutil.parser",
    "dateutil.relativedelta",
    "decimal",
    "fractions",
    "statistics",
    "datetime",
    "csv",
    "hashlib",
    "uuid",
    "tempfile",
    "zipfile",
    "tarfile",
    "unittest",
    "logging",
    "urllib.parse",
    "urllib.request",
    "http.client",
    "xml.etree.ElementTree",
    "xml.dom.minidom",
    "concurrent.futures",
    "email.message",
    "html",
    "pickle",
    "shelve",
    "heapq",
    "bisect",
    "typing",
    "dataclasses",
    "pathlib",
    "shutil",
    "glob",
    "fnmatch",
    "argparse",
    "textwrap",
    "string",
    "secrets",
    "zoneinfo",
    "calendar",
    "configparser",
    "tomllib",
    "contextlib",
    "functools",
    "itertools",
    "collections",
    "copy",
    "pprint",
    "timeit",
    "queue",
    "threading",
    "doctest",
    "gzip",
    "bz2",
    "lzma",
    "struct",
    "numbers",
    "cmath",
    "weakref",
]


GAP_MAX = 1 << 16


def drive(source, environ):
    """Stands in for the driver's `turn`, with the driver's globals. Answers with a status, and whether to quit."""
    if environ is not None:
        _setup(environ)  # noqa: F821
    _run_turn(source)  # noqa: F821
    return 0, False


def install():
    builtins.tools = Tools()
    builtins.display = display
    builtins.get_ipython = get_ipython
    builtins.__hatchway_awaitable__ = awaitable
    builtins.__hatchway_later__ = later
    builtins.ToolError = ToolError
    sys.getrecursionlimit, sys.setrecursionlimit = surroundings.own_recursion_limit, surroundings.limited_recursion
    hide_frame, loader = surroundings.hide_frame, _frozen_importlib_external.SourceLoader
    _frozen_importlib._find_and_load = hide_frame(surroundings.find_and_load_deeply, _frozen_importlib._find_and_load)
    loader.source_to_code = hide_frame(compile_module, loader.source_to_code)
    errors.install()
    absent.install()
    stand_ins.install()
    threads.install()
    permissions.install()
    loop.install()
    processes.install()
    canvas = types.ModuleType("_hatchway_backend")
    canvas.__getattr__ = backend
    sys.modules["_hatchway_backend"] = canvas
    sys.path.insert(0, "")
    sys.path.append(f"/usr/local/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")
    os.makedirs("/workspace", exist_ok=True)
    os.chdir("/workspace")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    # The driver keeps its function `turn`, not its name: the function stays and does something else.
    _reactor._run_turn = turn.take_turn
    _reactor.turn.__code__ = drive.__code__


def preload():
    for name in PRELOADED:
        importlib.import_module(name)
    # Work buffers and caches that libraries make at first use belong in the image too, not in every session.
    import matplotlib.pyplot as plt
    import numpy as np
    import pandas as pd
    import tqdm
    from sklearn.linear_model import LinearRegression

    plt.switch_backend = keeping_backend(plt.switch_backend)
    tqdm.tqdm.monitor_interval = 0  # its monitor is a thread
    np.linalg.inv(np.eye(4) @ np.eye(4))
    LinearRegression().fit(np.eye(4), np.arange(4.0))
    repr(pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}).describe())
    plt.plot([1, 2, 3])
    plt.title("warm-up")
    add_figure(plt.gcf())
    plt.close("all")
    sys.modules["matplotlib.font_manager"]._get_font.cache_clear()  # it keeps font files open
    displays.clear()
    gc.collect()


def settle():
    """The last thing before the image is frozen: forget the warm-up."""
    turn.count = -1  # one more warm-up turn follows
    loop.session_loop = None
    threading._counter = itertools.count(1).__next__  # of names
    for filename in turn.sources:
        linecache.cache.pop(filename, None)
    turn.sources.clear()
    turn.kept_chars = 0
    gc.collect()
    # Small gaps between objects are taken for ever: sessions then put theirs side by side, on few pages of their own.
    gaps = [piece for piece in free_pieces() if len(piece) < GAP_MAX]
    immortalize()
    gaps.clear()
    # What is free is zeros: what sessions write there is then not mixed with remains of the warm-up, which every snapshot would
    # have to carry.
    free_pieces()
    gc.freeze()


def free_pieces():
    """All free memory, in pieces of zeros."""
    held = []
    size = 3 << 19  # more than any piece that is free
    end = id(bytes(size))  # from there on memory grows
    while size >= 32:
        one = bytes(size - 24)
        if id(one) < end:
            held.append(one)
        else:
            size //= 2
    return held
