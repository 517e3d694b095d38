"""Firing: the whole way of an event through its hooks, in one function.

Rules: hooks run one after another, in the order given; each sees what the ones before it rewrote, and so does its matcher. The
first block wins and ends the firing; rewrites made before it stay. A hook that fails is decided by its own `on_error`, visibly:
every outcome is returned, for the audit. THREAT[TM-HOOK-007]: after every rewrite of something that will be done, the policy is
asked again (`recheck`); a check that fails has refused. Files that hooks wrote are in `changes` if the hook succeeded; the caller
applies them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from gateway.hooks.events import AFTER_EVENTS, BLOCKABLE_EVENTS, LIFECYCLE_EVENTS, HookEvent
from gateway.hooks.matchers import Match, is_muted, match
from gateway.hooks.merging import BadPatch, apply_patch, withhold
from gateway.hooks.outputs import Allow, Block, Error, Mutate, Ran, make_timeout
from gateway.hooks.payloads import HookPayload, Occasion, make_payload
from gateway.hooks.specs import UserHookSpec
from sandbox.wire import Diagnostic, Severity
from sandbox.workers.interface import FileChanges

_GRACE_SECONDS: Final = 2.0
"""For what an executor does around a hook's own time; past it the hook counts as timed out."""
_COMPILE_SECONDS: Final = 20.0
_SHOWN_CHARACTERS: Final = 500

Effect = Literal["continued", "rewrote", "blocked", "withheld", "ignored", "failed_open", "warned", "denied"]
"""What an answer did. `ignored`: the event cannot be blocked or rewritten. `failed_open`: it failed and `on_error` is allow.
`denied`: the policy refused what it had rewritten."""


RunHook = Callable[[UserHookSpec, HookPayload, tuple[FileChanges, ...]], Awaitable[Ran]]
"""Runs one hook: `Executors.run`, or something around it."""
Recheck = Callable[[Mapping[str, Any]], str | None]
"""Decides again about something a hook rewrote: None if it may still happen, or the reason why not."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One hook's part, for the audit. `reason` is a block's or a rewrite's reason, an error's message or the policy's refusal."""

    hook_id: str
    event: HookEvent
    decision: str
    effect: Effect
    reason: str | None = None
    user_message: str | None = None
    on_error: str
    duration_ms: float
    attempts: int = 1
    stderr: str = ""
    changed_files: int = 0


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an event. `blocked` and `withheld` are reasons, or None; `skipped` are hooks that did not fire, and why."""

    event: HookEvent
    data: Mapping[str, Any]
    blocked: str | None = None
    blocked_by: str | None = None
    withheld: str | None = None
    rewrote: bool = False
    user_messages: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    changes: tuple[FileChanges, ...] = ()


def warnings(fired: Fired) -> list[Diagnostic]:
    """What the caller is told of hooks: what they say to people, and which of them failed and are set to warn."""
    said, failed = [], []
    for outcome in fired.outcomes:
        hook = f"the hook {outcome.hook_id}"
        if text := outcome.user_message:
            said.append(Diagnostic(severity=Severity.INFO, code="HOOK_MESSAGE", message=text, hint=f"said by {hook}"))
        if outcome.effect == "warned" and outcome.on_error == "warn":
            text, hint = f"{hook} failed: {outcome.reason}", "it went on without it, because the hook's on_error is warn"
            failed.append(Diagnostic(severity=Severity.WARNING, code="HOOK_FAILED", message=text, hint=hint))
    return said + failed


class Step(msgspec.Struct, frozen=True):
    """What one answer does to the data."""

    effect: Effect
    data: Mapping[str, Any]
    reason: str | None = None


async def fire(
    occasion: Occasion,
    hooks: Sequence[UserHookSpec],
    run: RunHook,
    recheck: Recheck | None = None,
    *,
    muted: tuple[str, ...] = (),
    clock_ms: Callable[[], int],
) -> Fired:
    """Match, run, judge and merge every hook of the event, until one blocks."""
    event, fired = occasion.event, Fired(event=occasion.event, data=occasion.data)
    for spec in hooks:
        found = is_due(spec, event, fired.data, muted)
        if not found.fires:
            fired = msgspec.structs.replace(fired, skipped=(*fired.skipped, (spec.id, found.why)))
            continue
        started_ns = time.perf_counter_ns()
        ran = await _run(spec, occasion, fired, run, clock_ms())
        step = judge(spec, event, fired.data, ran)
        if step.effect == "rewrote" and event in BLOCKABLE_EVENTS and recheck is not None:
            step = _ask_again(recheck, step)
        fired = _add(fired, spec, ran, step, (time.perf_counter_ns() - started_ns) / 1e6)
        if fired.blocked is not None:
            break
    return fired


def is_due(spec: UserHookSpec, event: HookEvent, data: Mapping[str, Any], muted: tuple[str, ...]) -> Match:
    if spec.event is not event:
        return Match(False, f"it is for {spec.event.value}, not for {event.value}")
    # A policy's hooks are part of what was proved: no glob of a tenant's reaches them.
    if spec.source != "policy" and is_muted(spec.id, muted):
        return Match(False, "it is muted")
    return match(spec.matcher, event, data)


async def _run(spec: UserHookSpec, occasion: Occasion, fired: Fired, run: RunHook, now_ms: int) -> Ran:
    payload = make_payload(occasion, spec.id, fired.data, now_ms)
    grace = _GRACE_SECONDS + (_COMPILE_SECONDS if spec.executor.type == "wasm" else 0)
    try:
        async with asyncio.timeout(spec.timeout_ms / 1000 + grace):
            return await run(spec, payload, fired.changes)
    except TimeoutError:
        return Ran(make_timeout(spec.timeout_ms))


def judge(spec: UserHookSpec, event: HookEvent, data: Mapping[str, Any], ran: Ran) -> Step:
    """What an answer does. Pure."""
    output = ran.output
    if isinstance(output, Mutate):
        if event in LIFECYCLE_EVENTS:
            return Step("ignored", data, output.reason)
        try:
            return Step("rewrote", apply_patch(event, data, output.patch), output.reason)
        except BadPatch as wrong:
            output = Error(str(wrong))
    if isinstance(output, Error):
        return _decide_failure(spec, event, data, output.message)
    if isinstance(output, Block):
        return Step("blocked" if event in BLOCKABLE_EVENTS else "ignored", data, output.reason)
    return Step("continued", data)


def _decide_failure(spec: UserHookSpec, event: HookEvent, data: Mapping[str, Any], message: str) -> Step:
    if spec.on_error == "allow":
        return Step("failed_open", data, message)
    if spec.on_error == "block" and event in BLOCKABLE_EVENTS:
        return Step("blocked", data, message)
    if spec.on_error == "block" and event in AFTER_EVENTS:
        return Step("withheld", withhold(event, data, message), message)
    return Step("warned", data, message)


def _ask_again(recheck: Recheck, step: Step) -> Step:
    try:
        refusal = recheck(step.data)
    except Exception:
        refusal = "the policy could not judge what the hook rewrote"
    return step if refusal is None else Step("denied", step.data, refusal)


def _cut(text: str | None) -> str | None:
    """As it stands in the audit, which takes no long records."""
    return text if text is None or len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _add(fired: Fired, spec: UserHookSpec, ran: Ran, step: Step, duration_ms: float) -> Fired:
    succeeded = step.effect in ("continued", "rewrote") or (step.effect == "ignored" and isinstance(ran.output, Allow | Mutate))
    message = None if isinstance(ran.output, Error) else ran.output.user_message
    stopped = step.effect in ("blocked", "denied")
    outcome = Outcome(
        hook_id=spec.id,
        event=fired.event,
        decision=str(ran.output.__struct_config__.tag),
        effect=step.effect,
        reason=_cut(step.reason),
        user_message=_cut(message),
        on_error=spec.on_error,
        duration_ms=round(duration_ms, 3),
        attempts=ran.attempts,
        stderr=_cut(ran.stderr) or "",
        changed_files=sum(file.kind == "file" for file in ran.changes.written) if succeeded else 0,
    )
    return Fired(
        event=fired.event,
        data=step.data,
        blocked=step.reason if stopped else None,
        blocked_by=spec.id if stopped else None,
        withheld=step.reason if step.effect == "withheld" else fired.withheld,
        rewrote=fired.rewrote or step.effect == "rewrote",
        user_messages=(*fired.user_messages, message) if message is not None else fired.user_messages,
        outcomes=(*fired.outcomes, outcome),
        skipped=fired.skipped,
        changes=(*fired.changes, ran.changes) if succeeded and ran.changes else fired.changes,
    )
