"""`hatchway`: a session of another gateway, so that gateways can be chained.

Rules: the other gateway is reached through `Client`, which knows its address and token; neither is in a session's state or
in an error. Commands become runs there (`gateway.runners.providers.command_lines` says how), under its policy and its
limits. A session of another gateway keeps the variables of its interpreters; the working directory is set again for each
command. THREAT[TM-RUN-LEAK]: its words are not repeated; they may name things of that gateway. An id becomes one segment of a
path, whole; `.` and `..`, which would name something else, are no ids.
"""

from __future__ import annotations

import asyncio
import contextlib
import tarfile
from collections.abc import Mapping
from typing import Any, Unpack
from urllib.parse import quote

import msgspec

from gateway.egress.peer_gateway import ANSWER_BYTES_MAX, REQUEST_BYTES_MAX, Client, EgressClient, Reply, Unreachable
from gateway.errors import Forbidden, GatewayError
from gateway.runners import errors, wire
from gateway.runners.artifacts import MAX_ARTIFACT_BYTES, Permitted, repack
from gateway.runners.bindings import WORKSPACE, seen_from
from gateway.runners.command_output import STDERR, STDOUT, Output
from gateway.runners.interface import Ending, Provider, RunnerSession, Supplies, taking_turn
from gateway.runners.providers.command_lines import NO_RESULT, Program, dropped_bytes, parse, preparation
from gateway.runners.secret_refs import NoSecrets, reference
from sandbox.languages import LANGUAGE_OF_COMMAND

_FIRST_LOOK_SECONDS, _LAST_LOOK_SECONDS = 0.005, 1.0
_STREAMS = {"stdout": STDOUT, "stderr": STDERR}
_TIMEOUT_MS = 30_000
"""A snapshot, an archive or a large file takes longer than most answers."""
_VERBS = ("run", "snapshot", "session")
_NOT_IDS = ("", ".", "..")


class Hatchway(Provider["HatchwaySession"]):
    id = "hatchway"
    config_keys = ("gateway", "url", "token", "language", "limits", "durable")
    outlives_gateway = True
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

    async def _make(self, destination: wire.Destination, binding: wire.Binding | None) -> HatchwaySession:
        top, config = _choose_workspace(binding), self.read_config(destination)
        body = {key: config[key] for key in ("language", "limits", "durable") if key in config}
        client = self._client(destination)
        made = _read_answer(await _ask(client, "POST", "/v1/sessions", json=body), "session")
        return HatchwaySession(self, destination, _read_id(made), client, top)

    def _adopt(self, destination: wire.Destination, binding: wire.Binding | None, client: Client, name: str) -> HatchwaySession:
        session = HatchwaySession(self, destination, name, client, _choose_workspace(binding))
        self.sessions[session.id] = session
        return session

    async def resume(
        self, destination: wire.Destination, state: wire.SessionState, binding: wire.Binding | None = None
    ) -> HatchwaySession:
        """The other gateway's session, which outlives this gateway and its own restarts; or a new one from its snapshot."""
        if state.destination_id != destination.id:
            raise errors.stale(state.session_id)
        client = self._client(destination)
        reply = await _ask(client, "GET", f"/v1/sessions/{_encode_segment(state.session_id)}")
        if reply.status != 404:
            _read_answer(reply, state.session_id)
            return self._find(state) or self._adopt(destination, binding, client, state.session_id)
        self.sessions.pop(state.session_id, None)
        if state.snapshot is None or state.snapshot.provider_id != self.id:
            raise errors.stale(state.session_id)
        target = f"/v1/snapshots/{_encode_segment(state.snapshot.snapshot_id)}/restore"
        reply = await _ask(client, "POST", target, json={})
        if reply.status == 404:
            raise errors.stale(state.session_id)
        return self._adopt(destination, binding, client, _read_id(_read_answer(reply, "snapshot")))

    async def discard(self, destination: wire.Destination, state: wire.SessionState) -> None:
        client = self._client(destination)
        gone = [f"/v1/sessions/{_encode_segment(state.session_id)}"]
        if state.snapshot is not None and state.snapshot.provider_id == self.id:
            gone.append(f"/v1/snapshots/{_encode_segment(state.snapshot.snapshot_id)}")
        for path in gone:
            reply = await _ask(client, "DELETE", path)
            if reply.status not in (404, 410):
                _read_answer(reply, path)


def _choose_workspace(binding: wire.Binding | None) -> str:
    if binding is None:
        return WORKSPACE
    if seen_from(WORKSPACE, binding.workspace) is None:
        raise errors.outside(binding.workspace, WORKSPACE)
    return binding.workspace


class HatchwaySession(RunnerSession):
    provider: Hatchway

    def __init__(self, provider: Hatchway, destination: wire.Destination, session_id: str, client: Client, top: str) -> None:
        super().__init__(provider, destination, session_id)
        self._client, self._top = client, top
        self._turn = asyncio.Lock()

    def _inside(self, path: str) -> str:
        """A caller's path, absolute. The other gateway resolves links, and never leaves its own session."""
        if not path:
            raise errors.path_required()
        full = path if path.startswith("/") else f"{self._top}/{path}"
        full = "/".join(part for part in full.split("/") if part != ".")
        if seen_from(self._top, full) is None or ".." in full.split("/"):
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

    async def _execute(self, command: wire.Command, output: Output, ending: Ending) -> int | None:
        cwd = self._inside(command.cwd or ".")
        files: dict[str, bytes] = {}
        for name in command.args[:1]:
            if command.program.rpartition("/")[2] in LANGUAGE_OF_COMMAND and name[:1] != "-":
                files[name] = await self._read(name if name.startswith("/") else f"{cwd}/{name}")
        program = parse(command, files.__getitem__)
        async with taking_turn(self._turn, ending) as ours:
            if not ours:
                return None
            before = preparation(program, cwd, command.env)
            if before:
                done = await self._run(Program(program.language, before, []), command, ending, Output(0))
                if done["status"] != "ok" or done.get("exit_code"):
                    output.write(STDERR, str(done.get("stderr", "")).encode())
                    return 1
            done = await self._run(program, command, ending, output)
        output.settle(STDOUT, str(done.get("stdout", "")).encode())
        output.settle(STDERR, str(done.get("stderr", "")).encode())
        output.dropped_bytes += dropped_bytes(done.get("diagnostics"))
        if done["status"] == "timeout":
            ending.ask("timeout")
        if isinstance(done.get("error"), dict) and done["error"].get("code") == NO_RESULT:
            return 0
        code = done.get("exit_code")
        return code if isinstance(code, int) else int(done["status"] != "ok")

    async def _run(self, program: Program, command: wire.Command, ending: Ending, output: Output) -> dict[str, Any]:
        """Start a run, follow it until it has ended, and cancel it when asked to. The result of the run."""
        body: dict[str, Any] = {"language": program.language.value, "code": program.code}
        body |= {"stdin": program.stdin} if program.stdin else {}
        body |= {"filename": program.filename} if program.filename else {}
        body |= {"timeout_ms": command.timeout_ms} if command.timeout_ms else {}
        begun = await self._call("POST", "/runs?mode=async", "run", json=body)
        run_path = f"/v1/runs/{_encode_segment(_read_id(begun))}"
        following = asyncio.create_task(self._follow(run_path, output))
        try:
            seen = await self._wait_for_end(run_path, ending, following)
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

    async def _wait_for_end(self, run_path: str, ending: Ending, following: asyncio.Task[None]) -> dict[str, Any]:
        """The run when it has ended or waits. It is looked at when its events end, and now and then while they come."""
        pause_seconds = _FIRST_LOOK_SECONDS
        while True:
            if not ending.event.is_set():
                await ending.wait_or(*([] if following.done() else [following]), seconds=_LAST_LOOK_SECONDS)
            else:
                await asyncio.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, _LAST_LOOK_SECONDS)
            if ending.event.is_set():
                await _ask(self._client, "POST", f"{run_path}/cancel")
            seen = _read_answer(await _ask(self._client, "GET", run_path), "run")
            if _read_field(seen, "state") in ("finished", "waiting"):
                return dict(seen)

    async def _read(self, path: str) -> bytes:
        return (await self._ask("GET", f"/files{quote(self._inside(path))}", path)).body

    async def _write(self, path: str, contents: bytes) -> None:
        await self._call("PUT", f"/files{quote(self._inside(path))}", path, body=contents)

    async def _archive(self, path: str, permitted: Permitted) -> bytes:
        found = (await self._ask("GET", f"/archive?path={quote(self._inside(path), safe='')}", path)).body
        try:
            return await asyncio.to_thread(repack, found, permitted)
        except tarfile.TarError:
            raise errors.unavailable("the other gateway gave an archive that cannot be read") from None

    async def snapshot(self) -> wire.SnapshotRef | None:
        self._check_open()
        made = await self._call("POST", "/snapshots", "snapshot", json={})
        self._snapshot = wire.SnapshotRef(provider_id=self.provider.id, snapshot_id=_read_id(made))
        return self._snapshot

    async def _close(self) -> None:
        if not self.is_detached:
            await _ask(self._client, "DELETE", f"/v1/sessions/{_encode_segment(self.id)}")


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
