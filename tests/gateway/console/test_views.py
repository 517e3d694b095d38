"""The console's other views in a real browser: approvals, the tree, policies, usage, audit, tenants; by mouse and by keyboard."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import Browser, expect

from tests.gateway.console.browser import Desk, Gateway, new_tenant

VIEWS = ("sessions", "session/s1", "approvals", "tree", "policies", "fleet", "usage", "audit")
LOWERED = """policy desk.test v 2

allow session.create

test "less" {
  as { tenant acme }
  session.create { language python } => allow
  run { language python, bytes 1KiB } => deny
}
"""


def test_an_approval_is_decided_in_the_browser_and_the_run_goes_on(desk: Desk, browser: Browser, gateway: Gateway) -> None:
    page = desk.session()
    desk.run("print('before')\ntools.write_text(path='/workspace/report.txt', text='42')\nprint('after')")
    expect(page.locator(".cell .badge").first).to_have_text("waiting")
    expect(page.locator("#views .count")).to_have_text("1")
    finance = Desk(gateway, browser, desk.tenant, "approver", user="bob", groups=["finance"])
    theirs = finance.open("approvals")
    card = theirs.locator(".approval")
    expect(card).to_contain_text("somebody must look first")
    expect(card.locator("pre")).to_contain_text('"text": "42"')
    expect(card.locator("dl")).to_contain_text("ann")
    expect(card.locator(".expiry")).to_contain_text("expires in")
    card.get_by_role("textbox").fill("the numbers are right")
    card.get_by_role("button", name="Approve").click()
    expect(theirs.get_by_text("Nothing waits for approval.")).to_be_visible()
    expect(theirs.locator("tbody tr")).to_contain_text("the numbers are right")
    expect(page.locator(".cell .badge").first).to_have_text("ok")
    expect(page.locator(".cell .output").first).to_have_text("before\nafter\n")
    expect(page.locator(".files .name")).to_have_text(["report.txt"])
    expect(page.locator("#views .count")).to_have_text("")
    finance.page.close()
    assert finance.mistakes == []


def test_whoever_asked_is_told_why_they_cannot_approve(desk: Desk) -> None:
    page = desk.session()
    desk.run("tools.write_text(path='/workspace/report.txt', text='42')")
    page.get_by_role("link", name="Go to approvals").click()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_contain_text("a caller cannot approve its own request")
    expect(page.get_by_role("alert")).to_contain_text("finance must decide")


def test_a_run_that_waits_says_so_to_whoever_comes_later_and_is_cancelled(desk: Desk) -> None:
    page = desk.session()
    desk.run("tools.write_text(path='/workspace/report.txt', text='42')")
    expect(page.locator(".cell .badge").first).to_have_text("waiting")
    desk.open("sessions")
    desk.open("session/s1")
    expect(page.get_by_role("link", name="Go to approvals")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".cell .badge").first).to_have_text("cancelled")
    expect(page.locator("#run")).to_be_enabled()


def test_the_tree_shows_forks_and_snapshots_and_compares_two(desk: Desk) -> None:
    page = desk.session("trunk")
    desk.run("x = 1")
    expect(page.locator(".cell .badge").first).to_have_text("ok")
    page.get_by_role("button", name="Snapshot").click()
    page.get_by_label("Label").fill("early")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The snapshot is saved.")).to_be_visible()
    desk.call("POST", "/v1/sessions/trunk/runs", {"code": "y = 2\nopen('/workspace/new.txt', 'w').write('n')"})
    desk.call("POST", "/v1/sessions/trunk/snapshots", {"label": "late"})
    desk.open("tree")
    page.get_by_role("button", name="session trunk").click()
    page.get_by_role("button", name="Fork").click()
    page.get_by_label("Name of the new session").fill("branch")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("button", name="session branch")).to_be_visible()
    page.get_by_role("button", name="snapshot early").click()
    page.get_by_role("button", name="Restore").click()
    page.get_by_label("Name of the new session").fill("revived")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("button", name="session revived")).to_be_visible()
    expect(page.locator(".node")).to_have_count(5)
    expect(page.locator(".edge")).to_have_count(4)
    page.get_by_role("button", name="snapshot early").click()
    page.get_by_role("button", name="Compare with").click()
    page.get_by_role("button", name="snapshot late").click()
    expect(page.get_by_role("region", name="Comparison")).to_contain_text("From early to late")
    expect(page.locator(".changes .added code")).to_have_text(["/workspace/new.txt", "y"])


def test_the_tree_is_walked_with_arrow_keys(desk: Desk) -> None:
    page = desk.session("trunk")
    desk.call("POST", "/v1/sessions/trunk/fork", {"ids": ["left", "right"]})
    desk.open("tree")
    page.get_by_role("button", name="session trunk").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="session right")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("complementary")).to_contain_text("right")


def test_policy_diagnostics_are_shown_as_you_type(desk: Desk) -> None:
    page = desk.open("policies")
    expect(page.locator("#policy")).to_have_value(re.compile("^policy desk.test v 1"))
    page.locator("#policy").fill("policy a.b v 1\nallow session.create\nallow rnu\n")
    expect(page.locator(".findings .finding.error").first).to_contain_text("no capability is called rnu")
    expect(page.locator(".under mark.error")).to_have_text("rnu")
    expect(page.get_by_role("button", name="Deploy")).to_be_disabled()
    page.locator(".findings .link").first.click()
    assert page.evaluate("document.activeElement.value.slice(document.activeElement.selectionStart).startsWith('rnu')")
    page.locator("#policy").fill(LOWERED)
    expect(page.locator(".verdict .badge")).to_have_text("ok")
    expect(page.locator(".under mark.error")).to_have_count(0)


def test_a_policy_is_explained_compared_shadowed_and_deployed(desk: Desk) -> None:
    page = desk.open("policies")
    expect(page.locator("#policy")).to_have_value(re.compile("^policy desk.test v 1"))
    page.locator("#policy").fill(LOWERED)
    expect(page.locator(".verdict .badge")).to_have_text("ok")
    page.locator("#explain").click()
    expect(page.locator(".answers .badge")).to_have_text("deny")
    page.get_by_label("Asked of").select_option("force")
    page.locator("#explain").click()
    expect(page.locator(".answers .badge")).to_have_text("allow")
    page.get_by_role("button", name="Diff with the one in force").click()
    expect(page.locator(".answers .change").filter(has_text="run").first).to_contain_text("permits less")
    page.get_by_role("button", name="Shadow").click()
    page.get_by_role("dialog").get_by_role("button", name="Shadow").click()
    expect(page.locator(".answers")).to_contain_text("desk.test v 2")
    desk.call("POST", "/v1/sessions", {"id": "s1"})
    desk.call("POST", "/v1/sessions/s1/runs", {"code": "1"})
    row = page.get_by_role("region", name="Shadow differences").locator("tr", has_text="run")
    expect(row.locator(".badge")).to_have_text(["allow", "deny"])
    page.get_by_role("button", name="Deploy").click()
    page.get_by_role("dialog").get_by_role("button", name="Deploy").click()
    expect(page.locator(".answers .badge")).to_have_text("active")


def test_an_admin_changes_tenants(browser: Browser, gateway: Gateway) -> None:
    first, second = new_tenant(gateway), new_tenant(gateway)
    gateway.call("POST", "/v1/sessions", {"id": "of-first"}, tenant=first)
    admin = Desk(gateway, browser, "")
    page = admin.open("sessions")
    page.get_by_label("Tenant").select_option(first)
    expect(page.locator("tbody a")).to_have_text(["of-first"])
    page.get_by_label("Tenant").select_option(second)
    expect(page.get_by_text("No sessions yet.")).to_be_visible()
    page.close()
    assert admin.mistakes == []


def test_a_runner_sees_no_views_it_may_not_use(browser: Browser, gateway: Gateway) -> None:
    runner = Desk(gateway, browser, new_tenant(gateway), "member")
    page = runner.open()
    expect(page.locator("#views a")).to_have_text(["Sessions", "Approvals ", "Tree", "Runners", "Usage"])
    expect(page.locator("#tenant")).to_be_hidden()
    runner.session("s1")
    runner.open("tree")
    expect(page.get_by_role("button", name="session s1")).to_be_visible()
    page.close()
    assert runner.mistakes == []


def test_usage_is_drawn_and_the_audit_log_verified(desk: Desk) -> None:
    desk.call("POST", "/v1/sessions", {"id": "s1"})
    page = desk.open("usage")
    expect(page.get_by_role("img", name="Sessions: now 1, highest 1")).to_be_visible()
    expect(page.locator("figure", has_text="Requests").locator(".line")).to_have_attribute("d", re.compile("L"))
    desk.open("audit")
    expect(page.locator("tbody")).to_contain_text("session.create")
    page.get_by_role("button", name="Verify").click()
    expect(page.locator(".verdict .badge")).to_have_text("whole")


def test_runners_and_registry_are_shown_or_said_to_be_absent(desk: Desk) -> None:
    page = desk.open("fleet")
    expect(page.locator(".tiles")).to_contain_text("Python")
    expect(page.get_by_role("region", name="Capabilities")).to_contain_text("write_text")
    for part in page.locator(".part").all():
        expect(part.locator(".empty, table, .tiles").first).to_be_visible()
    expect(page.locator(".part .trouble")).to_have_count(0)


def test_a_thread_is_bound_a_command_is_run_and_its_output_is_seen(desk: Desk) -> None:
    page = desk.open("fleet")
    page.get_by_label("Thread").fill("box")
    page.get_by_label("Command", exact=True).fill("echo out; echo err >&2; exit 3")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("exit 3")).to_be_visible()
    expect(page.locator("#command-output .stdout")).to_have_text("out\n")
    expect(page.locator("#command-output .stderr")).to_have_text("err\n")
    page.get_by_label("Command", exact=True).fill("while :; do :; done")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("cancelled", exact=True)).to_be_visible()
    expect(page.get_by_label("Destination")).to_have_value("wasm")
    page.get_by_role("button", name="Delete box").click()
    expect(page.get_by_role("button", name="Delete box")).to_have_count(0)
    assert desk.call("GET", "/v1/runners/threads") == []


def test_a_worker_is_spawned_given_input_and_answers(desk: Desk) -> None:
    page = desk.open("fleet")
    page.get_by_label("Profile").select_option("runtime_default")
    page.get_by_role("button", name="Spawn").click()
    expect(page.locator("#worker")).to_have_value("worker-00000001")
    page.get_by_label("Input").fill("6 * 7")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".transcript li")).to_have_count(2)
    expect(page.locator(".transcript li").nth(1)).to_contain_text("42")


def test_everything_is_done_without_a_mouse(desk: Desk) -> None:
    page = desk.page
    page.goto(f"{desk.gateway.url}/console/")
    keys = page.keyboard
    expect(page.locator("#token")).to_be_focused()
    keys.type(desk.token)
    keys.press("Enter")
    expect(page.get_by_text("No sessions yet.")).to_be_visible()
    keys.press("n")
    expect(page.get_by_label("Id")).to_be_focused()
    keys.type("by-keys")
    keys.press("Enter")
    expect(page.locator("#program")).to_be_focused()
    keys.press("Control+a")
    keys.type("if True:\nprint('typed')")
    keys.press("Home")
    keys.press("Tab")
    keys.press("Control+Enter")
    expect(page.locator(".cell .output")).to_have_text("typed\n")
    keys.press("Escape")
    keys.press("Tab")
    expect(page.locator("#program")).not_to_be_focused()
    keys.press("g")
    keys.press("t")
    expect(page.get_by_role("button", name="session by-keys")).to_be_visible()
    keys.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Keyboard shortcuts")
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    keys.press("g")
    keys.press("p")
    expect(page.locator("#policy")).to_be_visible()


def test_every_view_fits_a_narrow_screen(desk: Desk) -> None:
    page = desk.session("s1", title="a rather long title of a session that has to be broken somewhere")
    desk.run("print('x' * 300)\n[{'column ' + str(n): n for n in range(30)}]")
    expect(page.locator(".cell .badge").first).to_have_text("ok")
    page.set_viewport_size({"width": 360, "height": 740})
    for view in VIEWS:
        desk.open(view)
        expect(page.locator("main h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view


def test_every_control_has_a_name_and_nothing_jumps(desk: Desk) -> None:
    desk.page.add_init_script(SHIFTS)
    page = desk.session("s1")
    desk.run("print(1)")
    expect(page.locator(".cell .badge").first).to_have_text("ok")
    for view in VIEWS:
        page.goto("about:blank")
        desk.open(view)
        expect(page.locator("main h1")).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert page.evaluate(NAMELESS) == [], view
        assert page.evaluate("window.shifted") < 0.1, view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(desk: Desk, scheme: str) -> None:
    """Every colour of text against what it stands on: at least 4.5 to 1."""
    page = desk.session()
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    pairs = [
        ("ink", "back"),
        ("ink", "panel"),
        ("quiet", "back"),
        ("quiet", "panel"),
        ("quiet", "code"),
        ("accent", "panel"),
        ("accent", "back"),
    ]
    pairs += [
        ("on-accent", "accent"),
        *((name, f"{name}-soft") for name in ("good", "bad", "wait", "busy", "accent")),
        ("bad", "code"),
        ("ink", "field"),
    ]
    for text, ground in pairs:
        assert page.evaluate(CONTRAST, [f"--{text}", f"--{ground}"]) >= 4.5, (scheme, text, ground)


CONTRAST = """([text, ground]) => {
  const canvas = document.createElement('canvas').getContext('2d');
  const linear = (v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = (name) => {
    canvas.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name);
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const [one, other] = [light(text), light(ground)].sort((a, b) => b - a);
  return (one + .05) / (other + .05);
}"""

SHIFTS = """window.shifted = 0; new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value;
}).observe({type: 'layout-shift', buffered: true});"""
NAMELESS = """() => [...document.querySelectorAll('button, a[href], input, select, textarea, iframe, [role=button], [role=img]')]
  .filter((node) => !(node.getAttribute('aria-label') || node.title || node.labels?.length
    || (!['SELECT', 'TEXTAREA'].includes(node.tagName) && node.textContent.trim())))
  .map((node) => node.outerHTML.slice(0, 200))"""
