"""Commands that do not end with the gateway: a real `hatchway serve` is killed, and the next one comes back to them."""

from __future__ import annotations

import contextlib
import http.cookiejar
import json
import os
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from gateway.runners.providers.unix_local import find_obstacle
from hatchway.client.client import Client
from hatchway.client.requests import CommandInfo
from sandbox.guests.images import images
from tests.gateway.runners.lifecycle_campaign import find_processes
from tests.gateway.runners.test_port_preview import SERVER
from tests.gateway.serving import Gateway, serving

POLICY = """
policy p v {version}
allow run when language in {{ {languages} }}
limit run {{ cpu 60s wall 50m memory 1GiB output 1MiB calls 10 stack 100 }}
allow fs.read
allow fs.write

test "commands" {{
  as {{ tenant default }}
  run {{ language javascript, bytes 1KiB }} => deny
}}
"""
TALKING = SERVER.replace("def do_GET(self):", "def do_GET(self):\n        print('asked', self.path, flush=True)").replace(
    'if self.path == "/endless"',
    'if self.path == "/there": return self.lead()\n        if self.path == "/endless"',
).replace("    def endless(self):", '''    def lead(self):
        self.send_response(302)
        self.send_header("Location", "here")
        self.send_header("Content-Length", "0")
        self.end_headers()
    def endless(self):''')  # fmt: skip


class House:
    """Gateways over one folder, one at a time; and the thread t of the present one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.token, self.mark = folder, "", f"HATCHWAY_TEST_MARK={folder}"
        self.gateway: Gateway

    @contextlib.contextmanager
    def living(self) -> Iterator[Client]:
        settings = {"HATCHWAY_RUNNERS_FOLDER": str(self.folder / "runners")}
        with serving(self.folder / "data", token=self.token, settings=settings) as self.gateway:
            self.token = self.gateway.token
            with Client(self.gateway.url, token=self.token) as client:
                yield client

    def put_policy(self, client: Client, version: int = 1, languages: str = "shell, python") -> None:
        source = POLICY.format(version=version, languages=languages)
        client.do("deploy_policy", sources={"p.hatch": source}, main="p.hatch")

    def start(self, client: Client, name: str, code: str, on_restart: str, **options: Any) -> None:
        env = dict([self.mark.split("=")])
        runner = client.runner("t", destination="box")
        runner.start(code, command_id=name, env=env, timeout_ms=3_000_000, on_restart=on_restart, **options)

    def find(self, client: Client, name: str) -> CommandInfo | None:
        return next((one for one in client.runner("t").commands() if one.command_id == name), None)

    @property
    def sessions(self) -> list[Path]:
        return [one for one in (self.folder / "runners" / "default").iterdir() if one.name.startswith("unix-local-")]


@pytest.fixture
def house(tmp_path: Path) -> House:
    if not images.is_ready("shell"):
        pytest.skip("the shell image is not compiled")
    if obstacle := find_obstacle():
        pytest.skip(obstacle)
    return House(tmp_path)


def till(condition: Callable[[], Any], seconds: float = 60) -> Any:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")


def read(client: Client, path: str) -> str:
    with contextlib.suppress(Exception):
        return client.runner("t").read(path).decode()
    return ""


def prepare(house: House, client: Client) -> None:
    house.put_policy(client)
    client.do("add_destination", id="box", provider_id="unix-local")


def look(gateway: Gateway, preview: str, path: str) -> tuple[str, str, list[str]]:
    """What the preview shows, where that was, and the names of the cookies that came with it."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with opener.open(f"{gateway.url}{preview}{path}", timeout=30) as answer:
        return answer.read().decode(), answer.url, [cookie.name for cookie in jar]


def test_a_server_that_is_kept_answers_through_its_preview_after_two_kills_and_nothing_leaks(house: House) -> None:
    with house.living() as client:
        prepare(house, client)
        client.runner("t", destination="box").write("server.py", TALKING)
        house.start(client, "server", "echo $$ > pid; exec python3 server.py", "keep")
        house.start(client, "brief", "echo begun > brief; exec sleep 1000", "end")
        port = int(till(lambda: read(client, "port")))
        till(lambda: read(client, "brief"))
        preview = client.do("expose_runner_port", thread_id="t", port=port)["url"]
        assert look(house.gateway, preview, "first")[0].startswith("/first\n")
        pid, logs = read(client, "pid"), client.runner("t").command("server").logs()
        house.gateway.kill()
    for life in range(2):
        with house.living() as client:
            url = house.gateway.url
            shown, where, cookies = look(house.gateway, preview, "there")
            assert (shown.splitlines()[0], where, cookies) == ("/here", f"{url}{preview}here", []), "all of it stays inside"
            with connect(f"{url.replace('http', 'ws', 1)}{preview}", open_timeout=30) as socket:
                assert socket.recv(30) == "hello"
                socket.send("abc")
                assert socket.recv(30) == "cba"
            command = client.runner("t").command("server")
            till(lambda: len(_texts(command.logs())) >= len(_texts(logs)) + 3)  # noqa: B023
            later = command.logs()
            assert later.events[: len(logs.events)] == logs.events, "a number means the same event"
            rest = later.events[len(logs.events) :]
            assert command.logs(after=logs.last).events[: len(rest)] == rest, "it may have written more since"
            assert read(client, "pid") == pid and house.find(client, "brief") is None
            logs = later
            if life == 0:
                house.gateway.kill()
            else:
                assert house.gateway.stop() == 0
    with house.living() as client:
        assert look(house.gateway, preview, "again")[0].startswith("/again\n"), "it survives a stop as well"
        assert client.runner("t").command("server").cancel()
        assert client.runner("t").command("server").wait().status == "cancelled"
        assert find_processes(house.mark) == []
        assert [list((one / "output").iterdir()) for one in house.sessions] == [[]]
        client.runner("t").delete()
        assert house.sessions == [] and _supervisors(house) == []


def _texts(logs: Any) -> list[str]:
    return [line for event in logs.events if event.kind == "stdout" for line in event.data.splitlines()]


def _supervisors(house: House) -> list[str]:
    """Sockets where a supervisor of this house still listens."""
    return [line for line in Path("/proc/net/unix").read_text().splitlines() if str(house.folder) in line]


def test_a_command_is_begun_again_where_it_asks_for_that(house: House) -> None:
    with house.living() as client:
        prepare(house, client)
        house.start(client, "again", "echo life >> lives; exec sleep 1000", "restart")
        till(lambda: read(client, "lives"))
        house.start(client, "done", "echo done >> done", "restart")
        client.runner("t").command("done").wait()
        house.gateway.kill()
    with house.living() as client:
        till(lambda: read(client, "lives") == "life\nlife\n")
        house.gateway.stop()
    with house.living() as client:
        till(lambda: read(client, "lives") == "life\n" * 3)
        assert read(client, "done") == "done\n", "what had ended is not begun again"
        assert client.runner("t").command("again").cancel()
        assert find_processes(house.mark) == []


def test_what_became_of_a_kept_command_without_a_gateway_is_told_by_the_next_one(house: House) -> None:
    with house.living() as client:
        prepare(house, client)
        house.start(client, "ends", "echo out; while [ ! -e go ]; do sleep 0.05; done; echo last; exit 3", "keep")
        house.start(client, "late", "exec sleep 1000", "keep")
        house.start(client, "lost", "echo before; exec sleep 1000", "keep")
        till(lambda: "before" in str(client.runner("t").command("lost").logs().events))
        house.gateway.kill()
    (house.sessions[0] / "workspace" / "go").touch()
    till(lambda: len(find_processes(house.mark)) <= 2)
    record = json.loads((house.sessions[0] / "supervisor").read_text())
    os.kill(record["pid"], signal.SIGKILL)
    till(lambda: find_processes(house.mark) == [])
    with house.living() as client:
        ended, lost = (client.runner("t").command(name).wait() for name in ("ends", "lost"))
        assert (ended.status, ended.exit_code, ended.stdout) == ("exited", 3, "out\nlast\n")
        assert (lost.status, lost.exit_code, lost.stdout) == ("lost", None, "before\n")
        assert client.runner("t").run("echo on").stdout == "on\n"


def test_a_kept_command_that_the_policy_in_force_refuses_is_ended(house: House) -> None:
    with house.living() as client:
        prepare(house, client)
        house.start(client, "kept", "exec python3 -c 'import time; print(1, flush=True); time.sleep(1000)'", "keep")
        till(lambda: client.runner("t").command("kept").logs().events)
        house.put_policy(client, 2, "python")
        assert find_processes(house.mark)
        house.gateway.kill()
    with house.living() as client:
        assert client.runner("t").command("kept").wait().status == "cancelled"
        till(lambda: find_processes(house.mark) == [])


def test_tm_http_token_what_was_begun_with_a_token_that_was_revoked_does_not_last(house: House) -> None:
    with house.living() as client:
        prepare(house, client)
        made = client.do("create_token", name="leaver", role="operator", user="eve")
        with Client(house.gateway.url, token=made["secret"]) as leaver:
            house.start(leaver, "again", "echo life >> lives; exec sleep 1000", "restart")
            house.start(leaver, "kept", "echo 1 > begun; exec sleep 1000", "keep")
            till(lambda: read(leaver, "lives") and read(leaver, "begun"))
        client.do("revoke_token", token_id=made["token"]["id"])
        house.gateway.kill()
    with house.living() as client:
        till(lambda: find_processes(house.mark) == [])
        assert read(client, "lives") == "life\n" and house.find(client, "again") is None


def test_a_kept_command_whose_session_is_gone_is_ended_when_the_gateway_starts(house: House) -> None:
    with house.living() as client:
        prepare(house, client)
        house.start(client, "kept", "echo 1 > begun; exec sleep 1000", "keep")
        till(lambda: read(client, "begun"))
        house.gateway.kill()
    (folder,) = house.sessions
    assert find_processes(house.mark)
    folder.rename(folder.with_name("unix-local-" + "0" * 32))  # of no thread: as after a crash
    with house.living() as client:
        assert find_processes(house.mark) == [] and _supervisors(house) == []
        assert all("0" * 32 not in one.name for one in house.sessions)
        assert house.find(client, "kept") is None


def test_where_commands_cannot_be_kept_that_is_said(house: House) -> None:
    with house.living() as client:
        house.put_policy(client)
        with pytest.raises(Exception, match="outlive the gateway are not supported by provider wasm"):
            client.runner("w").start("sleep 5", on_restart="keep")
        with pytest.raises(Exception, match="a terminal ends with the gateway"):
            client.runner("w").start("sleep 5", on_restart="restart", terminal=(24, 80))
