"""Hatchling's hook: a wheel carries the compiled guests, so that installing it needs no compiler."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root)))
        from wasm_modules.build import build_all, show

        build_all(progress=show)
