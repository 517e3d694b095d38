"""Webhooks against a real server on this machine, through the guarded client."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import msgspec
import pytest

from gateway.egress import Egress
from gateway.hooks.executors import webhooks
from gateway.hooks.executors.webhooks import sign, verify
from gateway.hooks.firing import Fired
from tests.gateway.hooks.stage import Stage

KEY = b"a signing key of the tenant"
Reply = Callable[[int], tuple[int, bytes]]


class Received:
    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []


class Keys:
    async def key(self, name: str) -> bytes | None:
        return {"hooks/signing": KEY, "mine": b"another"}.get(name)


@contextmanager
def service(reply: Reply) -> Iterator[tuple[str, Received]]:
    """A web service that answers its nth request with `reply(n)`; a status of 0 breaks the connection."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status, answer = reply(len(received.requests))
            if not status:
                return
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def fire(stage: Stage, url: str, *, egress: Egress | None = None, secret: str | None = None, **fields: Any) -> Fired:
    port = int(url.split(":")[2].split("/")[0])
    egress = egress or Egress(ports=(port,), allow_private=("127.0.0.1/32",))
    executors = msgspec.structs.replace(stage.executors, egress=egress, find_key=Keys().key)
    executor = {"type": "webhook", "url": url} | ({"secret": secret} if secret else {})
    return stage.fire("pre_tool_use", {"executor": executor, "on_error": "block", **fields}, executors=executors)


def test_an_answer_is_read_like_a_programs_output(stage: Stage) -> None:
    answers = {
        b"": None,
        b'{"decision":"block","reason":"no"}': "no",
        b"hello": "hook stdout is not JSON (first 80 bytes: hello)",
    }
    for body, blocked in answers.items():
        with service(lambda n, body=body: (200, body)) as (url, _):  # type: ignore[misc]
            assert fire(stage, url).blocked == blocked


def test_a_webhook_may_rewrite(stage: Stage) -> None:
    body = b'{"decision":"mutate","patch":{"arguments":{"rows":1}}}'
    with service(lambda n: (201, body)) as (url, _):
        assert fire(stage, url).data["arguments"] == {"table": "orders", "rows": 1}


def test_the_request_carries_the_payload_and_says_what_it_is(stage: Stage) -> None:
    with service(lambda n: (200, b"")) as (url, received):
        fire(stage, url, id="audit")
    ((headers, body),) = received.requests
    payload = msgspec.json.decode(body)
    assert (payload["hook_id"], payload["event"], payload["data"]["tool_name"]) == ("user:audit", "pre_tool_use", "db.query")
    assert (headers["content-type"], headers["hatchway-hook-id"]) == ("application/json", "user:audit")
    assert headers["hatchway-event"] == "pre_tool_use"


def test_tm_hook_006_a_forged_altered_or_recorded_request_is_told_from_a_genuine_one(stage: Stage) -> None:
    with service(lambda n: (200, b"")) as (url, received):
        fire(stage, url)
        fire(stage, url, secret="mine")
    (headers, body), (others, _) = received.requests
    signature = headers["hatchway-signature"]
    sent = int(signature.partition(",")[0].removeprefix("t="))
    assert verify(signature, body, KEY, sent) and verify(signature, body, KEY, sent + 300)
    assert not verify(signature, body, KEY, sent + 301), "recorded and sent again later"
    assert not verify(signature.replace(f"t={sent}", f"t={sent + 200}"), body, KEY, sent + 301), "with a newer time"
    assert not verify(signature, body + b" ", KEY, sent), "altered"
    assert not verify(signature, body, b"another", sent), "of another key"
    assert verify(others["hatchway-signature"], received.requests[1][1], b"another", sent)
    for forged in ("", "t=1", "v1=00", f"t={sent},v1=", f"t={sent}", "t=é,v1=é", f"t={'9' * 5000},v1=00"):
        assert not verify(forged, body, KEY, sent)
    assert sign(b"{}", b"key", 1) == "t=1,v1=1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224"


def test_a_failing_service_is_tried_again_with_the_same_delivery(stage: Stage) -> None:
    with service(lambda n: (503, b"") if n < 3 else (200, b'{"decision":"block","reason":"third time"}')) as (url, received):
        fired = fire(stage, url)
    assert (fired.blocked, fired.outcomes[0].attempts) == ("third time", 3)
    assert len({headers["hatchway-delivery"] for headers, _ in received.requests}) == 1


def test_a_connection_that_breaks_is_tried_again(stage: Stage) -> None:
    with service(lambda n: (0, b"") if n == 1 else (200, b"")) as (url, received):
        assert fire(stage, url).blocked is None
    assert len(received.requests) == 2


@pytest.fixture
def paused_after(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """After how many attempts there was a pause. None of them is waited for."""
    asked: list[int] = []

    def pause_ms(attempts: int) -> float:
        asked.append(attempts)
        return 0.0

    monkeypatch.setattr(webhooks, "pause_ms", pause_ms)
    return asked


def test_a_service_that_stays_down_is_tried_six_times_with_a_pause_between_attempts(
    stage: Stage, paused_after: list[int]
) -> None:
    with service(lambda n: (500, b"")) as (url, received):
        fired = fire(stage, url, timeout_ms=30_000)
    assert fired.blocked == f"webhook answered 500 ({webhooks.ATTEMPTS_MAX} attempts)"
    assert len(received.requests) == webhooks.ATTEMPTS_MAX
    assert paused_after == list(range(1, webhooks.ATTEMPTS_MAX))


def test_pauses_between_attempts_grow_and_none_is_like_another() -> None:
    for attempts in range(1, webhooks.ATTEMPTS_MAX):
        pauses = {webhooks.pause_ms(attempts) for _ in range(20)}
        assert len(pauses) > 1 and all(25 * 2 ** (attempts - 1) <= one <= 50 * 2 ** (attempts - 1) for one in pauses)
    assert webhooks.pause_ms(50) <= 5000


@pytest.mark.parametrize("status", [301, 400, 404, 410])
def test_an_answer_that_will_not_change_is_not_tried_again(stage: Stage, status: int) -> None:
    with service(lambda n: (status, b"{}")) as (url, received):
        assert fire(stage, url).blocked == f"webhook answered {status}"
    assert len(received.requests) == 1


@pytest.mark.usefixtures("paused_after")
def test_a_webhook_that_is_down_is_an_error_that_on_error_decides(stage: Stage) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        fired = fire(stage, url, timeout_ms=30_000)
        assert fired.blocked and fired.blocked.startswith("webhook failed: ")
        assert fired.outcomes[0].attempts > 1
        assert fire(stage, url, timeout_ms=100, on_error="allow").blocked is None


def test_a_service_that_does_not_answer_is_timed_out(stage: Stage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert fire(stage, url, timeout_ms=150).blocked == "hook timed out after 150 ms"


def test_an_answer_over_the_limit_is_an_overrun(stage: Stage) -> None:
    with service(lambda n: (200, b" " * 70_000)) as (url, received):
        assert fire(stage, url).blocked == "hook output exceeded 65536 bytes"
    assert len(received.requests) == 1


def test_the_guarded_clients_refusal_is_final(stage: Stage) -> None:
    with service(lambda n: (200, b"")) as (url, received):
        fired = fire(stage, url, egress=Egress(ports=(int(url.split(":")[2].split("/")[0]),)))
    assert fired.blocked and fired.blocked.startswith("webhook refused: ")
    assert (fired.outcomes[0].attempts, received.requests) == (1, [])


def test_nothing_is_sent_without_a_key_to_sign_with(stage: Stage) -> None:
    with service(lambda n: (200, b"")) as (url, received):
        fired = fire(stage, url, secret="unknown")
    assert fired.blocked == "webhook has no signing key 'unknown'; store it as a secret of that name"
    assert received.requests == []
