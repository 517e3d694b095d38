"""Two gateways, each a `hatchway serve` of its own: what is begun through A on B goes on when B was killed and started again.

Also here: what the `hatchway` runner does that needs a real gateway at the other end, such as streaming.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from sandbox.guests.images import images
from tests.gateway.serving import Gateway, serving

pytestmark = pytest.mark.skipif(not images.is_ready("shell"), reason="the shell image is not compiled")
THREAD = "/v1/runners/threads/t"


@dataclass
class Pair:
    """A knows B as the destination and the runtime `b`. `kill` and `start` are B's end and its return, at the same address."""

    a: Gateway
    b: Gateway
    kill: Callable[[], None]
    start: Callable[[], None]

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return ask(self.a, method, path, body)

    def sh(self, code: str, **fields: Any) -> tuple[int, Any]:
        return self.run("sh", "-c", code, **fields)

    def run(self, program: str, *args: str, **fields: Any) -> tuple[int, Any]:
        return self.ask("POST", THREAD + "/commands", {"command_id": "c", "program": program, "args": list(args), **fields})


def ask(gateway: Gateway, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(gateway.url).netloc, timeout=60)
    headers = {"Authorization": f"Bearer {gateway.token}", "Content-Type": "application/json"}
    if isinstance(body, bytes):
        headers["Content-Type"] = "application/octet-stream"
    elif body is not None:
        body = json.dumps(body).encode()
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        return answer.status, json.loads(said) if said.startswith((b"{", b"[")) else said
    finally:
        connection.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("two")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "equipment.toml").write_text(f'allow_private = ["127.0.0.1:{port}"]\nports = [{port}]\n')
    (folder / "a.toml").write_text(f'equipment = "{folder}/equipment.toml"\n')
    with contextlib.ExitStack() as stack:
        b = stack.enter_context(serving(folder / "b", "--port", str(port)))
        a = stack.enter_context(serving(folder / "a", "--config", str(folder / "a.toml")))

        def start() -> None:
            made.b = stack.enter_context(serving(folder / "b", "--port", str(port), token=b.token))

        made = Pair(a, b, lambda: made.b.kill(), start)
        assert made.ask("PUT", "/v1/secrets/b-token", {"value": b.token})[0] < 300
        config = {"url": b.url, "token": {"id": "b-token"}, "durable": True, "language": "python"}
        place = {"id": "b", "provider_id": "hatchway", "config": config}
        assert made.ask("POST", "/v1/runners/destinations", place)[0] == 201
        assert made.ask("PUT", THREAD, {"destination_id": "b"})[0] == 200
        runtime = {"runtime_id": "b", "label": "B", "url": b.url, "token": {"id": "b-token"}}
        assert made.ask("POST", "/v1/registry/runtimes", runtime)[0] == 201
        yield made


def test_commands_files_and_artifacts_of_a_session_elsewhere(pair: Pair) -> None:
    status, done = pair.sh('echo "$1 $A"; cat; echo e >&2; exit 3', env=[["A", "a"]], stdin="in")
    assert (status, done["stdout"], done["stderr"], done["exit_code"]) == (200, " a\nin", "e\n", 3), done
    assert pair.ask("PUT", THREAD + "/files?path=d/big", b"b" * (3 << 20))[0] == 204
    assert pair.sh("wc -c < big", cwd="d")[1]["stdout"].strip() == str(3 << 20)
    status, kept = pair.ask("POST", THREAD + "/artifacts", {"path": "d", "recursive": True})
    assert status == 200 and pair.ask("GET", kept["url"])[0] == 200
    assert pair.ask("GET", THREAD + "/files?path=none")[1]["code"] == "PATH_NOT_FOUND"


def test_output_of_a_command_elsewhere_is_streamed_and_it_is_cancelled_or_ends_in_time(pair: Pair) -> None:
    connection = http.client.HTTPConnection(urlsplit(pair.a.url).netloc, timeout=60)
    headers = {"Authorization": f"Bearer {pair.a.token}", "Content-Type": "application/json", "Accept": "text/event-stream"}
    body = {"command_id": "s", "program": "sh", "args": ["-c", "echo first; while :; do :; done"]}
    try:
        connection.request("POST", THREAD + "/commands", json.dumps(body), headers)
        answer = connection.getresponse()
        assert _event(answer) == ("stdout", "first\n")
        assert pair.ask("POST", THREAD + "/commands/s/cancel")[1] == {"cancelled": True}
        kind, done = _event(answer)
        assert (kind, done["status"], done["stdout"]) == ("result", "cancelled", "first\n")
    finally:
        connection.close()
    assert pair.sh("while :; do :; done", timeout_ms=300)[1]["status"] == "timeout"
    assert pair.sh("echo on")[1]["stdout"] == "on\n"


def _event(answer: http.client.HTTPResponse) -> tuple[str, Any]:
    kind = ""
    while not (line := answer.readline()).startswith(b"data: "):
        kind = line[7:].strip().decode() if line.startswith(b"event: ") else kind
    return kind, json.loads(line[6:])


def test_a_session_goes_on_after_the_gateway_it_is_on_was_killed(pair: Pair) -> None:
    assert pair.run("python3", "-c", "open('f', 'w').write('file')")[1]["exit_code"] == 0
    before = pair.ask("GET", THREAD)[1]["state"]["session_id"]
    pair.kill()
    status, said = pair.sh("cat f")
    assert (status, said["code"]) == (503, "RUNNER_UNAVAILABLE")
    assert pair.b.token not in json.dumps(said) and urlsplit(pair.b.url).netloc not in json.dumps(said)
    pair.start()
    assert pair.run("python3", "-c", "print(open('f').read())")[1]["stdout"] == "file\n"
    assert pair.ask("GET", THREAD)[1]["state"]["session_id"] == before
    assert ask(pair.b, "GET", f"/v1/sessions/{before}")[0] == 200


def test_a_session_that_was_deleted_elsewhere_is_said_to_be_gone_and_then_made_anew(pair: Pair) -> None:
    pair.sh("echo here > gone")
    before = pair.ask("GET", THREAD)[1]["state"]["session_id"]
    assert ask(pair.b, "DELETE", f"/v1/sessions/{before}")[0] == 204
    assert pair.sh("cat gone")[1]["code"] == "RUNNER_STALE"
    status, done = pair.sh("cat gone")
    assert (status, done["exit_code"]) == (200, 1)


def test_a_worker_elsewhere_is_spawned_watched_over_a_crash_and_stopped(pair: Pair) -> None:
    many = "/v1/registry/runtimes/b/workers"
    spawn = {"intent": {"kind": "workspace_companion"}, "acceptance": {"kind": "run_accepted", "expected_segments": 0}}
    status, made = pair.ask("POST", many, spawn)
    assert status == 200 and made["state"] == "accepted", made
    one = f"{many}/{made['worker']['worker_id']}"
    address = pair.a.url.replace("http", "ws") + one + "/events/ws?cursor=0"
    with connect(address, additional_headers={"Authorization": f"Bearer {pair.a.token}"}, open_timeout=30) as stream:
        assert pair.ask("POST", one + "/input", {"content": "kept = 41\nprint('said')"})[1]["state"] == "accepted"
        assert "said" in json.dumps(_until(stream, "turn", status="ok"))
        pair.ask("POST", one + "/input", {"content": "print('go', flush=True)\nwhile True: pass"})
        _until(stream, "output")
        pair.kill()
        _until(stream, "runtime", status="degraded")
        assert pair.ask("GET", one)[0] == 502
        pair.start()
        _until(stream, "turn", status="interrupted")
        assert pair.ask("POST", one + "/input", {"content": "kept + 1"})[1]["state"] == "accepted"
        assert "42" in json.dumps(_until(stream, "turn", status="ok"))
        assert pair.ask("POST", one + "/stop", {"mode": "graceful"})[1]["state"] == "accepted"
        _until(stream, "worker", status="stopped")
    told = pair.ask("GET", one + "/transcript")[1]
    assert told["items"][-1]["content"] == "42"
    assert urlsplit(pair.b.url).netloc not in json.dumps([made, told]) and pair.b.token not in json.dumps([made, told])
    assert pair.ask("POST", one + "/input", {"content": "1"})[1]["state"] == "rejected"


def _until(stream: Any, kind: str, **data: Any) -> list[Any]:
    """Events up to one of a kind, with this in it."""
    seen: list[Any] = []
    while not seen or seen[-1]["kind"] != kind or any(seen[-1]["data"][name] != value for name, value in data.items()):
        seen.append(json.loads(stream.recv(60)))
    return seen


def test_a_thread_that_is_deleted_leaves_nothing_elsewhere(pair: Pair) -> None:
    pair.sh("echo here")
    there = pair.ask("GET", THREAD)[1]["state"]["session_id"]
    assert pair.ask("DELETE", THREAD)[0] == 204
    assert ask(pair.b, "GET", f"/v1/sessions/{there}")[0] == 404
