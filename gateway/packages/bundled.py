"""Packages that guests have already: part of their Python, with fixed versions."""

from __future__ import annotations

import functools
import re
import zipfile
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wasm_modules.pinned import BUILT, PYTHON_LIBRARY

_INFO: Final = re.compile(r"([A-Za-z0-9_.]+)-([^/-]+)\.dist-info/METADATA")


@functools.cache
def list_bundled() -> dict[str, Version]:
    """By canonical name."""
    found: dict[str, Version] = {}
    with zipfile.ZipFile(BUILT / PYTHON_LIBRARY) as library:
        for name in library.namelist():
            if told := _INFO.fullmatch(name):
                try:
                    found[canonicalize_name(told[1])] = Version(told[2])
                except InvalidVersion:
                    continue
    return found
