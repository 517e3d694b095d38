"""Specs: what a hook is, as people write it, and the one check that all specs pass.

Rules: `check_specs` refuses at configuration time with every mistake at once; `build_specs` is for specs that are stored already:
it drops what is wrong and says so. An id is `user:{name}`; a spec without one is named `{event}_{idx}` after its place in its
list, so that two never collide, and equal ids are refused. Hooks of a policy were checked by its compiler and are only converted:
they have the source `policy` and, since the policy has matched them, an empty matcher. Does not know: how hooks are run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from gateway.errors import Unprocessable
from gateway.hooks.events import HookEvent
from gateway.hooks.matchers import Matcher, find_mistakes
from policy import HookCall
from sandbox.languages import LANGUAGE_OF_HOOK

OnError = Literal["block", "allow", "warn"]
if TYPE_CHECKING:
    ExecutorType = str
else:  # checked when a spec is decoded
    ExecutorType = Literal[(*LANGUAGE_OF_HOOK, "wasm", "webhook")]

TIMEOUT_MS: Final = 5000
TIMEOUT_MS_RANGE: Final = (100, 30_000)
ENV_MAX: Final = 16
ENV_VALUE_BYTES_MAX: Final = 4096
COMMAND_BYTES_MAX: Final = 64 << 10
"""The dispatcher's input limit: a longer script belongs into a file."""
SPECS_MAX: Final = 64
_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_PROGRAM: Final = re.compile(r"(?!.*(?:^|/)\.\.?(?:/|$))[A-Za-z0-9_.\-][A-Za-z0-9_./\-]{0,254}")
PROGRAM_NAMES: Final = "must be a relative path of letters, digits, '_', '-' and '.', without '..'"


class Executor(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a hook is run. The contract has `bash` with `command` and `env`; the rest is ours.

    `command` is the program's text and `program` the name of a stored one (a script, or the wasm module); `url` is where a
    webhook goes and `secret` the name of the key that signs it.
    """

    type: ExecutorType = msgspec.field(default_factory=lambda: "bash")  # so that it is always shown
    command: str | None = None
    env: dict[str, str] = {}
    program: str | None = None
    url: str | None = None
    secret: str | None = None


class UserHookSpec(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    event: HookEvent
    matcher: Matcher = Matcher()
    executor: Executor
    timeout_ms: int = TIMEOUT_MS
    on_error: OnError = "warn"
    description: str | None = None
    source: str = "user"
    uses: tuple[str, ...] = ()
    """Ours: the capabilities the hook's program may call. Only a policy grants them."""
    sha256: str = ""
    """Ours: the digest of the one program that may run. Only a policy says so."""


_KINDS: Final[dict[str, Any]] = {
    "event": HookEvent,
    "matcher": Matcher | None,
    "executor": Executor,
    "timeout_ms": Annotated[int, Meta(ge=TIMEOUT_MS_RANGE[0], le=TIMEOUT_MS_RANGE[1])],
    "on_error": OnError,
    "description": Annotated[str, Meta(max_length=1000)] | None,
}
"""The fields that are read as they are written."""
_SHAPES: Final = {
    "event": f"one of {', '.join(event.value for event in HookEvent)}",
    "timeout_ms": f"a whole number from {TIMEOUT_MS_RANGE[0]} to {TIMEOUT_MS_RANGE[1]}",
    "on_error": "block, allow or warn",
    "description": "a text of at most 1000 characters",
}


class Mistake(msgspec.Struct, frozen=True):
    """`where` is a path such as `hooks[2].executor.command`."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class InvalidHooks(Unprocessable):
    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__("INVALID_HOOKS", "\n".join(map(str, mistakes)))
        self.mistakes = tuple(mistakes)


def is_program_name(name: str) -> bool:
    return _PROGRAM.fullmatch(name) is not None


def check_specs(raw: object) -> tuple[UserHookSpec, ...]:
    """The specs in decoded JSON, or `InvalidHooks` with every mistake in them."""
    specs, mistakes = build_specs(raw)
    if mistakes:
        raise InvalidHooks(mistakes)
    return specs


def build_specs(raw: object) -> tuple[tuple[UserHookSpec, ...], tuple[Mistake, ...]]:
    """The specs that are right, and what is wrong with the others."""
    if not isinstance(raw, list):
        return (), (Mistake("hooks", "must be a list of hooks"),)
    if len(raw) > SPECS_MAX:
        return (), (Mistake("hooks", f"there may be {SPECS_MAX} hooks at most, not {len(raw)}"),)
    specs: dict[str, UserHookSpec] = {}
    mistakes: list[Mistake] = []
    for position, item in enumerate(raw):
        reading = _Reading(f"hooks[{position}]", item)
        spec = reading.read(position)
        if spec is not None and spec.id in specs:
            reading.wrong("id", f"another hook has the id {spec.id!r} already")
        elif spec is not None:
            specs[spec.id] = spec
        mistakes += reading.mistakes
    return tuple(specs.values()), tuple(mistakes)


class _Reading:
    """Reads one spec and collects what is wrong with it."""

    def __init__(self, where: str, raw: object) -> None:
        self.mistakes: list[Mistake] = []
        self._where = where
        self._raw: Mapping[str, Any] = raw if isinstance(raw, dict) else {}
        if not isinstance(raw, dict):
            self.wrong("", "a hook is an object with at least event and executor")

    def wrong(self, field: str, message: str) -> None:
        self.mistakes.append(Mistake(f"{self._where}.{field}" if field else self._where, message))

    def read(self, position: int) -> UserHookSpec | None:
        raw = self._raw
        if self.mistakes:
            return None
        for name in sorted(raw.keys() - set(UserHookSpec.__struct_fields__) | raw.keys() & {"uses", "sha256"}):
            self.wrong(str(name)[:80], "no such field")
        if raw.get("source", "user") != "user":
            self.wrong("source", "this list belongs to 'user'; leave it out")
        found = {name: self._convert(name, kind) for name, kind in _KINDS.items() if name in raw or name in ("event", "executor")}
        event, matcher, executor = found.get("event"), found.get("matcher"), found.get("executor")
        hook_id = self._read_id(event, position)
        if matcher is not None and event is not None:
            for wrong in find_mistakes(matcher, event):
                field, _, message = wrong.partition(": ")
                self.wrong(f"matcher.{field}", message)
        if executor is not None:
            self._check_executor(executor)
        if self.mistakes:
            return None
        return UserHookSpec(id=hook_id, **{name: value for name, value in found.items() if value is not None})

    def _convert(self, name: str, kind: Any) -> Any:
        value = self._raw.get(name)
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            self.wrong(name, f"must be {_SHAPES[name]}, not {value!r:.60}" if name in _SHAPES else str(error))
        except RecursionError:
            self.wrong(name, "is nested too deeply")
        return None

    def _read_id(self, event: HookEvent | None, position: int) -> str:
        name = self._raw.get("id")
        if name is None:
            return f"user:{event.value if event else 'hook'}_{position}"
        if not isinstance(name, str) or not _NAME.fullmatch(name.removeprefix("user:")):
            self.wrong("id", "must be 1 to 64 letters, digits, '_', '-' or '.', perhaps after 'user:'")
        return f"user:{str(name).removeprefix('user:')}"

    def _check_executor(self, executor: Executor) -> None:
        kind = executor.type
        given = {name for name in ("command", "program", "url", "secret") if getattr(executor, name) is not None}
        if kind in LANGUAGE_OF_HOOK:
            if len(given & {"command", "program"}) != 1:
                self.wrong("executor", f"a {kind} hook needs command (its text) or program (a stored file), one of them")
            allowed = {"command", "program"}
        elif kind == "wasm":
            allowed = {"program"}
            if "program" not in given:
                self.wrong("executor.program", "is missing: the name of a stored wasm module")
        else:
            allowed = {"url", "secret"}
            self._check_url(executor.url)
        for name in sorted(given - allowed):
            self.wrong(f"executor.{name}", f"means nothing for a {kind} hook")
        if executor.command is not None and len(executor.command.encode("utf-8", "replace")) > COMMAND_BYTES_MAX:
            self.wrong("executor.command", f"may have {COMMAND_BYTES_MAX} bytes at most")
        if executor.command is not None and (not executor.command.strip() or "\0" in executor.command):
            self.wrong("executor.command", "must be a program, without NUL bytes")
        if executor.program is not None and not is_program_name(executor.program):
            self.wrong("executor.program", PROGRAM_NAMES)
        self._check_env(executor.env)

    def _check_url(self, url: str | None) -> None:
        try:
            parts = urlsplit(url or "")
            fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        except ValueError:
            fine = False
        if not fine or len(url or "") > 2048:
            self.wrong("executor.url", "must be an http or https address without a user name in it")

    def _check_env(self, env: Mapping[str, str]) -> None:
        if len(env) > ENV_MAX:
            self.wrong("executor.env", f"may have {ENV_MAX} variables at most, not {len(env)}")
        for name, value in env.items():
            if not _ENV_NAME.fullmatch(name):
                self.wrong(f"executor.env.{name[:40]}", "is not a variable's name")
            if len(value.encode("utf-8", "replace")) > ENV_VALUE_BYTES_MAX or "\0" in value:
                self.wrong(f"executor.env.{name[:40]}", f"may have {ENV_VALUE_BYTES_MAX} bytes at most, without NUL")


def from_policy(calls: Iterable[HookCall], *, target: str | None = None) -> tuple[UserHookSpec, ...]:
    """The hooks that a policy's decision lists. `target` is the capability decided about, None for a session's events."""
    return tuple(
        UserHookSpec(
            id=f"policy:{call.name}",
            event=HookEvent(f"{call.phase}_run" if target == "run" else call.event),
            executor=Executor(type="webhook", url=call.program)
            if call.executor == "webhook"
            else Executor(type=call.executor, program=call.program),
            timeout_ms=call.timeout_ms,
            on_error=call.on_error,  # type: ignore[arg-type]
            source="policy",
            uses=call.uses,
            sha256=call.sha256,
        )
        for call in calls
    )
