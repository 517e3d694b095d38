"""What the console shows is what is there: states of old sessions, line numbers, arguments, limits, names in sentences."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import Browser, expect

from tests.gateway.console.browser import Desk, Gateway


def test_a_session_that_has_run_long_ago_is_not_called_new(desk: Desk) -> None:
    for name, language in (("old", "shell"), ("busy", "shell"), ("fresh", "python")):
        desk.call("POST", "/v1/sessions", {"id": name, "language": language})
    desk.call("POST", "/v1/sessions/old/runs", {"code": "echo long ago"})
    for _ in range(31):  # more than the list asks for at once
        desk.call("POST", "/v1/sessions/busy/runs", {"code": "echo hi"})
    page = desk.open("sessions")
    row = page.locator("tbody tr")
    old = row.filter(has_text="old")
    expect(old.locator(".state")).to_have_text("ok")
    expect(old.locator(".line")).to_have_text("long ago")
    expect(row.filter(has_text="fresh").locator(".state")).to_have_text("new")


def test_a_file_opens_at_its_beginning_with_all_its_lines_numbered(desk: Desk) -> None:
    desk.call("POST", "/v1/sessions", {"id": "s1", "language": "shell"})
    desk.call("POST", "/v1/sessions/s1/runs", {"code": "seq 1 500 > long.txt"})
    page = desk.open("session/s1")
    page.get_by_role("button", name="long.txt", exact=True).click()
    area = page.get_by_label("Content of /long.txt")
    expect(area).to_be_focused()
    numbers = page.locator(".open-file .numbers").text_content() or ""
    assert numbers.splitlines() == [str(number) for number in range(1, 502)]
    assert area.evaluate("area => [area.scrollTop, area.selectionStart, area.selectionEnd]") == [0, 0, 0]


def test_a_decided_approval_still_shows_what_was_decided_about(desk: Desk, browser: Browser, gateway: Gateway) -> None:
    desk.session()
    for number, text in enumerate(("42", "x" * 200)):
        waiting = f"tools.write_text(path='/workspace/{number}', text='{text}')"
        desk.call("POST", "/v1/sessions", {"id": f"w{number}"})
        desk.call("POST", f"/v1/sessions/w{number}/runs", {"code": waiting})
    finance = Desk(gateway, browser, desk.tenant, "approver", user="bob", groups=["finance"])
    for one in finance.call("GET", "/v1/approvals?pending=true")["items"]:
        finance.call("POST", f"/v1/approvals/{one['id']}/decide", {"decision": "reject"})
    page = finance.open("approvals")
    expect(page.locator("tbody tr").filter(has_text='{ "path": "/workspace/0", "text": "42" }')).to_have_count(1)
    long = page.locator("tbody tr details")
    expect(long.locator("pre")).to_be_hidden()
    long.locator("summary").click()
    expect(long.locator("pre")).to_contain_text("x" * 200)
    expect(page.locator(".empty code")).to_have_text("ask")
    assert "`" not in page.locator("main").inner_text()
    page.close()
    assert finance.mistakes == []


def test_the_form_for_a_session_allows_what_the_gateway_allows(desk: Desk) -> None:
    page = desk.open("sessions")
    page.locator("#new-session").click()
    page.get_by_label("Memory, MiB").fill("4096")
    assert page.get_by_label("Memory, MiB").evaluate("field => field.checkValidity()") is False
    page.get_by_label("Memory, MiB").fill("2048")
    page.get_by_label("Seconds a run").fill("3600")
    page.get_by_role("button", name="Make it").click()
    expect(page.locator("#program")).to_be_visible()
