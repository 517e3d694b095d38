"""The endpoint: the one way of a request to an operation.

    head → route → place → who → rate → body → once (idempotency) → operation → answer

Ours, because Starlette has no typed decoding, no roles, no quotas, no idempotency and no deadlines.

Rules: this file holds the order and nothing else; each step is a function of its own file. Exactly one answer is sent and every
place is given back, whatever happens. A client that leaves cancels its operation; one that sent an Idempotency-Key does not,
because it will ask again what became of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from typing import Any, Final, NamedTuple

from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from gateway.audit.buffer import AuditBuffer
from gateway.configuration import Configuration
from gateway.errors import GatewayError, StoreFailed, StoreUnavailable, Unavailable
from gateway.http.api.access_record import AccessRecord, find_record
from gateway.http.api.admission import Admission, AnswerPlace
from gateway.http.api.authentication import Authenticator, read_bearer
from gateway.http.api.idempotency import Idempotence, digest_request
from gateway.http.api.negotiation import decode_body, decode_query, wants_cbor
from gateway.http.api.operation import Call, Chunks, Events, Live, Operation
from gateway.http.api.reauthorization import Watch
from gateway.http.api.replies import ChunkReply, Reply, render_answer, render_problem
from gateway.http.api.request_limits import check_head, has_body, read_body
from gateway.http.api.routing import Routes
from gateway.http.api.sse import EventReply
from gateway.http.api.websocket import Conversation, choose_protocol
from gateway.http.transport.shares import Seat, find_seat
from gateway.pools import LARGE_BYTES, acting_for, run_large
from gateway.records import Principal
from gateway.telemetry import Telemetry, step

_HEALTH: Final = "health"


class _Asked(NamedTuple):
    """A request of a known caller. `room` is held for its body."""

    scope: Scope
    record: AccessRecord
    operation: Operation
    path: dict[str, str]
    headers: dict[str, str]
    principal: Principal
    room: contextlib.AbstractContextManager[object] = contextlib.nullcontext()


class Endpoint:
    def __init__(
        self,
        operations: Iterable[Operation],
        *,
        configuration: Configuration,
        telemetry: Telemetry,
        authenticator: Authenticator,
        admission: Admission,
        idempotence: Idempotence | None = None,
        audit: AuditBuffer | None = None,
        note_outage: Callable[[Exception], None] | None = None,
    ) -> None:
        self.routes = Routes(operations)
        self._caps, self._telemetry, self._admission = configuration, telemetry, admission
        self._authenticator, self._idempotence = authenticator, idempotence
        self._audit, self._note_outage = audit, note_outage
        self._finishing: set[asyncio.Task[Response]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._converse(WebSocket(scope, receive, send))
            return
        try:
            response = await self._answer(scope, receive, find_record(scope))
        except ClientDisconnect:
            raise
        except Exception as error:
            if isinstance(error, StoreUnavailable) and self._note_outage is not None:
                self._note_outage(error)
            response = render_problem(HTTPConnection(scope), error)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, record: AccessRecord) -> Response:
        """The way of a request."""
        headers = check_head(scope, self._caps)
        record.unread = has_body(headers, scope["http_version"])
        operation, path = self.routes.match(scope["method"], scope["raw_path"])
        record.operation = operation.name
        seat = find_seat(scope)
        if operation.tag == _HEALTH:
            principal = await self._authenticator.identify(operation.audience, headers, _address(scope))
            return await self._perform(_Asked(scope, record, operation, path, headers, principal), receive)
        if seat is not None and seat.is_reserve:
            raise Unavailable("BUSY", "too many connections are open", "try again in a moment, on a connection that is open")
        with self._admission.take_place(), self._telemetry.span("http.request", carrier=headers, operation=operation.name):
            principal = await self._admit(scope, record, operation, headers, seat)
            return await self._perform(_Asked(scope, record, operation, path, headers, principal), receive)

    async def _admit(
        self, scope: Scope, record: AccessRecord, operation: Operation, headers: dict[str, str], seat: Seat | None
    ) -> Principal:
        """The caller, if it may call this, as often as it does."""
        with step("authenticate"):
            principal = await self._authenticator.identify(operation.audience, headers, _address(scope))
        record.tenant = principal.tenant
        acting_for.set(principal.tenant)
        if operation.audience != "public":
            if seat is not None:
                seat.is_known = True
            with step("admit", tenant=principal.tenant):
                await self._admission.check_rate(principal)
        return principal

    async def _perform(self, asked: _Asked, receive: Receive) -> Response:
        operation, record = asked.operation, asked.record
        if not record.unread or (operation.body is None and operation.method != "POST"):
            return await self._call(asked, b"")
        with self._admission.make_room(asked.principal.tenant) as room:
            data = await self._read(asked, Request(asked.scope, receive), room.count)
            record.unread = False
            await self._authenticator.confirm(operation.audience, asked.headers)  # it may have taken minutes to arrive
            return await self._call(asked._replace(room=room), data)

    async def _read(self, asked: _Asked, request: Request, count: Callable[[int], Awaitable[None]]) -> bytes:
        caps, is_upload = self._caps, asked.operation.upload
        with self._admission.take_tenant_place(asked.principal.tenant), step("read body"):
            return await read_body(
                request,
                asked.headers,
                bytes_max=caps.upload_bytes_max if is_upload else caps.body_bytes_max,
                deadline_s=(caps.upload_deadline_ms if is_upload else caps.body_deadline_ms) / 1000,
                count=count,
            )

    async def _call(self, asked: _Asked, data: bytes) -> Response:
        scope, operation, headers, principal = asked.scope, asked.operation, asked.headers, asked.principal
        query, content_type = decode_query(operation, scope["query_string"]), headers.get("content-type", "")
        body = await run_large(principal.tenant, len(data), decode_body, operation, data, content_type, self._caps)
        call = Call(
            principal=principal,
            path=asked.path,
            query=query,
            body=body,
            headers=headers,
            content_type=content_type,
            request_id=asked.record.id,
            address=_address(scope),
            cbor=wants_cbor(headers.get("accept", "")),
        )
        key = headers.get("idempotency-key") if operation.method == "POST" else None
        if key is not None and self._idempotence is not None:
            target = scope["raw_path"] + b"?" + scope["query_string"]
            parts = (principal.token_id, operation.method, target, content_type, data)
            digest = await run_large(principal.tenant, len(data), digest_request, *parts)
            return await self._run_once(self._idempotence, asked, call, key, digest)
        if operation.finishes:
            return await self._finish(self._run(asked, call))
        return await self._run(asked, call)

    async def _run(self, asked: _Asked, call: Call) -> Response:
        """The operation, in its tenant's place and its time; with room for its body, also when the client has left."""
        operation = asked.operation
        deadline_s = (operation.deadline_ms or self._caps.request_deadline_ms) / 1000
        place: AnswerPlace | None = None
        with asked.room, self._admission.take_tenant_place(call.principal.tenant), step(operation.name):
            try:
                async with asyncio.timeout(deadline_s) as limit:
                    if operation.large:
                        place = await self._admission.take_answer_place(call.principal.tenant)
                    answer = await self._handle(operation, call)
            except TimeoutError:
                if not limit.expired():
                    raise
                hint = "ask for it asynchronously, or for less"
                raise Unavailable("DEADLINE_EXCEEDED", f"there was no answer within {deadline_s:g} s", hint) from None
        if isinstance(answer, Events):
            watch = self._watch(operation, call)
            return EventReply(answer.events, watch, self._caps, self._telemetry)
        if isinstance(answer, Chunks):
            write_deadline_s = self._caps.write_deadline_ms / 1000
            confirm = functools.partial(self._authenticator.confirm, operation.audience, call.headers)
            return ChunkReply(answer, confirm, write_deadline_s, place)
        reply = render_answer(operation, answer, call.cbor)
        if len(reply.body) > LARGE_BYTES:
            reply.place = place
        return reply

    async def _handle(self, operation: Operation, call: Call) -> Any:
        """THREAT[TM-AUDIT-LOSS]: an answer, also a refusal, leaves when its audit records are durable."""
        audit = self._audit
        if audit is None:
            return await operation.handler(call)
        tenant, mark = call.principal.tenant, audit.mark
        try:
            answer = await operation.handler(call)
        except GatewayError:
            await audit.settle(tenant, mark)
            raise
        try:
            await audit.settle(tenant, mark)
        except GatewayError as failed:
            if operation.method == "GET":
                raise
            raise StoreFailed("STORE_UNCERTAIN", "it was done, but not all of its audit records", "read it back") from failed
        return answer

    async def _finish(self, performance: Coroutine[Any, Any, Response]) -> Response:
        """Goes on when the client leaves."""
        task = asyncio.create_task(performance)
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _run_once(self, idempotence: Idempotence, asked: _Asked, call: Call, key: str, digest: str) -> Response:
        """The operation, or the answer it gave to the first request with this key."""
        tenant = call.principal.tenant
        replayed = await idempotence.begin(tenant, key, digest, call.cbor)
        if replayed is not None:
            return replayed

        async def perform() -> Response:
            try:
                made = await self._run(asked, call)
            except GatewayError as error:
                await idempotence.end_refused(tenant, key, digest, error, call)
                raise
            except BaseException:
                await idempotence.release(tenant, key)
                raise
            is_shown = isinstance(made, Reply) and not asked.operation.confidential
            await idempotence.end(tenant, key, digest, made, is_shown=is_shown)
            return made

        return await self._finish(perform())

    @contextlib.contextmanager
    def _watch(self, operation: Operation, call: Call) -> Iterator[Watch]:
        """A stream, in one of its tenant's places, for as long as its caller may have it."""
        watching = self._authenticator.watch(operation.audience, call.headers)
        with self._admission.hold_stream(call.principal.tenant), self._telemetry.streams.track_inprogress(), watching as watch:
            yield watch

    async def _converse(self, socket: WebSocket) -> None:
        scope, record = socket.scope, find_record(socket.scope)
        offered = list(scope.get("subprotocols", ()))
        try:
            headers = check_head(scope, self._caps)
            operation, path = self.routes.match("WEBSOCKET", scope["raw_path"])
            record.operation = operation.name
            with self._admission.take_place():
                read_bearer(headers, offered)
                principal = await self._admit(scope, record, operation, headers, find_seat(scope))
                query = decode_query(operation, scope["query_string"])
                call = Call(principal=principal, path=path, query=query, headers=headers, request_id=record.id)
                async with asyncio.timeout(self._caps.request_deadline_ms / 1000):
                    live = await operation.handler(call)
            if not isinstance(live, Live):
                raise TypeError(f"{operation.name} is a WebSocket and returned {type(live).__name__}")
            with self._watch(operation, call) as watch:
                conversation = Conversation(live, socket, watch, self._caps, self._telemetry)
                await conversation.run(choose_protocol(offered))
        except ClientDisconnect:
            raise
        except Exception as error:
            if record.status:
                raise
            await render_problem(socket, error)(scope, socket.receive, socket.send)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""
