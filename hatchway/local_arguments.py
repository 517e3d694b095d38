"""What only a sandbox in this process is handed, checked as in `hatchway.arguments`: its tools, its filesystem's limits, keys and
files of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchway.arguments import Limits, check_kind, complete_limits, copy_mapping, refuse_kind
from sandbox.capabilities.registry import Capability, Registry
from sandbox.errors import RequestError
from sandbox.excerpts import excerpt
from sandbox.filesystem.inode_table import VfsLimits
from sandbox.limits import LIBRARY_LIMITS
from sandbox.wire import SessionLimits

if TYPE_CHECKING:
    from sandbox.encoding.sealing import Keys

Tools = Mapping[str, Callable[..., Any]] | Registry | None


def start_limits(given: Limits) -> SessionLimits:
    """Of a session that is started with these."""
    return complete_limits(given, LIBRARY_LIMITS) or LIBRARY_LIMITS


def build_registry(tools: Tools) -> Registry:
    if isinstance(tools, Registry):
        for one in tools:
            if one.approval_policy not in ("none", "manual"):
                told = f"{one.name}: its approval_policy asks a rule of a policy, and there is none here"
                raise RequestError("INVALID_ARGUMENT", told, 'declare it as "manual", or run it under a gateway')
        return tools
    registry = Registry()
    for name, function in copy_mapping("tools", tools).items():
        registry.register(Capability(name=name, description=(function.__doc__ or "").strip()), function)
    return registry


def check_files(given: VfsLimits | None) -> VfsLimits | None:
    if given is None:
        return None
    if not isinstance(given, VfsLimits):
        raise refuse_kind("files", "VfsLimits", given)
    for name in VfsLimits.__slots__:
        value = getattr(given, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise RequestError("INVALID_ARGUMENT", f"files.{name} must be a whole number, not {excerpt(value)}")
    return given


def choose_keys(keys: Keys | None) -> Keys:
    """Those given, or this user's own."""
    from sandbox.encoding.sealing import Keys, local_keys

    if keys is None:
        return local_keys()
    return check_kind("keys", keys, Keys)


def check_path(name: str, path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise refuse_kind(name, "the path of a file", path)
    return Path(path)
