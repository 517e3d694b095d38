"""A small service behind the real frame: operations that show what the frame does, and ports in memory.

    with running(header_deadline_ms=500) as rig: rig.get("/v1/echo") …         a server process on a free port

Started as a program it serves until its standard input is closed, and prints its port and tokens as one line of JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import msgspec
import uvloop
from msgspec import Meta

from gateway.clock import SteadyClock
from gateway.configuration import Configuration
from gateway.errors import Conflict, missing
from gateway.events import Event, Feed
from gateway.http.api.admission import Admission
from gateway.http.api.application import build_application
from gateway.http.api.authentication import Authenticator
from gateway.http.api.endpoint import Endpoint
from gateway.http.api.etags import check, is_unchanged, make_etag
from gateway.http.api.idempotency import Idempotence
from gateway.http.api.operation import Answer, Call, Events, Live, Operation, Raw
from gateway.http.api.pagination import Page, PageQuery, make_cursor
from gateway.http.api.sse import resume_after
from gateway.http.pages import health, openapi
from gateway.http.transport.server import Server
from gateway.lifecycle.readiness import Preparation
from gateway.records import Quotas, StoredToken, Tenant, Token
from gateway.stores.changes import Change, DeleteIdempotency, PutIdempotency
from gateway.stores.stored import Idempotency
from gateway.telemetry import Telemetry, log_to
from gateway.tenants.tokens import mint

SECRET = "canary-7f3a"


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(max_length=100_000)]
    count: Annotated[int, Meta(ge=0)] = 0
    data: bytes = b""
    extra: Any = None


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """How much work is under way, and how much was begun, ended and cancelled."""

    running: int
    begun: int
    cancelled: int
    most: int
    in_flight: int


class Memory:
    """Tokens, quotas and idempotency keys in memory; what a store does, for the frame alone."""

    def __init__(self) -> None:
        self.tokens: dict[str, Token] = {}
        self.keys: dict[tuple[str, str], Idempotency] = {}
        self.quota: dict[str, Quotas] = {}
        self.failures: list[tuple[str, int, str]] = []
        self.lookups = 0

    def add(self, stored: StoredToken) -> None:
        self.tokens[stored.digest] = stored.token

    async def token(self, digest: str) -> Token | None:
        self.lookups += 1
        return self.tokens.get(digest)

    async def tenant(self, tenant: str) -> Tenant | None:
        return Tenant(id=tenant, quotas=self.quota.get(tenant, Quotas()), created_at=0, updated_at=0)

    async def login_failed(self, address: str, count: int, tenant: str) -> None:
        self.failures.append((address, count, tenant))

    async def idempotency(self, tenant: str, key: str) -> Idempotency | None:
        return self.keys.get((tenant, key))

    async def write(self, tenant: str, changes: list[Change]) -> None:
        for change in changes:
            if isinstance(change, PutIdempotency):
                if change.response is None and (tenant, change.key) in self.keys:
                    raise Conflict("IDEMPOTENCY_KEY_USED", "the key is there")
                kept = Idempotency(key=change.key, request_digest=change.request_digest, response=change.response, at=change.at)
                self.keys[tenant, change.key] = kept
            elif isinstance(change, DeleteIdempotency):
                self.keys.pop((tenant, change.key), None)


class Notes:
    """The operations. `made` counts what POSTs did; `gate` holds the work of `/v1/wait` until it is opened."""

    def __init__(self) -> None:
        self.made = 0
        self.running = self.begun = self.cancelled = self.most = 0
        self.gate = asyncio.Event()
        self.files: dict[str, bytes] = {}
        self.feeds: dict[str, Feed] = {}
        self.received: list[Any] = []
        self.admission: Admission | None = None

    async def nothing(self, call: Call) -> Raw:
        return Raw(b"hello", "text/plain")

    async def echo(self, call: Call) -> Note:
        note: Note = call.body
        return note

    async def make(self, call: Call) -> Answer:
        self.made += 1
        if call.body.text == "fail":
            raise RuntimeError(f"{SECRET} at /home/somebody/secret.py")
        if call.body.text == "conflict":
            raise Conflict("EXISTS", "it is there")
        return Answer({"made": self.made}, 201, {"location": f"/v1/notes/{self.made}"})

    async def make_secret(self, call: Call) -> Answer:
        self.made += 1
        return Answer({"secret": SECRET}, 201)

    async def list_notes(self, call: Call) -> Page[int]:
        start = int(call.query.window["after"] or 0)
        end = start + call.query.limit
        return Page(list(range(start, min(end, 500))), make_cursor(str(end)) if end < 500 else None)

    async def wait(self, call: Call) -> Note:
        self.running += 1
        self.begun += 1
        self.most = max(self.most, self.running)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return Note(text="done")

    async def probe(self, call: Call) -> Probe:
        assert self.admission is not None
        return Probe(
            running=self.running,
            begun=self.begun,
            cancelled=self.cancelled,
            most=self.most,
            in_flight=self.admission.in_flight,
        )

    async def open_gate(self, call: Call) -> None:
        self.gate.set()

    async def get_file(self, call: Call) -> Answer:
        path = call.path["path"]
        if path not in self.files:
            raise missing("file", path)
        digest = str(hash(self.files[path]))
        if is_unchanged(call.headers, digest):
            return Answer(None, 304, {"etag": make_etag(digest)})
        return Answer(Raw(self.files[path]), headers={"etag": make_etag(digest)})

    async def put_file(self, call: Call) -> Answer:
        path = call.path["path"]
        old = self.files.get(path)
        check(call.headers, "note", None if old is None else str(hash(old)))
        self.files[path] = call.body
        return Answer(None, 204, {"etag": make_etag(str(hash(call.body)))})

    async def stream(self, call: Call) -> Events:
        return Events(self.feed(call).events(resume_after(call.headers)))

    def feed(self, call: Call) -> Feed:
        return self.feeds.setdefault(call.path["name"], Feed(call.path["name"]))

    async def flood(self, call: Call) -> Events:
        return Events(endless())

    async def live(self, call: Call) -> Live:
        async def receive(message: Any) -> None:
            self.received.append(message)
            self.feed(call).put("said", message)

        return Live(self.feed(call).events(), receive, None)

    async def live_flood(self, call: Call) -> Live:
        return Live(endless())

    async def say(self, call: Call) -> None:
        if call.body.text == "end":
            self.feed(call).end("result", None)
        else:
            self.feed(call).put("note", call.body.text)

    async def admin_only(self, call: Call) -> dict[str, str]:
        return {"tenant": call.principal.tenant}

    def operations(self) -> list[Operation]:
        public: Any = {"audience": "public"}
        return [
            Operation("GET", "/v1/nothing", "Nothing", self.nothing, answer=bytes, **public),
            Operation("POST", "/v1/echo", "Say it again", self.echo, body=Note, answer=Note),
            Operation("POST", "/v1/notes", "Make a note", self.make, body=Note, answer=dict[str, int], status=201),
            Operation("GET", "/v1/notes", "Notes", self.list_notes, query=PageQuery, answer=Page[int]),
            Operation("POST", "/v1/secrets", "Once", self.make_secret, body=Note, answer=dict[str, str], status=201,
                      confidential=True),
            Operation("POST", "/v1/wait", "Wait", self.wait, body=Note, body_optional=True, answer=Note),
            Operation("GET", "/v1/wait", "Wait", self.wait, answer=Note, name="wait_get"),
            Operation("GET", "/v1/probe", "Counts", self.probe, answer=Probe, tag="health", **public),
            Operation("POST", "/v1/gate", "Open the gate", self.open_gate, **public),
            Operation("GET", "/v1/files/{path...}", "A file", self.get_file, answer=bytes),
            Operation("PUT", "/v1/files/{path...}", "Keep a file", self.put_file, body=bytes),
            Operation("GET", "/v1/streams/{name}", "Events", self.stream, streamed=True),
            Operation("GET", "/v1/flood", "Events without end", self.flood, streamed=True),
            Operation("GET", "/v1/streams/{name}/live", "A WebSocket", self.live, websocket=True),
            Operation("GET", "/v1/live-flood", "A WebSocket without end", self.live_flood, websocket=True),
            Operation("POST", "/v1/streams/{name}/say", "Put an event", self.say, body=Note),
            Operation("GET", "/v1/admin", "For admins", self.admin_only, answer=dict[str, str], audience="admin"),
            Operation("GET", "/v1/tenants/{tenant}", "One segment", self.admin_only, answer=dict[str, str], name="one_segment"),
        ]  # fmt: skip


async def endless() -> AsyncIterator[Event]:
    number = 0
    while True:
        number += 1
        yield Event(number, "stdout", "x" * 65536)
        await asyncio.sleep(0)


class Rig:
    """The whole service, in this process."""

    def __init__(self, configuration: Configuration, readiness: Preparation | None = None) -> None:
        self.configuration = configuration
        self.clock = SteadyClock()
        self.memory, self.notes, self.telemetry = Memory(), Notes(), Telemetry()
        self.admission = self.notes.admission = Admission(configuration, self.telemetry, self.memory.tenant)
        self.authenticator = Authenticator(
            self.memory.token,
            self.clock,
            self.telemetry,
            tell_failure=self.memory.login_failed,
            cache_ms=configuration.token_cache_ms,
        )
        table = self.notes.operations()
        table += health.operations(configuration, self.telemetry, self.admission, readiness or Preparation())
        table += openapi.operations(table, "0.0.0")
        self.table = table
        store: Any = self.memory
        self.idempotence = Idempotence(store, self.clock, configuration.idempotency_ms)
        self.endpoint = Endpoint(
            table,
            configuration=configuration,
            telemetry=self.telemetry,
            authenticator=self.authenticator,
            admission=self.admission,
            idempotence=self.idempotence,
        )
        self.asgi = build_application(self.endpoint, configuration, self.telemetry)
        self.server = Server(self.asgi, self.admission, configuration, self.telemetry)

    def token(self, tenant: str = "acme", role: Any = "member", **more: Any) -> str:
        text, stored = mint(tenant=tenant, name="test", role=role, now_ms=self.clock.now_ms(), **more)
        self.memory.add(stored)
        return text


class Process:
    """A server process, as the raw tests see it."""

    def __init__(self, process: subprocess.Popen[bytes], facts: dict[str, Any]) -> None:
        self.process = process
        self.port: int = facts["port"]
        self.token: str = facts["token"]
        self.other: str = facts["other"]
        self.admin: str = facts["admin"]

    @property
    def bearer(self) -> bytes:
        return b"Authorization: Bearer " + self.token.encode() + b"\r\n"


@contextlib.contextmanager
def running(**settings: Any) -> Iterator[Process]:
    given = {"port": 0, "access_log": False, "metrics": "open", **settings}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.gateway.http.rig", json.dumps(given)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdin is not None and process.stderr is not None
    said: list[bytes] = []
    errors = process.stderr
    reader = threading.Thread(target=lambda: said.extend(errors), daemon=True)
    reader.start()
    try:
        line = process.stdout.readline()
        assert line, b"".join(said).decode()
        yield Process(process, json.loads(line))
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            process.stdout.close()
            reader.join(5)
            errors.close()
    text = b"".join(said).decode()
    assert "Traceback" not in text and '"error"' not in text, text


async def _serve(settings: dict[str, Any]) -> None:
    log_to(sys.stderr, "warning")
    rig = Rig(msgspec.convert(settings, Configuration))
    await rig.server.start()
    facts = {
        "port": rig.server.port,
        "token": rig.token(),
        "other": rig.token("globex"),
        "admin": rig.token("", "admin"),
    }
    print(json.dumps(facts), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    rig.notes.gate.set()
    await rig.server.stop()


if __name__ == "__main__":
    uvloop.run(_serve(json.loads(sys.argv[1])))
