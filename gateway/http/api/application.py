"""The application: the one way of a request through the frame.

    head → route → place → who → rate → body → once (idempotency) → operation → answer

Rules: this file holds the order and nothing else; each step is a function of its own file. Whatever happens, exactly one answer
is sent and a place is given back. A client that leaves cancels its operation; one that holds an Idempotency-Key does not,
because it will ask again what became of it. Headers that every answer has, and the log, are `frame`'s.

Does not know: any operation.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from typing import Any, Final

from gateway.configuration import Configuration
from gateway.errors import GatewayError, Unauthorized, Unavailable
from gateway.http.api import idempotency, sse, websocket
from gateway.http.api.admission import Admission
from gateway.http.api.authentication import Authenticator
from gateway.http.api.envelope import passage_of
from gateway.http.api.idempotency import Idempotence, Kept
from gateway.http.api.negotiation import CBOR, JSON, decode_body, decode_query, encode, wants_cbor
from gateway.http.api.operation import Answer, Call, Chunks, Events, Live, Operation, Raw
from gateway.http.api.problems import encode_problem, headers_of, is_ours, problem_of
from gateway.http.api.reauthorization import Watch
from gateway.http.api.request_limits import (
    PREFLIGHT_HEADERS,
    ClientLeft,
    Headers,
    Receive,
    Send,
    check_head,
    cors_headers,
    discard_body,
    has_body,
    read_body,
)
from gateway.http.api.routing import MethodNotAllowed, Routes, UpgradeRequired
from gateway.records import Principal
from gateway.telemetry import Telemetry, step

_log = logging.getLogger("hatchway.http")
Outcome = Kept | Events | Chunks
_HEALTH: Final = "health"
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_LARGE: Final = 64 << 10
"""A body from here on is decoded beside the event loop."""


class _Request:
    """One request on its way: what is known so far, and what was sent."""

    __slots__ = ("body_read", "cbor", "extra", "headers", "id", "is_begun", "operation", "passage", "receive", "scope", "send")

    def __init__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        self.scope, self.receive, self.send = scope, receive, send
        self.passage = passage_of(scope)
        self.id = self.passage.id
        self.headers: dict[str, str] = {}
        self.operation: Operation
        self.cbor = False
        self.extra: Headers = []
        self.is_begun = False
        self.body_read = False


class Application:
    def __init__(
        self,
        operations: Iterable[Operation],
        *,
        configuration: Configuration,
        telemetry: Telemetry,
        authenticator: Authenticator,
        admission: Admission,
        idempotence: Idempotence | None = None,
    ) -> None:
        self.routes = Routes(operations)
        self.admission = admission
        self._caps, self._telemetry = configuration, telemetry
        self._authenticator, self._idempotence = authenticator, idempotence
        self._finishing: set[asyncio.Task[Outcome]] = set()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        request = _Request(scope, receive, send)
        with contextlib.suppress(ClientLeft):
            await (self._websocket(request) if scope["type"] == "websocket" else self._http(request))

    async def _http(self, request: _Request) -> None:
        try:
            answer = await self._answer(request)
        except (ClientLeft, asyncio.CancelledError):
            raise
        except Exception as error:
            await self._send_problem(request, error)
            return
        if isinstance(answer, Events):
            await self._stream(request, answer)
        elif isinstance(answer, Chunks):
            await self._send_chunks(request, answer)
        else:
            await self._send(request, answer)

    async def _answer(self, request: _Request) -> Outcome:
        """The way of a request."""
        scope = request.scope
        request.headers = headers = check_head(scope, self._caps)
        request.cbor = wants_cbor(headers.get("accept", ""))
        if self._caps.cors_origins:
            request.extra = cors_headers(self._caps.cors_origins, headers)
            if scope["method"] == "OPTIONS" and request.extra and "access-control-request-method" in headers:
                return Kept(204, list(PREFLIGHT_HEADERS), b"")
        operation, path = self.routes.match(scope["method"], scope["raw_path"])
        request.passage.operation = operation.name
        if operation.tag == _HEALTH:
            return await self._perform(request, operation, path, await self._identify(request, operation))
        with self.admission.place(), self._telemetry.span("http.request", carrier=headers, operation=operation.name):
            with step("authenticate"):
                principal = await self._identify(request, operation)
            request.passage.tenant = principal.tenant
            if operation.audience != "public":
                with step("admit", tenant=principal.tenant):
                    await self.admission.check_rate(principal)
            return await self._perform(request, operation, path, principal)

    async def _identify(self, request: _Request, operation: Operation) -> Principal:
        client, request.operation = request.scope.get("client"), operation
        return await self._authenticator.identify(operation, request.headers, client[0] if client else "")

    async def _perform(self, request: _Request, operation: Operation, path: dict[str, str], principal: Principal) -> Outcome:
        query = decode_query(operation, request.scope["query_string"])
        data = b""
        takes_body = operation.body is not None or operation.method == "POST"
        if takes_body and has_body(request.headers, request.scope["http_version"]):
            with self.admission.place_of(principal.tenant), step("read body"):
                caps = self._caps
                data = await read_body(
                    request.receive,
                    request.headers,
                    bytes_max=caps.upload_bytes_max if operation.upload else caps.body_bytes_max,
                    deadline_s=(caps.upload_deadline_ms if operation.upload else caps.body_deadline_ms) / 1000,
                )
            request.body_read = True
            await self._authenticator.confirm(operation, request.headers)  # it may have taken minutes to arrive
        content_type = request.headers.get("content-type", "")
        if len(data) > _LARGE:
            body = await asyncio.to_thread(decode_body, operation, data, content_type, self._caps)
        else:
            body = decode_body(operation, data, content_type, self._caps)
        call = Call(
            principal=principal,
            path=path,
            query=query,
            body=body,
            headers=request.headers,
            content_type=content_type,
            request_id=request.id,
            cbor=request.cbor,
        )
        key = request.headers.get("idempotency-key") if operation.method == "POST" else None
        if key is not None and self._idempotence is not None:
            target = request.scope["raw_path"] + b"?" + request.scope["query_string"]
            digest = idempotency.digest_of_request(principal.token_id, operation.method, target, content_type, data)
            return await self._once(self._idempotence, operation, call, key, digest)
        if operation.finishes:
            return await self._finish(self._run(operation, call))
        return await self._run(operation, call)

    async def _run(self, operation: Operation, call: Call) -> Outcome:
        """The operation, in its tenant's place and its time."""
        deadline_s = (operation.deadline_ms or self._caps.request_deadline_ms) / 1000
        with self.admission.place_of(call.principal.tenant), step(operation.name):
            try:
                async with asyncio.timeout(deadline_s) as limit:
                    answer = await operation.handler(call)
            except TimeoutError:
                if not limit.expired():
                    raise
                hint = "ask for it asynchronously, or for less"
                raise Unavailable("DEADLINE_EXCEEDED", f"there was no answer within {deadline_s:g} s", hint) from None
        return answer if isinstance(answer, Events | Chunks) else kept_of(operation, answer, call.cbor)

    async def _finish(self, performance: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Goes on when the client leaves."""
        task = asyncio.create_task(performance)
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _once(self, idempotence: Idempotence, operation: Operation, call: Call, key: str, digest: str) -> Outcome:
        tenant = call.principal.tenant
        kept = await idempotence.begin(tenant, key, digest)
        if kept is not None:
            kept = idempotency.in_form(kept, call.cbor)
            return Kept(kept.status, [*kept.headers, (b"idempotency-replayed", b"true")], kept.body)

        async def perform() -> Outcome:
            try:
                made = await self._run(operation, call)
            except GatewayError as error:
                if error.status >= 500 or error.status in (408, 429):
                    await idempotence.release(tenant, key)
                else:
                    form, body = encode_problem(problem_of(error, call.request_id), call.cbor)
                    headers = [(b"content-type", form.encode()), *headers_of(error)]
                    await idempotence.end(tenant, key, digest, Kept(error.status, headers, body))
                raise
            except BaseException:
                await idempotence.release(tenant, key)
                raise
            if isinstance(made, Events | Chunks):
                await idempotence.end(tenant, key, digest, Kept(200, [], None))
            else:
                await idempotence.end(tenant, key, digest, Kept(made.status, [], None) if operation.confidential else made)
            return made

        return await self._finish(perform())

    async def _send(self, request: _Request, kept: Kept) -> None:
        body = kept.body or b""
        await self._send_head(request, kept.status, kept.headers, len(body) if kept.status not in (204, 304) else None)
        if request.body_read or not has_body(request.headers, request.scope["http_version"]):
            await request.send({"type": "http.response.body", "body": body, "more_body": False})
            return
        await request.send({"type": "http.response.body", "body": body, "more_body": True})
        await discard_body(request.receive)
        await request.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_head(self, request: _Request, status: int, headers: Headers, length: int | None) -> None:
        sent = [*headers, *request.extra]
        if length is not None:
            sent.append((b"content-length", b"%d" % length))
        request.is_begun = True
        await request.send({"type": "http.response.start", "status": status, "headers": sent})

    async def _send_problem(self, request: _Request, error: BaseException) -> None:
        if is_ours(error):
            _log.error("an operation failed", exc_info=error, extra={"request_id": request.id})
        if request.is_begun:
            raise ClientLeft from error  # the head is sent already: only closing the connection is honest
        form, body = encode_problem(problem_of(error, request.id), request.cbor)
        headers = [(b"content-type", form.encode()), *headers_of(error)]
        if isinstance(error, MethodNotAllowed):
            headers.append((b"allow", ", ".join(error.allowed).encode()))
        if isinstance(error, UpgradeRequired) and request.scope["http_version"] == "1.1":  # HTTP/2 knows no such header
            headers += [(b"upgrade", b"websocket"), (b"connection", b"upgrade")]
        await self._send(request, Kept(problem_of(error, request.id).status, headers, body))

    @contextlib.contextmanager
    def _open(self, request: _Request) -> Iterator[Watch]:
        """A stream, in one of its tenant's places, for as long as who opened it may have it."""
        watching = self._authenticator.watching(request.operation, request.headers)
        with self.admission.stream_of(request.passage.tenant), self._telemetry.streams.track_inprogress(), watching as watch:
            yield watch

    async def _stream(self, request: _Request, answer: Events) -> None:
        headers = [(b"content-type", sse.CONTENT_TYPE.encode()), (b"x-accel-buffering", b"no")]
        try:
            with self._open(request) as watch:
                await self._send_head(request, 200, headers, None)
                await request.send({"type": "http.response.body", "body": sse.GREETING, "more_body": True})
                failure = await sse.send_events(
                    answer.events,
                    request.send,
                    watch,
                    heartbeat_s=self._caps.heartbeat_ms / 1000,
                    write_deadline_s=self._caps.write_deadline_ms / 1000,
                    telemetry=self._telemetry,
                    request_id=request.id,
                )
        except GatewayError as error:
            await self._send_problem(request, error)
            return
        if failure is not None:
            _log.error("a stream failed", exc_info=failure, extra={"request_id": request.id})

    async def _send_chunks(self, request: _Request, answer: Chunks) -> None:
        """What fails before the first piece is answered like anything else. A failure half-way breaks the connection off: nothing
        else can tell the client that bytes are missing."""
        try:
            piece = await anext(answer.data, None)
        except Exception as error:
            await self._send_problem(request, error)
            return
        more = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
        await self._send_head(request, 200, [(b"content-type", answer.content_type.encode()), *more], None)
        try:
            while piece is not None:
                async with asyncio.timeout(self._caps.write_deadline_ms / 1000):
                    await request.send({"type": "http.response.body", "body": piece, "more_body": True})
                await self._authenticator.confirm(request.operation, request.headers)
                piece = await anext(answer.data, None)
        except (TimeoutError, Unauthorized):
            raise ClientLeft from None
        except Exception as error:
            _log.error("an answer broke off", exc_info=error, extra={"request_id": request.id})
            raise ClientLeft from None
        await request.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _websocket(self, request: _Request) -> None:
        scope = request.scope
        offered = list(scope.get("subprotocols", ()))
        try:
            request.headers = check_head(scope, self._caps)
            operation, path = self.routes.match("WEBSOCKET", scope["raw_path"])
            request.passage.operation = operation.name
            with self.admission.place():
                bearer = next((name for name in offered if name.startswith("hatchway.bearer.")), None)
                if bearer is not None and "authorization" not in request.headers:
                    request.headers["authorization"] = f"Bearer {bearer.removeprefix('hatchway.bearer.')}"
                principal = await self._identify(request, operation)
                request.passage.tenant = principal.tenant
                await self.admission.check_rate(principal)
                query = decode_query(operation, scope["query_string"])
                call = Call(principal=principal, path=path, query=query, headers=request.headers, request_id=request.id)
                async with asyncio.timeout(self._caps.request_deadline_ms / 1000):
                    live = await operation.handler(call)
            if not isinstance(live, Live):
                raise TypeError(f"{operation.name} is a WebSocket and returned {type(live).__name__}")
        except (ClientLeft, asyncio.CancelledError):
            raise
        except Exception as error:
            await self._refuse_websocket(request, error)
            return
        await self._converse(request, live, websocket.protocol_of(offered))

    async def _converse(self, request: _Request, live: Live, protocol: str | None) -> None:
        connected = await request.receive()
        if connected["type"] != "websocket.connect":
            raise ClientLeft
        try:
            with self._open(request) as watch:
                await request.send({"type": "websocket.accept", "subprotocol": protocol})
                failure = await websocket.converse(
                    live,
                    request.receive,
                    request.send,
                    watch,
                    cbor=protocol == "hatchway.cbor",
                    caps=self._caps,
                    telemetry=self._telemetry,
                    request_id=request.id,
                )
        except GatewayError as error:
            await self._refuse_websocket(request, error)
            return
        if failure is not None:
            _log.error("a WebSocket failed", exc_info=failure, extra={"request_id": request.id})

    async def _refuse_websocket(self, request: _Request, error: BaseException) -> None:
        if is_ours(error):
            _log.error("a WebSocket failed", exc_info=error, extra={"request_id": request.id})
        problem = problem_of(error, request.id)
        form, body = encode_problem(problem, False)
        headers = [(b"content-type", form.encode()), (b"content-length", b"%d" % len(body)), *headers_of(error)]
        await request.send({"type": "websocket.http.response.start", "status": problem.status, "headers": headers})
        await request.send({"type": "websocket.http.response.body", "body": body})


def kept_of(operation: Operation, answer: Any, cbor: bool) -> Kept:
    """What a handler returned, as bytes."""
    status, headers = operation.status, []
    if isinstance(answer, Answer):
        status = answer.status
        headers = [_header(name, value) for name, value in answer.headers.items()]
        answer = answer.body
    if answer is None:
        return Kept(204 if status == 200 else status, headers, b"")
    if isinstance(answer, Raw):
        return Kept(status, [(b"content-type", answer.content_type.encode()), *headers], answer.data)
    form = CBOR if cbor else JSON
    return Kept(status, [(b"content-type", form.encode()), *headers], encode(answer, cbor))


def _header(name: str, value: str) -> tuple[bytes, bytes]:
    """THREAT[TM-HTTP-SPLIT]: whatever ends up in a value, it stays one line."""
    if not _VALUE.fullmatch(value):
        raise ValueError(f"the header {name} would hold a control character")
    return name.lower().encode("ascii"), value.encode("latin-1")


async def _live(receive: Receive, send: Send) -> None:
    """The lifespan protocol. What starts and stops with the server is `server`'s business."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
