"""jupyter-kernel-gateway: real Python processes behind HTTP and WebSockets, on this machine's loopback."""

# The packages are installed in this script's own environment only.
# mypy: ignore-errors

import atexit
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable
from typing import Any

from _loop import WARM_CALLS, check, late, serve
from websocket import create_connection

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
command = [sys.executable, "-m", "kernel_gateway", "--KernelGatewayApp.ip=127.0.0.1", f"--KernelGatewayApp.port={port}"]
environ = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
libc = ctypes.CDLL(None)
server = subprocess.Popen(
    command,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
    env=environ,
    preexec_fn=lambda: libc.prctl(1, signal.SIGKILL),  # it ends with this process, however that ends
)


def request(method: str, path: str) -> Any:
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, data=b"{}" if method == "POST" else None)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def stop() -> None:
    server.terminate()
    server.wait()


atexit.register(stop)
for _ in range(1200):
    try:
        request("GET", "/api")
        break
    except OSError:
        time.sleep(0.05)


class Kernel:
    def __init__(self) -> None:
        self.id = request("POST", "/api/kernels")["id"]
        self.socket = create_connection(f"ws://127.0.0.1:{port}/api/kernels/{self.id}/channels", timeout=60)

    def run(self, code: str) -> str:
        """The text of its last expression, or of its error."""
        asked = uuid.uuid4().hex
        header = {"msg_id": asked, "username": "", "session": "b", "msg_type": "execute_request", "version": "5.3", "date": ""}
        content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell", "buffers": []}
        self.socket.send(json.dumps(message))
        said, left = "", {"execute_reply", "idle"}
        while left:
            got = json.loads(self.socket.recv())
            if got["parent_header"].get("msg_id") != asked:
                continue
            kind, content = got["msg_type"], got["content"]
            if kind == "execute_result":
                said = content["data"]["text/plain"]
            elif kind == "error":
                said = f"{content['ename']}: {content['evalue']}"
            left -= {content.get("execution_state")} if kind == "status" else {kind}
        return said

    def close(self) -> None:
        self.socket.close()
        request("DELETE", f"/api/kernels/{self.id}")


live: list[Kernel] = []
kept: list[Kernel] = []


def kernel() -> Kernel:
    if not live:
        live.append(Kernel())
    return live[0]


def new_session() -> Callable[[], object]:
    fresh = Kernel()
    check(fresh.run("1+1") == "2", "1+1")
    return fresh.close


def warm_call() -> None:
    for _ in range(WARM_CALLS):
        check(kernel().run("1+1") == "2", "1+1")


def setup(code: str) -> None:
    kernel().run(code)


def run(code: str) -> dict[str, Any]:
    return {"value": kernel().run(code)}


def open_sessions(count: int) -> None:
    for _ in range(count):
        kept.append(Kernel())
        kept[-1].run("1+1")


def deadline(code: str, deadline_ms: int) -> dict[str, Any]:
    """It has no deadlines: it is interrupted when one would have passed."""
    chosen = Kernel()
    chosen.run("1+1")
    timer = threading.Timer(deadline_ms / 1000, lambda: request("POST", f"/api/kernels/{chosen.id}/interrupt"))
    timer.start()
    answer = late(deadline_ms, lambda: chosen.run(code))
    timer.join()
    chosen.close()
    return answer


serve(new_session=new_session, warm_call=warm_call, setup=setup, run=run, open_sessions=open_sessions, deadline=deadline)
stop()
