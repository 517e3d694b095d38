"""The clients, against a real gateway."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from hatchway import AsyncClient, Client
from hatchway.client.requests import Ask, Refused, Unreachable
from sandbox.errors import RequestError
from sandbox.wire import RunResult
from tests.gateway.serving import Gateway


def test_a_remote_sandbox_has_the_verbs_of_a_local_one(client: Client) -> None:
    with client.sandbox() as box:
        box.run("x = 20")
        assert box.run("x + 1").result == 21
        box.run("echo hi > a.txt", language="shell")
        assert box.files.read("/workspace/a.txt") == b"hi\n"
        box.files.write("b.bin", bytes([0, 255]))
        assert box.run("open('b.bin', 'rb').read()[1]").result == 255
        assert [one.path for one in box.files.list()] == ["/a.txt", "/b.bin"]
        with box.fork() as child:
            child.run("x = 0")
            assert (child.run("x").result, box.run("x").result) == (0, 20)
        blob = box.snapshot()
        name = box.id
    with client.restore(blob) as again:
        assert again.run("x + len(open('a.txt').read())").result == 23
    with pytest.raises(Refused) as gone:
        client.session(name)
    assert gone.value.status == 404 and gone.value.error.code == "SESSION_NOT_FOUND"


def test_output_is_streamed_as_it_happens(client: Client) -> None:
    with client.sandbox() as box:
        events = list(box.stream("import time\nfor n in range(3):\n    print(n, flush=True)\n    time.sleep(0.05)\nn"))
        assert "".join(one.data for one in events if one.kind == "stdout") == "0\n1\n2\n"
        assert len([one for one in events if one.kind == "stdout"]) > 1
        assert events[-1].kind == "result" and events[-1].data["result"]["result"] == 2


def test_output_is_told_while_a_run_goes_on(client: Client) -> None:
    told: list[tuple[int, bytes]] = []
    with client.sandbox() as box:
        done = box.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n7", on_output=lambda *one: told.append(one))
    assert done.result == 7 and sorted(told) == [(0, b"out\n"), (1, b"err\n")]


def test_whatever_a_session_has_under_way_is_cancelled(client: Client) -> None:
    with client.sandbox() as box:
        assert box.cancel() is False
        begun = threading.Event()
        ended: list[RunResult] = []

        def run() -> None:
            code = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)"
            ended.append(box.run(code, on_output=lambda *_: begun.set()))

        thread = threading.Thread(target=run)
        thread.start()
        assert begun.wait(60)
        assert client.session(box.id).cancel() is True
        thread.join(60)
        assert ended[0].status == "cancelled"
        assert box.run("1 + 1").result == 2


def test_files_answer_to_the_names_that_a_local_sandbox_has(client: Client) -> None:
    with client.sandbox() as box:
        box.files.mkdir("/workspace/d")
        box.files.write_file("/workspace/d/a.txt", b"hi")
        assert box.files.list_dir("/workspace") == ["d"] and box.files.list_dir("/workspace/d") == ["a.txt"]
        assert box.files.read_file("/workspace/d/a.txt") == b"hi"
        assert box.files.exists("/workspace/d/a.txt") and not box.files.exists("/workspace/d/b.txt")
        box.files.chmod("/workspace/d/a.txt", 0o640)
        assert box.files.stat("d/a.txt").mode == 0o640
        box.files.remove("/workspace/d", recursive=True)
        assert box.files.list_dir() == []


def test_a_directory_with_more_entries_than_a_page_is_listed_whole(client: Client) -> None:
    with client.sandbox(language="shell") as box:
        box.run("mkdir d; for n in $(seq 1001 1450); do touch d/$n; done")
        assert [one.name for one in box.files.list("d")] == [str(n) for n in range(1001, 1451)]


def test_lines_of_files_runs_and_snapshots_are_found(client: Client) -> None:
    with client.sandbox(language="shell") as box:
        assert box.language == "shell"
        box.files.write("d/a.txt", "one\nt.o\n")
        assert [(one.path, one.line_number, one.line) for one in box.files.grep("t.o", "d/")] == [("/d/a.txt", 2, "t.o")]
        assert box.files.grep("t.o", "e/") == []
        assert box.files.grep("t.o", "/workspace/d").complete and len(box.files.grep("t.o", "/workspace/d")) == 1
        searched = box.files.search("^o.e$")
        assert searched.complete and [one.line for one in searched.matches] == ["one"]
        box.run("true")
        assert box.last_run is not None
        assert [one.id for one in client.runs(box.id)] == [box.last_run.id]
        assert client.get_run(box.last_run.id) == next(client.runs(box.id))
        saved = box.save("kept")
        assert list(client.snapshots(box.id)) == [saved]


def test_many_forks_are_made_at_once(client: Client) -> None:
    with client.sandbox() as box:
        box.run("x = 1")
        children = box.fork(3)
        assert [child.run(f"x + {n}").result for n, child in enumerate(children)] == [1, 2, 3]


def test_a_programs_failure_and_its_wrong_arguments_are_results_and_a_refusal_an_error(client: Client) -> None:
    done = client.run("1 / 0")
    assert done.error is not None and done.error.message == "ZeroDivisionError: division by zero"
    for wrong in ({"timeout_ms": -1}, {"stdin": 7}):
        refused = client.run("1", **wrong)  # type: ignore[arg-type]
        assert refused.status == "validation_error" and refused.error is not None and next(iter(wrong)) in refused.error.message
    box = client.sandbox()
    box.close()
    with pytest.raises(Refused) as gone:
        box.run("1")
    assert gone.value.status == 404


def test_a_gateway_that_is_not_there_is_unreachable() -> None:
    with Client("http://127.0.0.1:9", "hw_x") as client, pytest.raises(Unreachable):
        client.run("1")


@pytest.mark.parametrize(
    "url", ["gateway", "ftp://gateway", "http://", "http://[::1", "http://a b", "http://a:b", "http://a/?x=1"]
)
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(RequestError, match="not the address of a gateway"):
        Client(url, "hw_x")
    for good in ("http://127.0.0.1:8484", "https://gateway.example/", "http://[::1]:8484/below"):
        Client(good, "hw_x").close()


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_a_client_without_a_token_says_so_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, client: type[Client | AsyncClient]
) -> None:
    monkeypatch.delenv("HATCHWAY_TOKEN", raising=False)
    with pytest.raises(RequestError, match="a token is needed") as refused:
        client("http://127.0.0.1:9")
    assert "HATCHWAY_TOKEN" in (refused.value.error.hint or "")


def test_the_wrong_token_is_refused_without_a_word_about_why(gateway: Gateway) -> None:
    with Client(gateway.url, "hw_" + "0" * 43) as client, pytest.raises(Refused) as refused:
        client.run("1")
    assert refused.value.status == 401


def test_the_asynchronous_client_does_the_same(gateway: Gateway) -> None:
    async def main() -> None:
        async with AsyncClient(gateway.url, gateway.token) as client:
            async with await client.sandbox() as box:
                await box.files.write("a.txt", "7")
                assert (await box.run("int(open('a.txt').read())")).result == 7
                kinds = [event.kind async for event in box.stream("print(1)")]
                assert kinds == ["started", "stdout", "result"]
                async with await box.fork() as child:
                    assert await child.files.read("a.txt") == b"7"
                    blob = await child.snapshot()
                async with await client.restore(blob, "again") as again:
                    assert await again.files.list_dir() == ["a.txt"]
                    assert "again" in [one.id async for one in client.sessions()]
            results = await asyncio.gather(*(client.run(f"{n} * {n}") for n in range(4)))
            assert [one.result for one in results] == [0, 1, 4, 9]

    asyncio.run(main())


def test_asking_again_with_the_same_key_does_nothing_twice(client: Client) -> None:
    ask = Ask("POST", "/v1/sessions", json={"title": "once"}, headers={"idempotency-key": "k1"}, kind=dict[str, Any], once=True)
    assert client.ask(ask)["id"] == client.ask(ask)["id"]


def test_what_a_run_did_until_a_limit_is_kept_if_asked_for(client: Client) -> None:
    program = "open('f', 'w').write('w')\nn = 1\nwhile True: pass"
    with client.sandbox() as box:
        box.run("n = 0")
        kept = box.run(program, timeout_ms=1000, on_limit="keep")
        assert kept.status == "timeout" and kept.error is not None and "what it did until then is kept" in kept.error.message
        assert box.run("n").result == 1 and box.files.read("f") == b"w"
        box.run("n = 0")
        undone = box.run(program.replace("'f'", "'g'"), timeout_ms=1000)
        assert undone.error is not None and "(limits.wall_ms is 1000); the run was undone" in undone.error.message
        assert box.run("n").result == 0 and [one.path for one in box.files.list()] == ["/f"]


def test_a_lowered_limit_is_told_to_both_clients(client: Client, gateway: Gateway) -> None:
    async def ask() -> RunResult:
        async with AsyncClient(gateway.url, gateway.token) as other, other.sandbox() as box:
            return await box.run("1", timeout_ms=60_000)

    with client.sandbox() as box:
        for result in (box.run("1", timeout_ms=60_000), asyncio.run(ask())):
            assert result.ok and [one.code for one in result.diagnostics] == ["LIMIT_LOWERED"]
            assert result.diagnostics[0].message.startswith("limits.wall_ms is 5000 for this run, not 60000: the ")


def test_a_file_has_its_true_size_and_a_session_its_snapshot_version(client: Client) -> None:
    with client.sandbox() as box:
        box.files.write("b.bin", bytes([0, 255, 7, 9]))
        assert [(one.size, one.size_bytes) for one in box.files.list()] == [(4, 8)]
        assert client.do("get_session", session_id=box.id)["snapshot_version"] > 1


def test_input_and_output_of_runs_are_byte_exact(client: Client) -> None:
    data = bytes(range(256))
    with client.sandbox(language="shell") as box:
        result = box.run("cat; printf '\\377' >&2", stdin=data)
        assert (result.stdout_bytes, result.stderr_bytes) == (data, b"\xff")
        assert box.run("cat", stdin="é".encode()).stdout == "é"


def test_clients_and_their_sandboxes_say_what_they_are(client: Client, gateway: Gateway) -> None:
    assert repr(client) == f"<Client {gateway.url}>"
    with client.sandbox(id="named") as box:
        assert repr(box) == "<RemoteSandbox 'named' python>"
