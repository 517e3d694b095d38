"""The console's files as they are served: headers, names, and what is not in them."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.testclient import TestClient

from gateway.configuration import Configuration
from gateway.http.api.envelope import Envelope
from gateway.http.pages import console
from gateway.telemetry import Telemetry
from sandbox.languages import LANGUAGES
from sandbox.wire import DEFAULT_LIMITS
from tests.gateway.http.asking import ask as ask_raw

MODULES = sorted(console.FILES.glob("*.js"))
APPLICATION = Starlette(
    routes=[*console.ROUTES, Mount("/console", console.Console())],
    middleware=[Middleware(Envelope, Configuration(access_log=False), Telemetry())],
)
CLIENT = TestClient(APPLICATION, follow_redirects=False)


def ask(path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    reply = CLIENT.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    return reply.status_code, dict(reply.headers), reply.content


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


def test_the_page_reads_languages_and_limits_from_the_tables_of_the_sandbox() -> None:
    status, headers, body = ask("/console/tables.js")
    assert status == 200 and headers["content-type"] == "text/javascript; charset=utf-8"
    assert headers["content-security-policy"] == console.POLICY and headers["cache-control"] == "no-cache"
    languages, limits = (json.loads(line.partition(" = ")[2].rstrip(";")) for line in body.decode().splitlines())
    assert [name for name, _ in languages] == [language.value for language in LANGUAGES] and ["shell", "Shell"] in languages
    assert limits == msgspec.to_builtins(DEFAULT_LIMITS)


def test_a_file_is_not_found_without_its_mount() -> None:
    assert ask("/app.js")[0] == 404


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
    reply = asyncio.run(ask_raw(APPLICATION, "GET", path))
    assert reply.status == 404 and reply.headers["x-content-type-options"] == "nosniff"


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
    names = {one.name for one in MODULES} | {"tables.js"}
    for module in MODULES:
        assert set(re.findall(r'from "\./([^"]+)"', module.read_text())) <= names, module.name
