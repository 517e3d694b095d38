"""`hatchway serve`, as a person starts and stops it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.gateway.http.wire import body_of, exchange, status_of

HERE = Path(__file__).parents[3]


@contextmanager
def serving(data: Path, *words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "hatchway.cli", "serve", "--data", str(data), "--workers", "in-process", *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def port_of(line: str) -> int:
    assert line.startswith("Hatchway listens on http://127.0.0.1:"), line
    return int(line.split()[3].rpartition(":")[2])


def test_it_says_where_it_listens_shows_an_admin_token_once_and_stops_in_order(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--port", "0", HATCHWAY_ACCESS_LOG="false") as process:
        assert process.stdout is not None
        port = port_of(process.stdout.readline())
        token = process.stdout.readline().rpartition("HATCHWAY_TOKEN=")[2].strip()
        head = f"GET /v1/me HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        answer = exchange(port, head.encode())
        assert status_of(answer) == 200
        assert json.loads(body_of(answer))["role"] == "admin"
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "Stopping" in output
        assert "Traceback" not in errors
    assert oct((tmp_path / "data").stat().st_mode & 0o777) == "0o700"
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert token.encode() not in stored, "the token is kept somewhere"
    with serving(tmp_path / "data", HATCHWAY_PORT="0") as process:
        assert process.stdout is not None
        port = port_of(process.stdout.readline())
        assert status_of(exchange(port, head.encode())) == 200, "the token holds after a restart"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert "HATCHWAY_TOKEN" not in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--config", "/nonexistent.toml"), "cannot read"),
        (("--port", "70000"), "65535"),
        (("--host", "192.0.2.1"), "cannot listen"),
        (("--port", "0", "--data", "/proc/x"), "cannot make the data folder /proc/x"),
        (("--port", "0", "--policy", "/nonexistent.hatch"), "cannot read the policy /nonexistent.hatch"),
        (("--port", "0", "--policy", "wrong.hatch"), "wrong.hatch:2:7: HP020: no capability is called `rum`"),
    ],
)
def test_a_mistake_gets_one_clear_line_and_no_traceback(
    tmp_path: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.hatch").write_text("policy x v 1\nallow rum\n")
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    with serving(tmp_path / "data", *words) as process:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        assert message in errors
        assert "Traceback" not in errors and "listens" not in output


def test_a_port_that_is_taken_is_a_clear_error(tmp_path: Path) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, serving(tmp_path / "data", "--port", str(taken.getsockname()[1])) as process:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        assert "Address already in use\n" in errors and "--port 0" in errors and "Traceback" not in errors
