"""Ports: what executors need of others, and what they answer with. Types only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from gateway.hooks.jobs import Changes
from gateway.hooks.outputs import HookOutput

MAX_OUTPUT_BYTES: Final = 65536


class ExecutorOpts(msgspec.Struct, frozen=True):
    """`max_output_bytes` is of stdout and stderr together."""

    timeout_ms: int = 5000
    max_output_bytes: int = MAX_OUTPUT_BYTES


class Ran(msgspec.Struct, frozen=True):
    """What came of one hook: its answer, the files it left, and what there was to see. `attempts` counts a webhook's requests."""

    output: HookOutput
    changes: Changes = Changes()
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    attempts: int = 1


class Programs(Protocol):
    """Stored programs of hooks. Never the session's own files: a program must not write the hook that judges it."""

    async def load(self, source: str, name: str) -> bytes | None:
        """The program `name` of `source` (`policy`, `user` or a capability), or None if there is none."""


class Answer(Protocol):
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Any: ...
    @property
    def body(self) -> bytes: ...


Decide = Callable[[str, int, str], None]
"""The policy's word on (host, port, scheme): nothing, or `EgressRefused`."""


class Egress(Protocol):
    """The guarded client (`gateway.egress`). Raises `EgressRefused` or `EgressFailed`."""

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_ms: int,
        max_response_bytes: int,
        follow_redirects: bool,
        decide: Decide | None = None,
    ) -> Answer: ...


class SigningKeys(Protocol):
    async def key(self, name: str) -> bytes | None:
        """The key that signs webhooks, by its name, or None."""
