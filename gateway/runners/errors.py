"""What runners refuse and how they fail, as the gateway's errors with the contract's words.

    GatewayError
    ├── BadRequest      RUNNER_INVALID, PATH_REQUIRED, PATH_NOT_A_FILE, RUNNER_SECRET_IN_CONFIG, RUNNER_UNKNOWN_PROVIDER
    ├── Forbidden       PATH_OUTSIDE_WORKSPACE, PATH_READ_ONLY, PORT_NOT_EXPOSED
    ├── NotFound        PATH_NOT_FOUND, RUNNER_NOT_FOUND, and RUNNER_STALE for a session that is no more
    ├── Conflict        RUNNER_BUSY, RUNNER_PAUSED
    ├── TooLarge        RUNNER_TOO_LARGE
    ├── Unsupported     RUNNER_UNSUPPORTED
    └── Unavailable     RUNNER_UNAVAILABLE: the place cannot be reached or did not do what it was asked

THREAT[TM-RUN-LEAK]: messages carry what the caller wrote and names the contract gives, never a path of the host, the text of
an exception from below or the value of a secret. A workspace is named by its session's id.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gateway.errors import BadRequest, Conflict, Forbidden, NotFound, TooLarge, Unavailable, Unsupported

_SHOWN = 200

invalid = partial(BadRequest, "RUNNER_INVALID")
unsupported = partial(Unsupported, "RUNNER_UNSUPPORTED")
unavailable = partial(Unavailable, "RUNNER_UNAVAILABLE")
busy = partial(Conflict, "RUNNER_BUSY")
"""With a message, and a hint if there is one."""


def display(text: str) -> str:
    """What a caller wrote, safe to repeat."""
    return "".join(c if c.isprintable() else "�" for c in text[:_SHOWN]) + ("…" if len(text) > _SHOWN else "")


def path_required() -> BadRequest:
    return BadRequest("PATH_REQUIRED", "path is required")


def outside(path: str, workspace: str) -> Forbidden:
    return Forbidden("PATH_OUTSIDE_WORKSPACE", f"path {display(path)} is outside workspace {workspace}")


def read_only(path: str) -> Forbidden:
    return Forbidden("PATH_READ_ONLY", f"path {display(path)} is read-only")


def absent(path: str) -> NotFound:
    return NotFound("PATH_NOT_FOUND", f"path {display(path)} does not exist")


def not_a_file(path: str, why: str = "is not a regular file") -> BadRequest:
    return BadRequest("PATH_NOT_A_FILE", f"path {display(path)} {why}")


def too_large(what: str, limit_bytes: int) -> TooLarge:
    return TooLarge("RUNNER_TOO_LARGE", f"{what} has more than {limit_bytes} bytes")


def no_room(limit_bytes: int) -> TooLarge:
    return TooLarge(
        "RUNNER_TOO_LARGE", f"the files of this session take more than the {limit_bytes} bytes they may",
        "delete some: DELETE …/entries",
    )  # fmt: skip


def unknown_provider(provider_id: str, known: Iterable[str], setting: str) -> BadRequest:
    """`known` are those that are offered here; `setting` is what an operator sets to offer this one, if it exists."""
    hint = f"it is offered where the operator sets {setting}" if setting else f"use: {', '.join(known)}"
    return BadRequest("RUNNER_UNKNOWN_PROVIDER", f"runner provider {display(provider_id)} is not known", hint)


def unknown(kind: str, name: str) -> NotFound:
    return NotFound("RUNNER_NOT_FOUND", f"runner {kind} not found: {display(name)}")


def stale(session_id: str) -> NotFound:
    return NotFound("RUNNER_STALE", f"runner session {display(session_id)} is no more", "a fresh one is made at the next use")


def removed(destination_id: str) -> NotFound:
    hint = "bind the thread to another one"
    return NotFound("RUNNER_NOT_FOUND", f"runner destination {display(destination_id)} was removed", hint)


def in_use(command_id: str) -> Conflict:
    hint = "wait for it, cancel it, or give this one another command_id"
    return Conflict("RUNNER_BUSY", f"command {display(command_id)} is under way already", hint)


def left(command_id: str, on_restart: str) -> Unavailable:
    fate = "goes on without it" if on_restart == "keep" else "is begun again by the next one"
    return unavailable(f"the gateway stops, and command {display(command_id)} {fate}", "ask again when the gateway is back")


def paused(session_id: str) -> Conflict:
    return Conflict("RUNNER_PAUSED", f"runner session {display(session_id)} is paused", "resume it first")


def not_exposed(port: int) -> Forbidden:
    return Forbidden("PORT_NOT_EXPOSED", f"port {port} is not exposed")


def secret_in_config(key: str) -> BadRequest:
    return BadRequest(
        "RUNNER_SECRET_IN_CONFIG",
        f"config key {display(key)} looks like a secret; destinations are persisted",
        'name a secret by reference: {"id": …}',
    )
