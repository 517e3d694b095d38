"""`hatchway remote runners terminal` and `attach`: a real terminal, connected to one at a gateway."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest

from gateway.runners.providers.unix_local import UnixLocal
from hatchway import Client
from hatchway.remote.attachment import LEAVE
from tests.gateway.serving import Gateway, serving


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("attached")
    if hint := UnixLocal(folder / "runners").setup_hint:
        pytest.skip(hint)
    with serving(folder / "data", settings={"HATCHWAY_RUNNERS_FOLDER": str(folder / "runners")}) as gateway:
        with Client(gateway.url, gateway.token) as client:
            client.do("add_destination", id="here", provider_id="unix-local")
            client.runner("box", destination="here").run("true")
        yield gateway


class Seat:
    """A terminal, with `hatchway remote runners …` in it."""

    def __init__(self, gateway: Gateway, *words: str, rows: int = 31, columns: int = 99) -> None:
        self._terminal, theirs = pty.openpty()
        self._set_size(rows, columns)
        self.seen = ""
        environment = {**os.environ, "HATCHWAY_URL": gateway.url, "HATCHWAY_TOKEN": gateway.token}
        for name in ("LINES", "COLUMNS"):
            environment.pop(name, None)
        command = [sys.executable, "-m", "hatchway.cli", "remote", "runners", *words]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        )
        os.close(theirs)

    def _set_size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def resize(self, rows: int, columns: int) -> None:
        self._set_size(rows, columns)
        self.process.send_signal(signal.SIGWINCH)  # what the kernel does for the processes of a window

    def type_in(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def expect(self, text: str) -> str:
        until, start = time.monotonic() + 60, len(self.seen)
        while text not in self.seen[start:]:
            assert time.monotonic() < until, self.seen
            if select.select([self._terminal], [], [], 1)[0]:
                try:
                    self.seen += os.read(self._terminal, 65536).decode()
                except OSError:
                    raise AssertionError(f"it ended: {self.seen}") from None
        return self.seen[start:]

    def end(self) -> int:
        """Its exit status, and what it still said is in `seen`."""
        while True:
            try:
                data = os.read(self._terminal, 65536)
            except OSError:
                break
            if not data:
                break
            self.seen += data.decode()
        os.close(self._terminal)
        return self.process.wait(60)


def test_a_person_works_in_a_terminal_leaves_it_and_comes_back(processes: Gateway) -> None:
    seat = Seat(processes, "terminal", "box")
    seat.type_in("echo size=$(stty size)\r")
    seat.expect("size=31 99")
    seat.resize(44, 111)
    seat.type_in("while [ \"$(stty size)\" != '44 111' ]; do sleep 0.05; done; echo grown\r")
    seat.expect("\ngrown")
    seat.type_in("echo be''gun; sleep 1000\r")
    seat.expect("begun")
    seat.type_in("\x03")
    seat.expect("$ ")
    seat.type_in("echo st''ill\r")
    seat.expect("still")
    assert seat.process.poll() is None, "^C is the far terminal's"
    seat.type_in(LEAVE)
    assert seat.end() == 0
    again = re.search(r"attach THREAD (\S+) --after (\d+)", seat.seen)
    assert again is not None, seat.seen
    back = Seat(processes, "attach", "box", again[1], "--after", again[2])
    back.type_in("exit 7\r")
    assert back.end() == 7
    assert "size=31" not in back.seen, "what was seen comes again"


def test_what_is_piped_in_is_typed_with_its_end(processes: Gateway) -> None:
    command = [sys.executable, "-m", "hatchway.cli", "remote", "runners", "terminal", "box", "--", "sh", "-c", "stty -echo; sort"]
    environment = {**os.environ, "HATCHWAY_URL": processes.url, "HATCHWAY_TOKEN": processes.token}
    done = subprocess.run(command, input=b"b\na\n", capture_output=True, env=environment, timeout=60)
    assert done.returncode == 0, done
    assert done.stdout.decode().replace("\r\n", "\n").endswith("a\nb\n")


def test_a_terminal_is_set_back_when_there_is_no_command(processes: Gateway) -> None:
    seat = Seat(processes, "attach", "box", "none")
    before = termios.tcgetattr(seat._terminal)
    seat.expect("command not found: none")
    assert termios.tcgetattr(seat._terminal)[3] == before[3]
    assert seat.end() == 2
