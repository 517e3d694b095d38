"""The console's files as they are served: headers, names, and what is not in them."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest

from gateway.configuration import Configuration
from gateway.http.api.envelope import Frame
from gateway.http.pages import console
from gateway.telemetry import Telemetry

MODULES = sorted(console.FILES.glob("*.js"))


def ask(path: str, method: str = "GET", root_path: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": root_path, "headers": raw}
    framed = Frame(console.Console(), Configuration(access_log=False), Telemetry())

    async def main() -> None:
        await framed(scope, receive, send)

    with contextlib.suppress(StopIteration):  # it waits for nothing, so it needs no event loop
        main().send(None)
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:])


def test_the_page_is_served_with_a_strict_policy() -> None:
    status, headers, body = ask("/console/")
    assert status == 200 and b"<title>Hatchway</title>" in body
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert headers["content-length"] == str(len(body))


@pytest.mark.parametrize("path", ["/console/app.js", "/console/console.css", "/console/icon.svg"])
def test_what_the_page_is_made_of_has_its_type(path: str) -> None:
    status, headers, _ = ask(path)
    kind = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}[path.rsplit(".", 1)[1]]
    assert status == 200 and headers["content-type"] == f"{kind}; charset=utf-8"


def test_it_may_be_mounted_with_its_prefix_taken_off() -> None:
    for name in ("", "app.js", "console.css"):
        assert ask(f"/console/{name}", root_path="/console")[0] == 200
    assert ask("/app.js")[0] == 200


def test_the_bare_name_leads_to_the_page() -> None:
    status, headers, _ = ask("/console")
    assert status == 308 and headers["location"] == "/console/"


def test_a_file_that_is_known_is_not_sent_again() -> None:
    _, headers, _ = ask("/console/app.js")
    status, _, body = ask("/console/app.js", if_none_match=headers["etag"])
    assert (status, body) == (304, b"")


def test_head_tells_the_length_and_sends_nothing() -> None:
    status, headers, body = ask("/console/app.js", "HEAD")
    assert status == 200 and int(headers["content-length"]) > 1000 and body == b""


def test_other_methods_are_refused() -> None:
    status, headers, _ = ask("/console/", "POST")
    assert status == 405 and headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path",
    [
        "/console/../http/console.py",
        "/console/..",
        "/console//etc/passwd",
        "/console/%2e%2e/service.py",
        "/console/app.js/",
        "/console/\0",
    ],
)
def test_tm_console_path_a_request_never_becomes_a_path_on_disk(path: str) -> None:
    status, headers, _ = ask(path)
    assert status == 404 and headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_tm_console_xss_no_module_makes_markup_of_text(module: Any) -> None:
    text = module.read_text()
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
        "createContextualFragment",
    ):
        assert way not in text, way
    assert ("srcdoc" in text) == (module.name == "displays.js")
    assert "localStorage" not in text and "document.cookie" not in text


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    page = (console.FILES / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    for file in console.FILES.iterdir():
        addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", re.sub(r"^\s*//.*$", "", file.read_text(), flags=re.M))
        assert set(addresses) <= {"http://www.w3.org"}, file.name


def test_every_module_that_is_imported_is_there() -> None:
    names = {one.name for one in MODULES}
    for module in MODULES:
        assert set(re.findall(r'from "\./([^"]+)"', module.read_text())) <= names, module.name
