"""A real browser at a real gateway: what the console's tests are made of.

    with serving(tmp_path) as gateway, browsing() as browser: ...

`Desk` is one person at the console: a tenant of their own, a token, a page. It also speaks HTTP, to prepare and to check.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

WAIT_MS = 30_000
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
POLICY = """policy desk.test v 1

allow session.create
allow session.fork when count <= 10
allow run when bytes <= 1MiB
limit run { cpu 30s wall 30s memory 512MiB output 1MiB calls 100 stack 1_000 }
allow fs.read when path under "/workspace"
allow fs.write when path under "/workspace" and bytes <= 1MiB
allow snapshot.take when bytes <= 512MiB
allow snapshot.restore when bytes <= 512MiB
allow now
ask write_text
  by finance within 10m
  because "somebody must look first"

test "desk" {
  as { tenant acme }
  run { language python, bytes 1KiB } => allow
  session.create { language python } => allow
  session.fork { count 1 } => allow
  fs.read { path "/workspace/a" } => allow
  fs.write { path "/workspace/a", bytes 1KiB } => allow
  snapshot.take { bytes 1KiB } => allow
  snapshot.restore { bytes 1KiB, age 1h } => allow
  now {} => allow
  write_text { path "/workspace/a", text "x" } => ask
}
"""
_numbers = count(1)


def chromium() -> str | None:
    """The system's browser; nothing is downloaded."""
    names = (os.environ.get("HATCHWAY_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


@dataclass(frozen=True, slots=True)
class Gateway:
    url: str
    token: str

    def call(self, method: str, path: str, body: Any = None, *, token: str = "", tenant: str = "") -> Any:
        headers = {"authorization": f"Bearer {token or self.token}", "content-type": "application/json"}
        if tenant:
            headers["hatchway-tenant"] = tenant
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            content = answer.read()
        return json.loads(content) if content else None


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[Gateway]:
    command = [sys.executable, "-m", "tests.gateway.console.served", str(directory / "data")]
    log = directory / "gateway.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
    with process:
        assert process.stdout is not None
        try:
            said = process.stdout.readline().split()
            assert len(said) == 2, f"the gateway did not start:\n{log.read_text('utf-8', 'replace')[-3000:]}"
            yield Gateway(*said)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as home:
        environment: dict[str, str | float | bool] = {**os.environ, "HOME": home}
        browser = driver.chromium.launch(executable_path=chromium(), args=list(FLAGS), env=environment)
        expect.set_options(timeout=WAIT_MS)
        yield browser
        browser.close()


class Desk:
    """One person at the console."""

    def __init__(self, gateway: Gateway, browser: Browser, tenant: str, role: str = "operator", **more: Any) -> None:
        self.gateway, self.tenant = gateway, tenant
        body = {"name": f"{role}-{next(_numbers)}", "role": role, **more}
        self.token: str = gateway.call("POST", "/v1/tokens", body, tenant=tenant)["secret"] if tenant else gateway.token
        self.mistakes: list[str] = []
        self.page: Page = browser.new_page(viewport={"width": 1280, "height": 860})
        self.page.set_default_timeout(WAIT_MS)
        self.page.on("pageerror", lambda error: self.mistakes.append(str(error)))
        self.page.on("dialog", self._refuse)

    def _refuse(self, dialog: Dialog) -> None:
        """The console asks in its own dialogs: a browser's own means that a script ran which should not."""
        self.mistakes.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return self.gateway.call(method, path, body, token=self.token)

    def open(self, view: str = "") -> Page:
        """The console, signed in, at a view such as `session/s1`."""
        self.page.goto(f"{self.gateway.url}/console/#/{view}")
        self.page.locator("#token:visible, #top:visible").first.wait_for()  # whichever the page decides to show
        if self.page.locator("#token").is_visible():
            self.page.locator("#token").fill(self.token)
            self.page.keyboard.press("Enter")
        expect(self.page.locator("#top")).to_be_visible()
        return self.page

    def session(self, session_id: str = "s1", **more: Any) -> Page:
        """A new session, opened."""
        limits = {"memory_mb": 256, "cpu_ms": 30_000, "wall_ms": 30_000}
        limits |= {"max_stdout_bytes": 1 << 20, "max_external_calls": 100, "max_stack_depth": 256}
        self.call("POST", "/v1/sessions", {"id": session_id, "limits": limits, **more})
        return self.open(f"session/{session_id}")

    def run(self, code: str, language: str = "python") -> None:
        """Write a program and press Ctrl+Enter."""
        expect(self.page.locator(".about")).not_to_have_text(" ")
        self.page.locator("#language").select_option(language)
        self.page.locator("#program").fill(code)
        expect(self.page.locator("#run")).to_be_enabled()
        self.page.locator("#program").press("Control+Enter")


def new_tenant(gateway: Gateway, policy: str = POLICY) -> str:
    name = f"tenant-{next(_numbers)}-{os.getpid()}"
    gateway.call("POST", "/v1/tenants", {"id": name})
    gateway.call("POST", "/v1/policies", {"sources": {"policy.hatch": policy}}, tenant=name)
    return name
