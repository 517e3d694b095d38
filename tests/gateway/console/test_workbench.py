"""The workbench in a real browser: sign in, run, see, edit files; and what hostile programs cannot do to the page."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.sync_api import Page, expect

from tests.gateway.console.browser import Desk

ATTACK = "<img src=x onerror='top.hacked=1;window.hacked=1'><script>top.hacked=1;window.hacked=1</script>"


def newest(page: Page, selector: str = "") -> str:
    return f".cells > .cell:first-child {selector}"


def test_an_unknown_token_is_refused_with_a_hint(desk: Desk) -> None:
    desk.page.goto(f"{desk.gateway.url}/console/")
    desk.page.locator("#token").fill("hw_" + "0" * 43)
    desk.page.keyboard.press("Enter")
    expect(desk.page.get_by_role("alert")).to_contain_text("This token is not known here.")
    assert desk.page.evaluate("sessionStorage.length") == 0


def test_the_token_stays_in_the_tab_and_is_forgotten_on_sign_out(desk: Desk) -> None:
    page = desk.open()
    assert page.evaluate("Object.values(sessionStorage)").count(desk.token) == 1
    assert page.evaluate("localStorage.length") == 0 and page.context.cookies() == []
    page.reload()
    expect(page.locator("#top")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("#token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_revoked_token_ends_the_visit(desk: Desk) -> None:
    page = desk.open("sessions")
    token_id = desk.call("GET", "/v1/me")["token_id"]
    desk.gateway.call("DELETE", f"/v1/tokens/{token_id}", tenant=desk.tenant)
    expect(page.get_by_role("alert")).to_contain_text("signed out")
    expect(page.locator("#top")).to_be_hidden()


def test_programs_run_in_four_languages(desk: Desk) -> None:
    page = desk.session()
    programs = {
        "python": "print(6 * 7, 'py')",
        "javascript": "console.log(6 * 7, 'js')",
        "type_script": "const n: number = 42; console.log(n, 'ts')",
        "shell": "echo $((6 * 7)) sh",
    }
    for language, code in programs.items():
        desk.run(code, language)
        expect(page.locator(newest(page, ".badge")).first).to_have_text("ok")
    expect(page.locator(".cells .output")).to_have_text(["42 sh", "42 ts", "42 js", "42 py"])


def test_a_program_stands_above_what_came_of_it_and_is_taken_up_again(desk: Desk) -> None:
    page = desk.session()
    desk.run("const n: number = 1; n", "type_script")
    expect(page.locator(newest(page, ".badge")).first).to_have_text("ok")
    expect(page.locator(".cells .program")).to_have_text("const n: number = 1; n")
    page.locator("#language").select_option("python")
    page.get_by_role("button", name="Edit").click()
    expect(page.locator("#language")).to_have_value("type_script")
    expect(page.locator("#program")).to_have_value("const n: number = 1; n")


def test_a_figure_is_shown(desk: Desk) -> None:
    page = desk.session()
    desk.run("import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()")
    figure = page.locator(newest(page, "figure img"))
    expect(figure).to_be_visible()
    page.wait_for_function("image => image.complete && image.naturalWidth > 200", arg=figure.element_handle())


def test_a_table_is_shown_in_a_frame_that_can_do_nothing(desk: Desk) -> None:
    page = desk.session()
    desk.run("class Table:\n    def _repr_html_(self):\n        return '<table><tr><td>cell one</td></tr></table>'\nTable()")
    frame = page.locator(newest(page, "iframe"))
    expect(frame).to_have_attribute("sandbox", "")
    expect(page.frame_locator("iframe").locator("td")).to_have_text("cell one")


def test_a_list_of_records_becomes_a_table(desk: Desk) -> None:
    page = desk.session()
    desk.run("[{'name': 'ann', 'age': 41}, {'name': 'bob', 'age': 7}]")
    expect(page.locator(newest(page, "thead th"))).to_have_text(["name", "age"])
    expect(page.locator(newest(page, "tbody td"))).to_have_text(["ann", "41", "bob", "7"])


def test_an_error_is_marked_at_its_place(desk: Desk) -> None:
    page = desk.session()
    desk.run("x = [1]\nprint('é😀', x[5])\n")
    expect(page.locator(newest(page, ".finding.error strong"))).to_have_text("IndexError: list index out of range")
    expect(page.locator(newest(page, ".excerpt mark"))).to_have_text("x[5]")
    expect(page.locator(".editor .under mark").first).to_have_text("x[5]")
    page.locator("#program").press("a")
    expect(page.locator(".editor .under mark")).to_have_count(0)


def test_output_is_shown_while_a_program_runs_and_cancel_stops_it(desk: Desk) -> None:
    page = desk.session()
    desk.run("print('begun', flush=True)\nwhile True: pass")
    expect(page.locator(newest(page, ".output"))).to_have_text("begun\n")
    expect(page.locator(newest(page, ".badge")).first).to_have_text("running")
    page.keyboard.press("Control+.")
    expect(page.locator(newest(page, ".badge")).first).to_have_text("cancelled")
    expect(page.locator("#run")).to_be_enabled()


def test_the_list_shows_what_a_running_program_says(desk: Desk) -> None:
    page = desk.session("busy")
    desk.run("for i in range(3): print('line', i, flush=True)\nwhile True: pass")
    expect(page.locator(newest(page, ".output"))).to_contain_text("line 2")
    page.keyboard.press("Escape")
    desk.open("sessions")
    row = page.locator("tr", has_text="busy")
    expect(row.locator(".badge")).to_have_text("running")
    expect(row.locator(".line")).to_have_text("line 2")
    row.get_by_role("link").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(newest(page, ".badge")).first).to_have_text("cancelled")


def test_a_file_is_edited_and_a_program_reads_it(desk: Desk) -> None:
    page = desk.session()
    desk.run("open('/workspace/notes.txt', 'w').write('first')")
    page.get_by_role("button", name="notes.txt", exact=True).click()
    content = page.get_by_label("Content of /notes.txt")
    expect(content).to_have_value("first")
    content.fill("second, by hand")
    content.press("Control+s")
    expect(page.locator(".open-file [role=status]")).to_have_text("saved")
    desk.run("print(open('/workspace/notes.txt').read())")
    expect(page.locator(newest(page, ".output"))).to_have_text("second, by hand\n")


def test_a_file_that_changed_meanwhile_is_not_overwritten_unasked(desk: Desk) -> None:
    page = desk.session()
    desk.run("open('/workspace/a.txt', 'w').write('mine')")
    page.get_by_role("button", name="a.txt", exact=True).click()
    content = page.get_by_label("Content of /a.txt")
    expect(content).to_have_value("mine")
    desk.run("open('/workspace/a.txt', 'w').write('theirs')")
    expect(page.locator(newest(page, ".badge")).first).to_have_text("ok")
    content.fill("mine again")
    content.press("Control+s")
    expect(page.get_by_role("dialog")).to_contain_text("changed meanwhile")
    page.get_by_role("button", name="Cancel").click()
    assert desk.call("GET", "/v1/sessions/s1/file?path=/a.txt")["content"] == "theirs"
    content.press("Control+s")
    page.get_by_role("button", name="Overwrite").click()
    expect(page.locator(".open-file [role=status]")).to_have_text("saved")
    assert desk.call("GET", "/v1/sessions/s1/file?path=/a.txt")["content"] == "mine again"


def test_files_are_uploaded_downloaded_and_deleted(desk: Desk) -> None:
    page = desk.session()
    page.locator("#upload").set_input_files({"name": "up.bin", "mimeType": "application/octet-stream", "buffer": b"\x00\xff\x01"})
    expect(page.locator(".files .name")).to_have_text(["up.bin"])
    with page.expect_download() as download:
        page.get_by_role("button", name="Download up.bin").click()
    assert download.value.path().read_bytes() == b"\x00\xff\x01"
    page.get_by_role("button", name="Delete up.bin").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".files li")).to_have_count(0)
    expect(page.get_by_text("No files here yet.")).to_be_visible()


def test_tm_console_xss_output_names_and_displays_stay_text(desk: Desk) -> None:
    page = desk.session(title=ATTACK[:200])
    name = "<img src=x onerror=top.hacked=1>.txt"
    desk.run(
        f"class Bad:\n    def _repr_html_(self):\n        return {ATTACK!r} + '<p id=seen>shown</p>'\n"
        f'    def _repr_svg_(self):\n        return \'<svg xmlns="http://www.w3.org/2000/svg" onload="top.hacked=1"/>\'\n'
        f"open('/workspace/{name}', 'w').write({ATTACK!r})\nprint({ATTACK!r})\ndisplay(Bad())\n"
        f"raise ValueError({ATTACK!r})"
    )
    expect(page.locator(newest(page, ".finding strong"))).to_contain_text("<img src=x")
    expect(page.locator(newest(page, ".output"))).to_contain_text("<script>")
    expect(page.frame_locator("iframe").locator("#seen")).to_have_text("shown")
    page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator(".open-file textarea")).to_have_value(ATTACK)
    desk.open("sessions")
    expect(page.locator("tbody a")).to_have_text([ATTACK[:200]])
    for view in ("tree", "audit", "approvals"):
        desk.open(view)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img[src=x]").count() == 0


def test_tm_console_xss_markup_from_text_is_refused_by_the_browser(desk: Desk) -> None:
    """Should a module ever try, Trusted Types stop it."""
    page = desk.open("sessions")
    tried = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return 'made' } catch (error) { return error.name } }"
    )
    assert tried == "TypeError"
