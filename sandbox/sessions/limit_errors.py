"""What a run says of a limit: which one ended it, its value, what became of what the run did, and who can raise it.

Rules: one wording for every language, here and in the service. A message names `limits.NAME` only if raising that limit would
have helped; the stack that an engine itself has is none of them. Does not know: policies, which only make a ceiling lower.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from sandbox.filesystem.inode_table import VfsLimits
from sandbox.limits import LIMIT_OF_CODE, LIMITS, SessionLimits
from sandbox.wire import Diagnostic, ErrorObject, Severity

UNDONE: Final = "the run was undone: files and variables are as before it"
KEPT: Final = "what it did until then is kept"
FILES_KEPT: Final = "its files are kept, its variables are as before it"
LIMIT_LOWERED: Final = "LIMIT_LOWERED"
FILES_EXCEEDED: Final = "FILES_EXCEEDED"
_REFUSED: Final = {
    "file_bytes": "a write was refused: a file of this session has at most {} bytes",
    "total_bytes": "a write was refused: the files of this session have at most {} bytes together",
    "entries_max": "a new name was refused: this session has at most {} files and directories",
}
_SMALLER: Final = "remove files, or write less; the host chooses these limits when it opens the session"
_NAMED_MAX: Final = 5
_asdict = msgspec.structs.asdict


def find_limit(error: ErrorObject) -> str | None:
    """The limit that an error is of, and that would have had to be higher."""
    name = LIMIT_OF_CODE.get(error.code)
    is_engines_own = name == "max_stack_depth" and error.hint is not None and name not in error.hint
    return None if is_engines_own else name


def explain_end(
    error: ErrorObject,
    limits: SessionLimits,
    hint: str | None,
    became: str,
    calls: int,
    taken_mb: int,
    unfinished: Sequence[str] = (),
) -> ErrorObject:
    """The error of a run that was ended from outside. `limits` are what it was given, `taken_mb` what files of earlier runs took
    of its memory, `became` is said of its work, of which the files `unfinished` were being written; what its `calls` did outside
    of the sandbox cannot be undone."""
    name, message = find_limit(error), error.message
    if became in message:  # a recorded run is played again, to its end
        return error
    if name is not None:
        files = f", of which files that runs wrote take {taken_mb}" if taken_mb and name == "memory_mb" else ""
        message += f" (limits.{name} is {getattr(limits, name)}{files})"
    message += f"; {became}"
    if unfinished:
        names = list(dict.fromkeys(unfinished))
        others = f" and {len(names) - _NAMED_MAX} others" if len(names) > _NAMED_MAX else ""
        message += f"; it was writing {', '.join(names[:_NAMED_MAX])}{others}, which may be incomplete"
    if calls and became != KEPT:
        message += f"; what its {calls} capability call{'s' * (calls > 1)} did outside is not undone"
    return msgspec.structs.replace(error, message=message, hint=hint if name is not None else error.hint)


def say_who_raises(
    error: ErrorObject, asked: SessionLimits | None, own: SessionLimits, most: SessionLimits | None = None
) -> str | None:
    """Who can raise the limit that ended a run: the request, if it `asked` for less than the session has (`own`) and is allowed
    (`most`); else who opens the session, or the policy's author. None if the error is of no limit."""
    name = find_limit(error)
    if name is None:
        return None
    ceiling = getattr(own if most is None else most, name)
    if asked is not None and getattr(asked, name) < ceiling:
        also = " or timeout_ms" if name == "wall_ms" else ""
        return f"the run asked for less than it may have: raise its limits.{name}{also}, to at most {ceiling}"
    if ceiling < getattr(own, name):
        return f"the policy allows no more: its author can raise {LIMITS[name].setting}"
    return f"a run cannot raise it: open the session with larger limits.{name}, at most {LIMITS[name].most}"


def tell_lowered(
    asked: SessionLimits | None, timeout_ms: int | None, own: SessionLimits, most: SessionLimits | None = None
) -> list[Diagnostic]:
    """What a run is told at once if it `asked` for more than it gets; or, if it asked for nothing, its session did (`own`), of
    which the policy leaves `most`."""
    if asked is None and timeout_ms is None and most is None:
        return []
    most = own if most is None else most
    wanted = {name: value for name, value in _asdict(asked or own).items() if asked or value != LIMITS[name].default}
    if timeout_ms is not None:
        wanted["wall_ms"] = timeout_ms
    return [
        Diagnostic(
            severity=Severity.WARNING,
            code=LIMIT_LOWERED,
            message=f"limits.{name} is {ceiling} for this run, not {value}: the {by} allows no more",
        )
        for name, value in wanted.items()
        if value > (ceiling := getattr(most, name)) and (by := "policy" if ceiling < getattr(own, name) else "session")
    ]


def tell_refused(refused: Collection[str], limits: VfsLimits) -> list[Diagnostic]:
    """What a run is told of its filesystem's limits: programs say no more than that a file is too large, or nothing at all."""
    return [
        Diagnostic(
            severity=Severity.WARNING, code=FILES_EXCEEDED, message=_REFUSED[name].format(getattr(limits, name)), hint=_SMALLER
        )
        for name in sorted(refused)
    ]
