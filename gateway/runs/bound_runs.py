"""Shell runs of a session that is bound to a thread: a command there, in the place of a program in the sandbox.

Rules: all else is as for any run: slot, policy, hooks, output, record and audit are the run's. Its limits of time and output are
the run's, too; memory and processor time are bounded where the policy or the request says so, because a session's defaults are
those of a sandbox. Each run is a shell of its own: the thread's files stay, variables do not.
"""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import dataclass
from typing import Any

import msgspec

from gateway.errors import GatewayError
from gateway.events import STREAMS
from gateway.runners import wire
from gateway.runners.command_life import Oversight, Tracked
from gateway.runners.runners import Runners
from gateway.runs.governed_commands import bound_limits
from gateway.runs.results import make_failure
from gateway.runs.turn import RunBody
from policy import Decision
from sandbox.errors import RequestError
from sandbox.wire import DEFAULT_LIMITS, Diagnostic, ErrorObject, Metrics, RunRequest, RunResult, RunStatus, Severity
from sandbox.workers.interface import OnOutput, RunOutcome


@dataclass(eq=False, slots=True)
class BoundRun:
    """One run, and what `gateway.runs.cancellation` calls a place."""

    _runners: Runners
    _tenant: str
    _thread_id: str
    _begun: Tracked | None = None

    async def cancel(self, session_id: str) -> bool:
        if self._begun is None:
            return False
        self._begun.control.ask("cancelled")
        return True

    async def run(self, command: wire.Command, on_output: OnOutput | None) -> RunOutcome:
        started_ns = time.monotonic_ns()
        try:
            self._begun = await self._runners.start(
                self._tenant, self._thread_id, command, Oversight(streams=on_output is not None)
            )
            async for event in self._begun.feed.events():
                if on_output is not None and event.kind in STREAMS:
                    on_output(STREAMS.index(event.kind), event.data.encode())
            result = read_result(await asyncio.shield(self._begun.task), command)
        except GatewayError as refused:
            result = make_failure(refused.error)
        duration_ms = (time.monotonic_ns() - started_ns) // 1_000_000
        return RunOutcome(result=msgspec.structs.replace(result, metrics=Metrics(duration_ms=duration_ms)))


def make_command(run_id: str, request: RunRequest, body: RunBody, decision: Decision) -> wire.Command:
    """Inputs are variables of its environment, as in the sandbox's shell they are variables."""
    inputs = {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode() for name, value in body.inputs.items()
    }
    try:
        stdin = base64.b64decode(body.stdin_base64).decode() if body.stdin_base64 else body.stdin
    except UnicodeDecodeError:
        raise RequestError("INVALID_ARGUMENT", "standard input of a thread's shell is text") from None
    limits = request.limits or DEFAULT_LIMITS
    own: dict[str, Any] = {} if body.limits is None else {"cpu_ms": limits.cpu_ms, "memory_bytes": limits.memory_mb << 20}
    command = wire.Command(
        command_id=run_id, program="sh", args=["-c", body.code], env=[*inputs.items(), *body.env.items()], stdin=stdin,
        timeout_ms=limits.wall_ms, max_output_bytes=limits.max_stdout_bytes, **own,
    )  # fmt: skip
    return bound_limits(command, decision)


def read_result(done: wire.CommandResult, command: wire.Command) -> RunResult:
    told = [Diagnostic(severity=Severity.WARNING, code="RUNNER_WARNING", message=warning) for warning in done.warnings]
    if done.dropped_bytes:
        message = f"{done.dropped_bytes} bytes of output are missing"
        told.append(Diagnostic(severity=Severity.WARNING, code="STDOUT_EXCEEDED", message=message))
    output: dict[str, Any] = {"stdout": done.stdout, "stderr": done.stderr}
    if done.status == "exited":
        return RunResult(status=RunStatus.OK, exit_code=done.exit_code or 0, diagnostics=told, **output)
    if done.status == "timeout":
        error = ErrorObject(code="TIMEOUT_WALL", message=f"the run took longer than {command.timeout_ms} ms")
    elif done.status == "full":
        error = ErrorObject(code="QUOTA_EXCEEDED", message="the files of the thread take more than they may", hint="delete some")
    elif done.status == "cancelled":
        error = ErrorObject(code="CANCELLED", message="the run was cancelled")
    else:
        error = ErrorObject(code="RUNNER_UNAVAILABLE", message="what became of the program is not known")
    failed = make_failure(error)
    return msgspec.structs.replace(failed, diagnostics=[*failed.diagnostics, *told], **output)
