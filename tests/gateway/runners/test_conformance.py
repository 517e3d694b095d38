"""What every provider does with commands and sessions, whatever its kind: one suite, run against all of them (`trial`).

`ssh` runs against a real OpenSSH server, `docker` against a real engine where the tests can start one (`dockerd` and root);
elsewhere it is called `docker-fake`, and is a small engine of the tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from pathlib import Path

import pytest

from gateway.errors import BadRequest, Conflict, Forbidden, NotFound, Unsupported
from gateway.runners.wire import (
    Command,
    Port,
    SessionState,
    Terminal,
    encode,
)
from tests.gateway.runners.places import DOCKER, Place, Try, run, until, write


def test_a_command_gives_its_output_and_exit_code(trial: Try) -> None:
    async def check(place: Place) -> None:
        done = await place.sh("echo out; echo err >&2; exit 3")
        assert (done.command_id, done.exit_code, done.stdout, done.stderr, done.status) == ("c", 3, "out\n", "err\n", "exited")

    trial(check)


def test_arguments_environment_and_stdin_reach_the_command_as_they_are(trial: Try) -> None:
    async def check(place: Place) -> None:
        done = await run(
            place.session, "sh", "-c", 'echo "$1|$A"; cat', "name", "it's $HOME", env=[("A", "x y; $(id)")], stdin="line\n"
        )
        assert done.stdout == "it's $HOME|x y; $(id)\nline\n"

    trial(check)


def test_a_program_that_is_not_there_is_an_exit_code(trial: Try) -> None:
    async def check(place: Place) -> None:
        done = await run(place.session, "no-such-program-here")
        assert done.exit_code == 127
        assert "not found" in done.stderr

    trial(check)


def test_output_is_streamed_while_the_command_runs(trial: Try) -> None:
    async def check(place: Place) -> None:
        code = "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second >&2"
        takes_turns = place.provider.id in ("wasm", "hatchway")  # its commands take turns with file operations
        if takes_turns:
            code = "echo first; sleep 2; echo second >&2"
        running = place.session.start(Command(command_id="s", program="sh", args=["-c", code]))
        await until(lambda: [event.data for event in running.feed.since()] == ["first\n"])
        assert not running.task.done()
        if not takes_turns:
            await write(place.session, "go", b"")
        assert (await running.stay()).stderr == "second\n"
        told = [(event.kind, event.data) async for event in running.feed.events() if event.kind != "result"]
        assert told == [("stdout", "first\n"), ("stderr", "second\n")]

    trial(check)


def test_output_over_the_cap_is_dropped_and_counted(trial: Try) -> None:
    async def check(place: Place) -> None:
        done = await place.sh("head -c 300000 /dev/zero | tr '\\0' x; echo end >&2", max_output_bytes=1000)
        assert done.exit_code == 0
        assert len(done.stdout) + len(done.stderr) == 1000
        if place.provider.id == "hatchway":  # the other gateway has a cap of its own, and says what it dropped
            assert done.dropped_bytes > 60_000
        else:
            assert done.dropped_bytes == 300_004 - 1000

    trial(check)


@pytest.mark.parametrize("trial", ["unix-local", "ssh", DOCKER], indirect=True)  # a sandbox's own cap ends the others' program
def test_what_is_dropped_of_a_command_that_writes_much_is_counted_to_the_last_byte(trial: Try) -> None:
    async def check(place: Place) -> None:
        done = await place.sh("head -c 6000000 /dev/zero", max_output_bytes=1000)
        assert (done.exit_code, len(done.stdout), done.dropped_bytes) == (0, 1000, 6_000_000 - 1000)

    trial(check)


def test_a_writer_whose_reader_has_gone_ends_without_a_word(trial: Try) -> None:
    async def check(place: Place) -> None:
        done = await place.sh("while echo y; do :; done | head -n 1")
        assert (done.stdout, done.stderr, done.exit_code) == ("y\n", "", 0)

    trial(check)


def test_a_command_that_ignores_the_signal_ends_all_the_same(trial: Try) -> None:
    async def check(place: Place) -> None:
        running = asyncio.create_task(
            place.sh("trap '' TERM INT HUP; echo begun > begun; while :; do :; done", command_id="deaf")
        )
        await until(lambda: "deaf" in place.session.command_ids)
        assert await place.session.cancel("deaf")
        assert (await running).status == "cancelled"
        assert (await place.sh("trap '' TERM; while :; do :; done", timeout_ms=400)).status == "timeout"
        assert (await place.sh("echo on")).stdout == "on\n"

    trial(check)


def test_output_without_end_is_cut_and_the_command_ends_in_its_time(trial: Try) -> None:
    async def check(place: Place) -> None:
        done = await place.sh("while :; do echo 0123456789012345678901234567890123456789; done", timeout_ms=700)
        assert done.status == "timeout" and len(done.stdout) <= 1 << 20
        assert (await place.sh("echo on")).stdout == "on\n"

    trial(check)


def test_a_command_is_called_something_that_fits_into_a_url(trial: Try) -> None:
    async def check(place: Place) -> None:
        for name in ("a/b", "", ".", "..", "x" * 121, "a\nb"):
            with pytest.raises(BadRequest):
                await place.sh("true", command_id=name)

    trial(check)


def test_a_timeout_ends_the_command_and_the_session_goes_on(trial: Try) -> None:
    async def check(place: Place) -> None:
        done = await place.sh("echo begun; while :; do :; done", timeout_ms=400)
        assert (done.status, done.exit_code) == ("timeout", None)
        assert done.stderr == "", "that is what the program wrote, and it wrote nothing"
        assert (await place.sh("echo on")).stdout == "on\n"
        for limit in ("timeout_ms", "cpu_ms", "memory_bytes"):
            with pytest.raises(BadRequest, match=rf"^{limit} must be at least 1, not 0$"):
                await place.sh("echo no", **{limit: 0})

    trial(check)


def test_a_cancel_ends_the_command_it_names_and_no_other(trial: Try) -> None:
    async def check(place: Place) -> None:
        assert await place.session.cancel("nothing") is False
        running = asyncio.create_task(place.sh("while :; do :; done", command_id="loop"))
        await until(lambda: "loop" in place.session.command_ids)
        assert await place.session.cancel("loop") is True
        done = await running
        assert (done.status, done.exit_code) == ("cancelled", None)
        assert (await place.sh("echo on")).stdout == "on\n"

    trial(check)


def test_a_command_that_is_cancelled_before_it_has_begun_never_runs(trial: Try) -> None:
    async def check(place: Place) -> None:
        token = secrets.token_hex(8)
        for number in range(4):
            running = asyncio.create_task(place.sh(f": {token}; while :; do sleep 0.1; done", command_id=f"c{number}"))
            await until(lambda number=number: f"c{number}" in place.session.command_ids)
            assert await place.session.cancel(f"c{number}") is True
            assert (await running).status == "cancelled"
        assert (await place.sh("echo on")).stdout == "on\n"
        assert not _processes_that_say(token)

    trial(check)


def _processes_that_say(token: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and token.encode() in (folder / "cmdline").read_bytes():
                found.append(folder.name)
    return found


def test_a_command_is_cancelled_while_another_runs_or_holds_its_turn(trial: Try) -> None:
    async def check(place: Place) -> None:
        first = asyncio.create_task(place.sh("while :; do :; done", command_id="first"))
        second = asyncio.create_task(place.sh("while :; do :; done", command_id="second"))
        await until(lambda: place.session.command_ids == ["first", "second"])
        assert await place.session.cancel("second")
        assert (await second).status == "cancelled"
        assert not first.done()
        assert await place.session.cancel("first")
        assert (await first).status == "cancelled"
        assert (await place.sh("echo on")).stdout == "on\n"

    trial(check)


def test_a_caller_that_leaves_takes_its_command_along(trial: Try) -> None:
    async def check(place: Place) -> None:
        running = asyncio.create_task(place.sh("while :; do :; done"))
        await until(lambda: place.session.command_ids == ["c"])
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert place.session.command_ids == []

    trial(check)


def test_a_detached_session_runs_on_and_is_rejoined_with_its_result(trial: Try) -> None:
    async def check(place: Place) -> None:
        running = asyncio.create_task(place.sh("echo begun; sleep 0.3; echo done"))
        await until(lambda: place.session.command_ids == ["c"])
        state = await place.session.detach()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        again = await place.provider.resume(place.destination, state)
        await again.rejoin()
        assert again is place.session
        assert (await again.wait("c")).stdout == "begun\ndone\n"
        assert (await again.wait("c")).stdout == "begun\ndone\n"
        with pytest.raises(NotFound, match="runner command not found"):
            await again.wait("other")

    trial(check)


def test_a_paused_session_refuses_work_until_it_is_resumed(trial: Try) -> None:
    async def check(place: Place) -> None:
        if not place.provider.capabilities.pausable:
            with pytest.raises(Unsupported, match=r"^runner pause is not supported by this provider$"):
                await place.session.pause()
            return
        code = "while :; do echo tick; sleep 0.02; done"
        running = place.session.start(Command(command_id="t", program="sh", args=["-c", code]))
        await until(lambda: len(running.feed.since()) > 2)
        await place.session.pause()
        with pytest.raises(Conflict, match="is paused"):
            await place.sh("echo no")
        await place.session.resume()
        before = len(running.feed.since())
        await until(lambda: len(running.feed.since()) > before + 2)
        await place.session.cancel("t")
        assert (await running.stay()).status == "cancelled"

    trial(check)


def test_a_signal_reaches_a_command_or_ends_it_where_there_are_none(trial: Try) -> None:
    async def check(place: Place) -> None:
        code = "trap 'echo usr; exit 5' USR1; echo ready; while :; do sleep 0.02; done"
        running = place.session.start(Command(command_id="s", program="sh", args=["-c", code]))
        await until(lambda: bool(running.feed.since()))
        if place.session.has_handles:
            await running.signal(signal.SIGUSR1)
            done = await running.stay()
            assert (done.stdout, done.exit_code) == ("ready\nusr\n", 5)
            return
        with pytest.raises(Unsupported, match="signal is not supported"):
            await running.signal(signal.SIGUSR1)
        await running.signal(signal.SIGTERM)
        assert (await running.stay()).status == "cancelled"

    trial(check)


def test_a_terminal_is_given_sized_typed_into_and_resized_or_refused_by_name(trial: Try) -> None:
    async def check(place: Place) -> None:
        code = 'until [ "$(stty size)" = \'30 100\' ]; do :; done; echo sized; read line; echo "[$line]"; stty size; exit 6'
        command = Command(command_id="t", program="sh", args=["-c", code], terminal=Terminal(rows=30, columns=100))
        if not place.provider.capabilities.terminals:
            with pytest.raises(Unsupported, match=f"^a terminal is not supported by provider {place.provider.id}$"):
                place.session.start(command)
            return
        running = place.session.start(command)

        def shown() -> str:
            return "".join(event.data for event in running.feed.since() if event.kind == "stdout")

        await until(lambda: "sized" in shown())
        await running.resize(Terminal(rows=50, columns=132))
        await running.write(b"typed\r")
        done = await running.stay()
        assert done.exit_code == 6 and done.stdout.split() == ["sized", "typed", "[typed]", "50", "132"], done

    trial(check)


def test_an_open_stdin_is_written_while_the_command_runs_and_ended_or_refused_by_name(trial: Try) -> None:
    async def check(place: Place) -> None:
        code = 'read -r first; echo "[$first]"; wc -c'
        command = Command(command_id="t", program="sh", args=["-c", code], open_stdin=True)
        if not place.provider.capabilities.open_stdin:
            with pytest.raises(Unsupported, match=f"^an open stdin is not supported by provider {place.provider.id}$"):
                place.session.start(command)
            return
        running = place.session.start(command)
        await running.write(b"one\n")
        await until(lambda: "[one]" in "".join(str(event.data) for event in running.feed.since()))
        for _ in range(8):
            await running.write(b"x" * 100_000)
        await running.end_input()
        done = await running.stay()
        assert (done.exit_code, done.stdout.split()) == (0, ["[one]", "800000"]), done
        await running.write(b"late")
        unread = place.session.start(Command(command_id="u", program="sleep", args=["100"], open_stdin=True))
        writing = asyncio.create_task(unread.write(b"x" * 4_000_000))
        await asyncio.sleep(0.1)
        assert not writing.done(), "it is taken as fast as it is read"
        await place.session.cancel("u")
        await writing
        for fields in ({"stdin": "x"}, {"terminal": Terminal()}, {"on_restart": "restart"}):
            with pytest.raises(BadRequest):
                place.session.start(Command(command_id="b", program="cat", open_stdin=True, **fields))
        with pytest.raises(Unsupported, match="has no terminal"):
            await place.session.start(Command(command_id="n", program="cat")).write(b"x")

    trial(check)


def test_one_command_id_is_under_way_once(trial: Try) -> None:
    async def check(place: Place) -> None:
        running = asyncio.create_task(place.sh("while :; do :; done"))
        await until(lambda: place.session.command_ids == ["c"])
        with pytest.raises(Conflict, match=r"^command c is under way already$"):
            await place.sh("echo twice")
        await place.session.cancel("c")
        await running

    trial(check)


def test_a_port_is_exposed_or_refused_as_the_capabilities_say(trial: Try) -> None:
    async def check(place: Place) -> None:
        if not place.provider.capabilities.port_preview:
            with pytest.raises(Unsupported):
                await place.session.expose_port(Port(port=8080))
            return
        with pytest.raises(Forbidden, match=r"^port 8080 is not exposed$"):
            await place.session.dial(8080)
        assert (await place.session.expose_port(Port(port=8080))).port == 8080
        for port in (0, 65536):
            with pytest.raises(BadRequest):
                await place.session.expose_port(Port(port=port))

    trial(check)


def test_a_stopped_session_is_found_again_and_a_discarded_or_invented_one_is_stale(trial: Try) -> None:
    async def check(place: Place) -> None:
        state = place.session.state
        await place.sh("echo kept > f")
        assert await place.provider.resume(place.destination, state) is place.session
        await place.session.close()
        await place.session.close()
        with pytest.raises(NotFound, match="is no more"):
            await place.sh("echo no")
        place.session = await place.provider.resume(place.destination, state)
        assert (await place.sh("cat f")).stdout == "kept\n"
        await place.session.close()
        with pytest.raises(NotFound) as other:
            await place.provider.resume(place.destination, state, thread_id="another")
        await place.provider.discard(place.destination, state)
        await place.provider.discard(place.destination, state)
        for dead in (state, SessionState(provider_id=place.provider.id, session_id="invented", destination_id="d")):
            with pytest.raises(NotFound) as raised:
                await place.provider.resume(place.destination, dead)
            assert raised.value.code == other.value.code == "RUNNER_STALE"

    trial(check)


def test_one_commands_environment_and_directory_are_not_the_next_ones(trial: Try) -> None:
    async def check(place: Place) -> None:
        await place.sh("mkdir d; echo here > mark")
        await place.sh("export B=2; cd /; echo $A", env=[("A", "1")], cwd="d")
        assert (await place.sh('echo "[$A$B]"; cat mark', env=[("C", "3")])).stdout == "[]\nhere\n"

    trial(check)


def test_a_snapshot_is_restored_here_and_elsewhere_with_modes_and_links(trial: Try) -> None:
    async def check(place: Place) -> None:
        await place.sh("mkdir -p d/e; echo one > d/f; ln -s f d/l; printf 'echo ran' > d/x; chmod 755 d/x")
        taken = await place.session.snapshot()
        assert taken is not None
        await place.sh("echo two > d/f; rm -r d/l d/e; echo more > d/more")
        first = place.session
        other = await place.open()
        await other.restore(taken.snapshot_id)
        await first.restore(taken.snapshot_id)
        for place.session in (first, other):
            done = await place.sh("cat d/f d/l; ls d; [ -L d/l ] || echo copied; [ -x d/x ] && [ ! -x d/f ] && echo runs")
            assert done.stdout == "one\none\ne\nf\nl\nx\nruns\n", done.stderr
        await first.drop_snapshot(taken.snapshot_id)
        with pytest.raises(NotFound):
            await other.restore(taken.snapshot_id)

    trial(check)


def test_a_state_names_no_path_and_no_secret(trial: Try) -> None:
    async def check(place: Place) -> None:
        assert await place.session.snapshot() is not None
        text = encode(place.session.state).decode()
        assert place.host_path is None or str(place.host_path) not in text
        assert "PRIVATE" not in text and "identity" not in text

    trial(check)
