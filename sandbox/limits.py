"""Limits of a run: the one table of what is limited, its bounds, and where else each limit has a name.

Rules: a new limit is a field of `SessionLimits` and a row of `LIMITS`, in addition to the code that enforces it
(`sandbox.engine.limits` or the engine) and its setting in policies (`policy.model.settings`). Fields are the contract's. Does not
know: how a limit is enforced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec


class _WithDefaults(msgspec.StructMeta):
    """Calling the class fills in the defaults of `LIMITS`; decoding does not, because the contract requires every field there."""

    def __call__(cls, **given: int) -> Any:
        return super().__call__(**{**_DEFAULTS, **given})


class SessionLimits(msgspec.Struct, metaclass=_WithDefaults, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`SessionLimits(memory_mb=256)` has the contract's defaults for the others. All are required when decoded from the wire."""

    if TYPE_CHECKING:
        memory_mb: int = 64
        cpu_ms: int = 2000
        wall_ms: int = 5000
        max_stdout_bytes: int = 65536
        max_external_calls: int = 32
        max_stack_depth: int = 256
    else:
        memory_mb: int
        cpu_ms: int
        wall_ms: int
        max_stdout_bytes: int
        max_external_calls: int
        max_stack_depth: int


class Limit(NamedTuple):
    """`setting` is its name in a policy's decision, in units of which `per_unit` are one of ours; `code` is the error of a run
    that it ends; `option` is its command-line option, described by `help`."""

    default: int
    most: int
    setting: str
    least: int = 1
    per_unit: int = 1
    code: str | None = None
    option: str | None = None
    help: str = ""


LIMITS: Final[dict[str, Limit]] = {
    "wall_ms": Limit(
        5000, 3_600_000, "wall_ms", code="TIMEOUT_WALL",
        option="timeout_ms", help="wall clock limit, waiting for standard input included",
    ),
    "cpu_ms": Limit(2000, 3_600_000, "cpu_ms", code="TIMEOUT_CPU", option="cpu_ms", help="CPU time limit"),
    "memory_mb": Limit(
        64, 2048, "memory_bytes", per_unit=1 << 20, code="MEMORY_EXCEEDED", option="memory_mb", help="memory limit"
    ),
    "max_stdout_bytes": Limit(
        65536, 64 << 20, "output_bytes", least=0, option="max_output_bytes", help="limit of stdout and stderr together"
    ),
    "max_external_calls": Limit(32, 1_000_000, "external_calls", least=0, code="EXTERNAL_CALLS_EXCEEDED"),
    "max_stack_depth": Limit(
        256, 10_000, "stack_depth", code="STACK_OVERFLOW", option="max_stack_depth", help="recursion limit"
    ),
}  # fmt: skip
"""In the order of the command line's help."""
_DEFAULTS: Final = {name: limit.default for name, limit in LIMITS.items()}
DEFAULT_LIMITS: Final = SessionLimits()
LIBRARY_LIMITS: Final = SessionLimits(max_stack_depth=1000)
"""Of sessions that the library and the command line start: the contract's, but for as many frames as Python has by itself."""
MOST: Final = SessionLimits(**{name: limit.most for name, limit in LIMITS.items()})
LIMIT_OF_CODE: Final = {limit.code: name for name, limit in LIMITS.items() if limit.code is not None}
LIMIT_OF_OPTION: Final = {limit.option: name for name, limit in LIMITS.items() if limit.option is not None}
_SETTINGS: Final = [(name, limit.setting, limit.per_unit) for name, limit in LIMITS.items()]
_FIELDS: Final = SessionLimits.__struct_fields__
_astuple = msgspec.structs.astuple


def lower(ceiling: SessionLimits, asked: SessionLimits | None, timeout_ms: int | None = None) -> SessionLimits:
    """The smaller of each. `timeout_ms` takes the place of `wall_ms`, under the same ceiling."""
    if asked is None and timeout_ms is None:
        return ceiling
    lowest = dict(zip(_FIELDS, _astuple(ceiling) if asked is None else map(min, _astuple(ceiling), _astuple(asked)), strict=True))
    if timeout_ms is not None:
        lowest["wall_ms"] = min(ceiling.wall_ms, timeout_ms)
    return SessionLimits(**lowest)


def lower_to_settings(limits: SessionLimits, settings: dict[str, int]) -> SessionLimits:
    """`limits`, at most as a policy's decision allows, which names and measures them in its own way."""
    lowest = {
        name: most
        for name, setting, per_unit in _SETTINGS
        if (given := settings.get(setting)) is not None
        and (most := given if per_unit == 1 else max(1, given // per_unit)) < getattr(limits, name)
    }
    return msgspec.structs.replace(limits, **lowest) if lowest else limits
