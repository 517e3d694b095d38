"""`hatchway`: a session of another gateway, so that gateways can be chained.

Rules: the other gateway is reached through `Client`, which knows its address and token; neither is in a session's state or in an
error. A session has the same id there as here, and is durable. Commands become runs there, under its policy and its limits: a
line of its shell in a subshell, so one command's directory and environment are not the next one's; other languages are programs
that the shell starts, which its policy must permit. THREAT[TM-RUN-LEAK]: its words are not repeated; they may name things of that
gateway. An id becomes one segment of a path, whole; `.` and `..`, which would name something else, are no ids.
"""

from __future__ import annotations

import asyncio
import contextlib
import posixpath
import re
import shlex
from collections.abc import Mapping
from typing import Any, Unpack
from urllib.parse import quote

import msgspec

from gateway.egress.peer_gateway import ANSWER_BYTES_MAX, REQUEST_BYTES_MAX, Client, EgressClient, Reply, Unreachable
from gateway.errors import Forbidden, GatewayError
from gateway.runners import errors, wire
from gateway.runners.artifacts import MAX_ARTIFACT_BYTES
from gateway.runners.bindings import make_relative
from gateway.runners.command_life import Control, take_turn
from gateway.runners.command_output import STDERR, STDOUT, Output
from gateway.runners.interface import Provider, Supplies
from gateway.runners.providers.command_lines import count_dropped_bytes
from gateway.runners.runner_session import RunnerSession
from gateway.runners.secret_refs import NoSecrets, reference

_FIRST_LOOK_SECONDS, _LAST_LOOK_SECONDS = 0.005, 1.0
_STREAMS = {"stdout": STDOUT, "stderr": STDERR}
_TIMEOUT_MS = 30_000
"""A snapshot, an archive or a large file takes longer than most answers."""
_VERBS = ("run", "snapshot", "session")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES_MAX = 10_000
_NOT_IDS = ("", ".", "..")


class Hatchway(Provider["HatchwaySession"]):
    id = "hatchway"
    config_keys = ("gateway", "url", "token", "language", "limits", "durable")
    capabilities = wire.RunnerCapabilities(
        command_exec=True, file_read=True, file_write=True, port_preview=False, snapshots=True, cancellation=True,
        artifact_export=True, detachable=True, streaming=True,
    )  # fmt: skip

    def __init__(self, *, clients: Mapping[str, Client] | None = None, **supplies: Unpack[Supplies]) -> None:
        """`clients` are gateways the operator knows by name (`config.gateway`); others are named by `config.url`."""
        super().__init__(**supplies)
        self._clients = dict(clients or {})

    @property
    def setup_hint(self) -> str | None:
        reaches = self.http is not None and not isinstance(self.secrets, NoSecrets)
        return None if self._clients or reaches else "hatchway needs an HTTP client and a vault"

    def _validate(self, destination: wire.Destination) -> None:
        if destination.default_manifest.entries:
            raise errors.unsupported("manifest entries are not supported by provider hatchway")
        self._client(destination)

    def _client(self, destination: wire.Destination) -> Client:
        config = self.read_config(destination)
        known = config.get("gateway")
        if known is not None:
            if not isinstance(known, str) or known not in self._clients:
                raise errors.invalid("config.gateway is not a gateway the operator knows")
            return self._clients[known]
        url, token = config.get("url"), reference(config, "token")
        if not isinstance(url, str) or not url.startswith(("https://", "http://")) or token is None:
            raise errors.invalid("config.url and config.token (by reference) are required")
        if self.http is None or self.setup_hint:
            raise errors.unavailable("this gateway is not set up to reach others", self.setup_hint)

        async def reveal() -> str:
            return (await self.secrets.resolve(token)).decode("ascii", "replace").strip()

        return EgressClient(
            self.http,
            url,
            reveal,
            answer_bytes_max=MAX_ARTIFACT_BYTES + ANSWER_BYTES_MAX,
            request_bytes_max=wire.MAX_FILE_BYTES + REQUEST_BYTES_MAX,
        )

    async def _make(
        self, destination: wire.Destination, binding: wire.Binding, session_id: str, kept: Mapping[str, bytes]
    ) -> HatchwaySession:
        """The other gateway's session has the id that it has here."""
        client, config = self._client(destination), self.read_config(destination)
        if kept:
            reply = await _ask(client, "GET", f"/v1/sessions/{session_id}")
            if reply.status == 404:
                raise errors.stale(session_id)
        else:
            body = {"durable": True, **{key: config[key] for key in ("limits", "durable") if key in config}}
            reply = await _ask(client, "POST", "/v1/sessions", json={**body, "id": session_id, "language": "shell"})
        _read_answer(reply, "session")
        return HatchwaySession(self, destination, session_id, client, binding.workspace.rstrip("/"))

    async def _discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        client = self._client(destination)
        reply = await _ask(client, "DELETE", f"/v1/sessions/{_encode_segment(state.session_id)}")
        if reply.status not in (404, 410):
            _read_answer(reply, "session")


class HatchwaySession(RunnerSession):
    provider: Hatchway

    def __init__(self, provider: Hatchway, destination: wire.Destination, session_id: str, client: Client, top: str) -> None:
        super().__init__(provider, destination, session_id)
        self._client, self._top = client, top
        self._turn = asyncio.Lock()

    def _make_absolute(self, path: str) -> str:
        """A caller's path, absolute. The other gateway resolves links, and never leaves its own session."""
        if not path:
            raise errors.path_required()
        full = path if path.startswith("/") else f"{self._top}/{path}"
        full = "/".join(part for part in full.split("/") if part != ".")
        if make_relative(self._top, full) is None or ".." in full.split("/"):
            raise errors.outside(path, self.id)
        return full

    async def _call(self, method: str, path: str, what: str, **fields: Any) -> Any:
        return _read_answer(await self._ask(method, path, what, **fields), what)

    async def _ask(self, method: str, path: str, what: str, **fields: Any) -> Reply:
        reply = await _ask(self._client, method, f"/v1/sessions/{_encode_segment(self.id)}{path}", **fields)
        if reply.status == 404 and _read_code(reply) == "SESSION_NOT_FOUND":
            self.is_closed = True  # it was deleted there: the next use makes a fresh one
            self.provider.sessions.pop(self.id, None)
            raise errors.stale(self.id)
        if reply.status >= 400:
            raise _translate_refusal(reply.status, what)
        return reply

    async def _execute(self, command: wire.Command, output: Output, control: Control) -> int | None:
        line = _write_line(command, self._make_absolute(command.cwd or "."))
        async with take_turn(self._turn, control) as ours:
            if not ours:
                return None
            done = await self._run(line, command, control, output)
        output.settle(STDOUT, str(done.get("stdout", "")).encode())
        output.settle(STDERR, str(done.get("stderr", "")).encode())
        output.dropped_bytes += count_dropped_bytes(done.get("diagnostics"))
        if done["status"] == "timeout":
            control.ask("timeout")
        code = done.get("exit_code")
        return code if isinstance(code, int) else int(done["status"] != "ok")

    async def _run(self, line: str, command: wire.Command, control: Control, output: Output) -> dict[str, Any]:
        """Start a run, follow it until it has ended, and cancel it when asked to. The result of the run."""
        body: dict[str, Any] = {"language": "shell", "code": line}
        body |= {"stdin": command.stdin} if command.stdin else {}
        body |= {"timeout_ms": command.timeout_ms} if command.timeout_ms else {}
        begun = await self._call("POST", "/runs?mode=async", "run", json=body)
        run_path = f"/v1/runs/{_encode_segment(_read_id(begun))}"
        following = asyncio.create_task(self._follow(run_path, output))
        try:
            seen = await self._wait_for_end(run_path, control, following)
        finally:
            following.cancel()
            await asyncio.wait([following])
        if _read_field(seen, "state") == "waiting":
            raise errors.busy("the command waits for an approval at the other gateway")
        _read_field(_read_field(seen, "result"), "status")
        return dict(seen["result"])

    async def _follow(self, run_path: str, output: Output) -> None:
        """Pass output on as it comes. If events stop coming nothing is lost: the result has all of it."""
        with contextlib.suppress(Unreachable):
            async with self._client.events(f"{run_path}/events") as (status, events):
                if status != 200:
                    return
                async for event in events:
                    if event.kind == "gap":
                        return
                    if event.kind in _STREAMS:
                        output.write(_STREAMS[event.kind], str(event.data).encode())

    async def _wait_for_end(self, run_path: str, control: Control, following: asyncio.Task[None]) -> dict[str, Any]:
        """The run when it has ended or waits. It is looked at when its events end, and now and then while they come."""
        pause_seconds = _FIRST_LOOK_SECONDS
        while True:
            if not control.event.is_set():
                await control.wait_or(*([] if following.done() else [following]), seconds=_LAST_LOOK_SECONDS)
            else:
                await asyncio.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, _LAST_LOOK_SECONDS)
            if control.event.is_set():
                await _ask(self._client, "POST", f"{run_path}/cancel")
            seen = _read_answer(await _ask(self._client, "GET", run_path), "run")
            if _read_field(seen, "state") in ("finished", "waiting"):
                return dict(seen)

    async def _perform(self, verb: str, path: str, contents: bytes = b"", **options: Any) -> bytes:
        full = self._make_absolute(path)
        if verb == "read":
            return (await self._ask("GET", f"/files{quote(full)}", path)).body
        if verb == "list":
            return msgspec.json.encode(await self._list(full, path, options["recursive"]))
        if verb == "stat":
            return msgspec.json.encode(_describe(await self._call("GET", f"/stat?path={quote(full, safe='')}", path), path))
        if verb == "write":
            await self._call("PUT", f"/files{quote(full)}", path, body=contents)
            if options.get("mode", 0) & 0o111:
                await self._run_line(f"chmod {options['mode'] & 0o777:o} {shlex.quote(full)}", path)
        elif verb == "mkdir":
            await self._call("POST", "/directories", path, json={"path": full})
        elif verb == "delete":
            query = "?recursive=true" if options["recursive"] else ""
            await self._call("DELETE", f"/files{quote(full)}{query}", path)
        else:
            target = self._make_absolute(options["target"]) if verb == "move" else contents.decode("utf-8", "replace")
            await self._change_name(verb, full, target, path)
        return b""

    async def _list(self, full: str, path: str, is_recursive: bool) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        pending = [""]
        while pending and len(found) < _NAMES_MAX:
            prefix, cursor = pending.pop(), ""
            while cursor is not None:
                query = f"?path={quote(full + '/' + prefix, safe='')}&limit=200" + (f"&cursor={quote(cursor)}" if cursor else "")
                page = await self._call("GET", f"/files{query}", path)
                listed = [_describe(one, f"{prefix}{_read_field(one, 'name')}") for one in _read_field(page, "items")]
                found += listed
                cursor = page.get("next")
                if is_recursive:
                    pending += [f"{one['path']}/" for one in listed if one["kind"] == "directory"]
        return sorted(found, key=lambda entry: str(entry["path"]))

    async def _change_name(self, verb: str, full: str, target: str, path: str) -> None:
        """What the other gateway has no operation for, its shell does."""
        made, named = shlex.quote(posixpath.dirname(target if verb == "move" else full)), map(shlex.quote, (full, target))
        words = ["mv -T --", *named] if verb == "move" else ["ln -sfn --", *reversed(list(named))]
        await self._run_line(f"mkdir -p -- {made} && {' '.join(words)}", path)

    async def _run_line(self, line: str, path: str) -> None:
        done = await self._run(line, wire.Command(command_id="name", program="sh"), Control(), Output(1000))
        if done.get("exit_code"):
            is_absent = "No such file" in str(done.get("stderr"))
            raise errors.absent(path) if is_absent else errors.not_a_file(path, "cannot be changed so")

    async def _freeze(self) -> bytes:
        return (await self._ask("GET", f"/archive?path={quote(self._top, safe='')}", "snapshot")).body


def _write_line(command: wire.Command, cwd: str) -> str:
    """The command as a line of the other gateway's shell, which it leaves as it was: a subshell has its own environment."""
    for name, _ in command.env:
        if not _NAME.fullmatch(name):
            raise errors.invalid("an env name is letters, digits and '_' here")
    env = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in command.env)
    return f"(cd {shlex.quote(cwd)} || exit 126\n{env}{shlex.join([command.program, *command.args])}\n)"


def _describe(stored: Any, path: str) -> dict[str, Any]:
    """A file of the other gateway as an entry of ours."""
    is_folder = bool(_read_field(stored, "is_directory"))
    mode = stored.get("mode", 0o755 if is_folder else 0o644)
    return {
        "path": path, "kind": "directory" if is_folder else "file", "size_bytes": int(_read_field(stored, "size_bytes")),
        "mode": mode, "modified_ms": int(_read_field(stored, "updated_at")),
    }  # fmt: skip


async def _ask(client: Client, method: str, path: str, *, json: Any = None, body: bytes | None = None) -> Reply:
    """Whatever it answers, with our own error where it does not."""
    try:
        return await client.request(method, path, json=json, body=body, timeout_ms=_TIMEOUT_MS)
    except Unreachable as unreachable:
        raise errors.unavailable(f"the other gateway cannot be reached ({unreachable.code})") from None


def _encode_segment(name: str) -> str:
    """An id as it stands in a path."""
    if name in _NOT_IDS:
        raise errors.invalid(f"{name!r} cannot be the id of a session, run or snapshot")
    return quote(name, safe="")


def _read_id(answer: Any) -> str:
    """The id of what the other gateway has made."""
    found = _read_field(answer, "id")
    if not isinstance(found, str) or found in _NOT_IDS:
        raise errors.unavailable("the other gateway gave an id that cannot be used")
    return found


def _read_answer(reply: Reply, what: str) -> Any:
    """What the other gateway says, or our own error for its."""
    if reply.status < 400:
        try:
            return msgspec.json.decode(reply.body) if reply.body.strip() else {}
        except msgspec.DecodeError:
            raise errors.unavailable("the other gateway gave an answer that cannot be read") from None
    raise _translate_refusal(reply.status, what)


def _read_code(reply: Reply) -> str:
    try:
        said = msgspec.json.decode(reply.body)
    except msgspec.DecodeError:
        return ""
    return str(said.get("code", "")) if isinstance(said, dict) else ""


def _read_field(value: Any, name: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        raise errors.unavailable("the other gateway gave an answer that cannot be read")
    return value[name]


def _translate_refusal(status: int, what: str) -> GatewayError:
    if status == 404:
        return errors.absent(what)
    if status == 403 and what in _VERBS:
        return Forbidden("PERMISSION_DENIED", f"the other gateway does not let this token do a {what} there")
    if status == 403:
        return errors.read_only(what)
    if status == 413:
        return errors.too_large(what[:200], wire.MAX_FILE_BYTES)
    if status in (400, 409, 422):
        return errors.not_a_file(what, "was refused by the other gateway")
    return errors.unavailable(f"the other gateway answered {status}")
