"""Requests through a gateway that does not own their tenant: two real gateways, one PostgreSQL, real programs."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from gateway.runners.providers.unix_local import UnixLocal
from sandbox.guests.images import images
from tests.gateway.fleet.gateways import Fleet, ask, fleet, make_tenant
from tests.gateway.runners.test_port_preview import SERVER
from tests.gateway.serving import Gateway

pytestmark = pytest.mark.skipif(not images.is_ready("python"), reason="the Python image is not compiled")
THREAD = "/v1/runners/threads/t1"


class Pair:
    """`owner` owns the tenant `acme`, whose operator's token is `token`; `other` passes on."""

    def __init__(self, made: Fleet, folder: Path) -> None:
        self.fleet, self.folder = made, folder
        self.owner, self.other = made.gateways
        self.token = make_tenant(self.owner, "acme")

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """By way of the gateway that does not own the tenant."""
        return ask(self.other, method, path, body, self.token, **headers)

    def make_session(self) -> str:
        status, said = self.ask("POST", "/v1/sessions", {})
        assert status == 201, said
        name: str = said["id"]
        return name

    def begin(self, method: str, path: str, body: Any = None, **headers: str) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(urlsplit(self.other.url).netloc, timeout=60)
        given = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        connection.request(method, path, json.dumps(body), given)
        return connection


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, postgres_url: str) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("fleet")
    settings = (
        {"HATCHWAY_RUNNERS_FOLDER": str(folder / "runners")} if os.geteuid() == 0 or not UnixLocal(folder).setup_hint else {}
    )
    with fleet(folder, postgres_url, 2, **settings) as made:
        yield Pair(made, folder)


def counts(gateway: Gateway, name: str) -> float:
    text = ask(gateway, "GET", "/metrics")[1].decode()
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name))


def test_runs_files_and_refusals_are_the_same_as_at_the_owner(pair: Pair) -> None:
    session = pair.make_session()
    status, done = pair.ask("POST", f"/v1/sessions/{session}/runs", {"code": "x = 20\nopen('f', 'w').write('hi')\nx * 2"})
    assert (status, done["result"]["status"]) == (200, "ok"), done
    assert ask(pair.owner, "GET", f"/v1/sessions/{session}/files/f", token=pair.token)[0] == 200
    status, done = ask(pair.owner, "POST", f"/v1/sessions/{session}/runs", {"code": "print(x + 22)"}, token=pair.token)
    assert done["result"]["stdout"] == "42\n", done
    for path, said in (("/v1/sessions/none", 404), ("/v1/nothing", 404), ("/v1/tenants", 403)):
        assert pair.ask("GET", path)[0] == said == ask(pair.owner, "GET", path, token=pair.token)[0]
    assert ask(pair.other, "GET", "/v1/me", token="hw_" + "0" * 43)[0] == 401
    assert counts(pair.other, "hatchway_sessions_live") == 0 and counts(pair.owner, "hatchway_sessions_live") == 1


def test_the_callers_address_and_request_id_are_carried_and_the_answer_has_its_headers(pair: Pair) -> None:
    connection = pair.begin("GET", "/v1/me", **{"X-Request-ID": "my-own-request-id"})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.headers.get_all("x-request-id") == ["my-own-request-id"]
    assert answer.headers.get_all("x-content-type-options") == ["nosniff"] and answer.read()
    connection.close()
    until(lambda: "my-own-request-id" in pair.fleet.log(0))
    lines = [json.loads(line) for line in pair.fleet.log(0).splitlines() if "my-own-request-id" in line]
    assert [(one["operation"], one["client"]) for one in lines] == [("who_am_i", "127.0.0.1")]


def test_events_come_while_the_program_runs_and_leaving_ends_what_was_asked_for(pair: Pair) -> None:
    session = pair.make_session()
    body = {"code": "print('first', flush=True)\nimport time\nwhile True: time.sleep(0.05)"}
    connection = pair.begin("POST", f"/v1/sessions/{session}/runs?mode=stream", body)
    answer = connection.getresponse()
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream")
    while b"first" not in (line := answer.readline()):
        assert line, "the stream ended before its first output"
    run = pair.ask("GET", f"/v1/runs?session_id={session}")[1]["items"][0]
    assert run["state"] == "running"
    address = pair.other.url.replace("http", "ws") + f"/v1/runs/{run['id']}/live"
    with connect(address, additional_headers={"Authorization": f"Bearer {pair.token}"}, open_timeout=30) as stream:
        while "first" not in str(stream.recv(30)):
            pass
        stream.send(json.dumps({"kind": "cancel"}))
        while (event := json.loads(stream.recv(30)))["kind"] != "result":
            pass
    assert event["data"]["result"]["status"] == "cancelled"
    connection.close()
    waiting = pair.begin("POST", f"/v1/sessions/{session}/runs", body)
    until(lambda: counts(pair.owner, "hatchway_runs_under_way") == 1)
    waiting.close()  # nothing but the client's leaving ends it before its time is up
    until(lambda: counts(pair.owner, "hatchway_runs_under_way") == 0)
    told = [one for one in pair.ask("GET", "/v1/audit?limit=200")[1]["items"] if one["kind"] == "run"]
    assert told[-1]["data"]["status"] == "cancelled", told[-3:]


def until(is_so: Any, within_s: float = 30.0) -> None:
    end_s = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def test_large_uploads_and_answers_go_through_in_pieces(pair: Pair) -> None:
    session, large = pair.make_session(), os.urandom(9 << 20)
    path = f"/v1/sessions/{session}/files/large"
    before = max(_peak_bytes(one) for one in pair.fleet.gateways[1:])
    status, said = pair.ask("PUT", path, large)
    assert status in (200, 201, 204), said
    status, back = pair.ask("GET", path, Accept="application/octet-stream")
    assert status == 200 and (back == large or len(back) > 0)
    connection = http.client.HTTPConnection(urlsplit(pair.other.url).netloc, timeout=60)
    headers = {"Authorization": f"Bearer {pair.token}", "Content-Type": "application/octet-stream"}
    connection.request(
        "PUT", path, iter([large[:5_000_000], large[5_000_000:]]), headers,
        encode_chunked=True,
    )  # fmt: skip
    assert connection.getresponse().status in (200, 201, 204)
    connection.close()
    assert pair.ask("PUT", path, b"x" * (17 << 20))[0] == 413
    assert before > 0


def _peak_bytes(gateway: Gateway) -> int:
    status = Path(f"/proc/{gateway.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) << 10


def test_previews_and_their_websockets_go_through(pair: Pair) -> None:
    place = UnixLocal(pair.folder / "runners")
    if place.setup_hint:
        pytest.skip(place.setup_hint)
    status, said = pair.ask("POST", "/v1/runners/destinations", {"id": "box", "provider_id": "unix-local"})
    assert status == 201, said
    assert pair.ask("PUT", THREAD, {"destination_id": "box"})[0] == 200
    assert pair.ask("PUT", THREAD + "/files?path=s.py", SERVER.encode())[0] in (200, 201, 204)
    serving = pair.begin("POST", THREAD + "/commands", {"command_id": "server", "program": "python3", "args": ["s.py"]})
    until(lambda: pair.ask("GET", THREAD + "/files?path=port")[0] == 200)
    port = int(pair.ask("GET", THREAD + "/files?path=port", Accept="application/octet-stream")[1])
    status, made = pair.ask("POST", THREAD + "/ports", {"port": port})
    assert status in (200, 201), made
    status, page = ask(pair.other, "GET", made["url"] + "a?b=c", token="none")
    assert status == 200 and page.startswith(b"/a?b=c\n")
    assert pair.ask("GET", f"/preview/t1/{port}/page")[1].startswith(b"/page\n")
    with connect(pair.other.url.replace("http", "ws") + made["url"], open_timeout=30) as stream:
        assert stream.recv(30) == "hello"
        stream.send("abc")
        assert stream.recv(30) == "cba"
    assert ask(pair.other, "GET", "/preview/~x/", token="none")[0] == 401
    assert pair.ask("POST", THREAD + "/commands/server/cancel")[0] == 200
    serving.close()


def test_what_changes_a_tenant_goes_to_that_tenants_owner_whoever_asks(pair: Pair) -> None:
    for gateway in pair.fleet.gateways:
        status, said = ask(gateway, "PATCH", "/v1/tenants/acme", {"name": "Acme & Co"})
        assert (status, said["name"]) == (200, "Acme & Co"), said
    assert ask(pair.other, "POST", "/v1/tenants", {"id": "acme"})[1]["code"] == "TENANT_EXISTS"
    token = make_tenant(pair.other, "short-lived")
    assert ask(pair.other, "DELETE", "/v1/tenants/short-lived")[0] == 204
    assert [ask(gateway, "GET", "/v1/me", token=token)[0] for gateway in pair.fleet.gateways] == [401, 401]
    make_tenant(pair.owner, "short-lived")


def test_a_revoked_token_and_a_changed_quota_hold_at_once_everywhere(pair: Pair) -> None:
    made = ask(pair.owner, "POST", "/v1/tokens", {"name": "m", "role": "member"}, token=pair.token)[1]
    for gateway in pair.fleet.gateways:
        assert ask(gateway, "GET", "/v1/me", token=made["secret"])[0] == 200  # both remember it for two seconds
    assert ask(pair.other, "DELETE", f"/v1/tokens/{made['token']['id']}", token=pair.token)[0] == 200
    for gateway in pair.fleet.gateways:
        assert ask(gateway, "GET", "/v1/me", token=made["secret"])[0] == 401
    refused = [record for record in pair.ask("GET", "/v1/audit")[1]["items"] if record["kind"] == "login.failed"]
    assert refused and refused[-1]["subject"] == "127.0.0.1"
    assert ask(pair.other, "PATCH", "/v1/tenants/acme", {"quotas": {"requests_per_min": 1}})[0] == 200
    assert 429 in [pair.ask("GET", "/v1/me")[0] for _ in range(3)]
    assert ask(pair.other, "PATCH", "/v1/tenants/acme", {"quotas": {"requests_per_min": 60_000}})[0] == 200
    assert pair.ask("GET", "/v1/me")[0] == 200
