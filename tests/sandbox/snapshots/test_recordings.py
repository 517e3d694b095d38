"""Recordings: a run that can be had again, bit for bit; and one that waits, and goes on elsewhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hatchway
from sandbox.capabilities.registry import Registry, ToolError
from sandbox.encoding.sealing import Keys
from sandbox.errors import RequestError, Suspend
from sandbox.guests.tape import FILES, MONOTONIC, RANDOM, REALTIME, Event
from sandbox.snapshots.recordings import Recording, replay, resume
from sandbox.wire import CallStatus, RunStatus
from tests.conftest import NewBox

KEYS = Keys.of(bytes(range(32)))
PROGRAMS = {
    "python": """
import time, random, uuid, os, sys, asyncio
print(time.time(), random.random(), uuid.uuid4(), os.urandom(4).hex(), file=sys.stderr)
table = {str(i): {i, i * 2} for i in range(500)}
open('t.txt', 'w').write('x' * 1000)
said = sys.stdin.read()
asyncio.run(asyncio.sleep(0.01))
answer = tools.add(1, 2)
[hash(str(table)), id(table), os.stat('t.txt').st_mtime_ns, said, answer, time.perf_counter_ns()]
""",
    "javascript": """
console.log(Date.now(), Math.random());
const m = new Map(); for (let i = 0; i < 500; i++) m.set(i, Math.random());
const answer = await tools.add(1, 2);
[answer, Date.now(), [...m.values()][499], crypto.randomUUID()]
""",
    "typescript": "const when: number = Date.now(); const x: number = await tools.add(1, 2); [when, x, Math.random()]",
    "shell": "x=$RANDOM; echo $x $(date +%s); echo hi > f.txt; cat; ls -l f.txt; add 1 2; f() { echo later; }",
}


def recorded(box: hatchway.Sandbox, code: str, **options: Any) -> tuple[hatchway.RunResult, Recording]:
    box.record = True
    result = box.run(code, **options)
    assert box.recording is not None
    return result, box.recording


def add(a: Any, b: Any) -> int:
    return int(a) + int(b)


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_run_is_replayed_with_the_same_memory_files_output_and_result(new_box: NewBox, language: str) -> None:
    box = new_box(language=language, tools={"add": add})
    box.run("1", language=language)
    result, recording = recorded(box, PROGRAMS[language], stdin="some input\n")
    assert result.ok, result.error
    opened = Recording.open(recording.seal(KEYS), KEYS)
    for _ in range(2):
        done = replay(opened)
        assert (done.result.result, done.result.stdout, done.result.stderr) == (result.result, result.stdout, result.stderr)
        assert done.recording.ending == recording.ending
        done.session.close()


def test_a_replay_calls_no_capability(new_box: NewBox) -> None:
    calls: list[int] = []
    box = new_box(language="javascript", tools={"note": calls.append})
    _, recording = recorded(box, "await tools.note(1); await tools.note(2)")
    assert calls == [1, 2]
    replay(recording, registry=box.registry).session.close()
    assert calls == [1, 2]


def test_the_first_run_of_a_session_and_a_run_on_a_long_lived_one_are_both_replayed(new_box: NewBox) -> None:
    box = new_box()
    first, recording = recorded(box, "import random\nx = random.random()\nx")
    assert replay(recording).result.result == first.result
    for _ in range(70):
        box.run("x += 1")
    later, recording = recorded(box, "x, random.random()")
    assert replay(Recording.open(recording.seal(KEYS), KEYS)).result.result == later.result


def test_a_failed_program_is_replayed_with_its_traceback(new_box: NewBox) -> None:
    box = new_box()
    result, recording = recorded(box, "import time\nraise ValueError(time.time())")
    done = replay(recording)
    assert done.result.error == result.error
    assert done.result.stderr == result.stderr


@pytest.mark.parametrize(
    ("language", "code", "timeout_ms"),
    [
        ("python", "x = 1\nprint(x)\nwhile True: pass", 150),
        ("python", "import time\ntime.sleep(30)", 100),
        ("javascript", "while (true) {}", 100),
    ],
)
def test_a_run_that_a_limit_ended_is_replayed_to_the_same_end(new_box: NewBox, language: str, code: str, timeout_ms: int) -> None:
    box = new_box(language=language)
    result, recording = recorded(box, code, timeout_ms=timeout_ms)
    assert result.status is RunStatus.TIMEOUT
    assert replay(recording).result.status is RunStatus.TIMEOUT


def changed(recording: Recording, change: Callable[[list[Event]], Any]) -> Recording:
    events = list(recording.journal.events)
    change(events)
    return Recording(recording.start, msgspec.structs.replace(recording.journal, events=events), recording.ending)


def first(events: list[Event], kind: int) -> int:
    return next(number for number, event in enumerate(events) if event[0] == kind)


def mismatch(recording: Recording) -> str:
    with pytest.raises(RequestError) as caught:
        replay(recording)
    assert caught.value.error.code == "REPLAY_MISMATCH"
    return str(caught.value)


@pytest.fixture
def busy(new_box: NewBox) -> Recording:
    box = new_box(tools={"add": add})
    code = "import os, time\na = os.urandom(8)\nb = time.time()\nopen('f', 'w').write('1')\nc = add(1, 2)\n[b, c]"
    return recorded(box, code)[1]


def test_a_journal_with_another_answer_fails_at_the_end_it_leads_to(busy: Recording) -> None:
    for kind, other in ((REALTIME, 10**18), (RANDOM, bytes(8)), (FILES, 10**18)):

        def alter(events: list[Event], kind: int = kind, other: int | bytes = other) -> None:
            number = first(events, kind)
            events[number] = (kind, other, b"")

        assert "ended with another" in mismatch(changed(busy, alter))


def test_a_journal_that_lacks_an_entry_fails_at_the_first_difference(busy: Recording) -> None:
    number = first(list(busy.journal.events), RANDOM)
    said = mismatch(changed(busy, lambda events: events.pop(number)))
    assert f"at entry {number}" in said
    assert "it asks for randomness" in said


def test_a_journal_that_ends_early_or_goes_on_too_long_is_noticed(busy: Recording) -> None:
    assert "had ended" in mismatch(changed(busy, lambda events: events.pop()))
    assert "ended without asking" in mismatch(changed(busy, lambda events: events.append((REALTIME, 1, b""))))


def test_a_call_with_other_arguments_is_noticed(busy: Recording) -> None:
    def alter(events: list[Event]) -> None:
        number, (kind, value, asked) = len(events) - 1, events[-1]
        events[number] = (kind, value, asked.replace(b"2", b"3"))

    assert "it sends" in mismatch(changed(busy, alter))


def test_another_starting_state_is_noticed(busy: Recording, new_box: NewBox) -> None:
    other = new_box()
    other.run("something = 1")
    mismatch(Recording(other._session.freeze(), busy.journal, busy.ending))


def test_a_recording_of_another_build_of_the_guest_is_refused(busy: Recording) -> None:
    other = msgspec.structs.replace(busy.journal, image=bytes(32))
    with pytest.raises(RequestError) as caught:
        replay(Recording(busy.start, other, busy.ending))
    assert caught.value.error.code == "SNAPSHOT_VERSION_MISMATCH"


def test_what_if_a_call_had_answered_otherwise(new_box: NewBox) -> None:
    box = new_box(language="javascript", tools={"price": lambda: 10})
    result, recording = recorded(box, "const p = await tools.price(); p > 50 ? ['too much', Math.random()] : ['buy', p]")
    assert result.result == ["buy", 10]
    (number,) = recording.calls()
    wondered = replay(recording, changes={number: 99})
    assert wondered.result.result[0] == "too much"
    assert replay(recording, changes={number: 99}).result.result == wondered.result.result
    failed = replay(recording, changes={number: ToolError("DOWN", "no prices today")})
    assert failed.result.error is not None
    assert failed.result.error.code == "DOWN"


def test_what_if_leads_to_a_question_that_was_never_asked(new_box: NewBox) -> None:
    code = "import os, time\nx = ask('a')\nif x > 1: x = ask('b')\n[x, len(os.urandom(4)), time.time() > 0]"
    box = new_box(tools={"ask": lambda name: 1})
    _, recording = recorded(box, code)
    number = next(iter(recording.calls()))
    offered = Registry()
    offered.tool(ask)
    assert replay(recording, changes={number: 5}, registry=offered).result.result == [7, 4, True]
    assert replay(recording, changes={number: 5}).result.error is not None


def ask(name: str) -> int:
    return 7


def test_what_if_refuses_an_entry_that_is_no_call(busy: Recording) -> None:
    with pytest.raises(RequestError, match="no capability call"):
        replay(busy, changes={0: 1})


def test_a_damaged_recording_and_a_snapshot_in_its_place_are_refused(busy: Recording, new_box: NewBox) -> None:
    blob = busy.seal(KEYS)
    for other in (blob[:-1], blob[:-1] + bytes([blob[-1] ^ 1]), new_box(language="shell").snapshot(keys=KEYS), b""):
        with pytest.raises(RequestError) as caught:
            Recording.open(other, KEYS)
        assert caught.value.error.code == "SNAPSHOT_CORRUPT"


# --- waiting --------------------------------------------------------------------------------------------------------------


class Bank:
    """A capability that waits for an approval, and counts what it really did."""

    def __init__(self) -> None:
        self.approved = False
        self.looked = 0
        self.paid: list[int] = []

    def look(self) -> int:
        self.looked += 1
        return 100

    def pay(self, amount: int) -> str:
        if not self.approved:
            raise Suspend("who approves this payment?")
        self.paid.append(amount)
        return f"paid {amount}"

    def tools(self) -> dict[str, Callable[..., Any]]:
        return {"look": self.look, "pay": self.pay}


PAYING = """
import time
started = time.monotonic()
have = look()
open('note', 'w').write('x')
result = [pay(have // 2), time.monotonic() >= started]
"""


def test_a_run_that_must_wait_ends_with_nothing_changed(new_box: NewBox) -> None:
    bank = Bank()
    box = new_box(tools=bank.tools())
    result, recording = recorded(box, PAYING)
    assert result.status is RunStatus.WAITING_FOR_APPROVAL
    assert result.error is not None and result.error.code == "WAITING_FOR_APPROVAL"
    assert [call.status for call in result.external_calls] == [CallStatus.OK, CallStatus.APPROVAL_PENDING]
    assert recording.is_waiting
    assert box.files.list_dir() == []
    box.record = False
    assert box.run("'have' in globals()").result is False


def test_a_waiting_run_goes_on_with_the_answer_it_waited_for(new_box: NewBox) -> None:
    bank = Bank()
    _, recording = recorded(new_box(tools=bank.tools()), PAYING)
    box, result = hatchway.Sandbox.resume(recording.seal(KEYS), keys=KEYS, answer="approved and paid", tools=bank.tools())
    with box:
        assert result.result == ["approved and paid", True]
        assert (bank.looked, bank.paid) == (1, [])
        assert box.files.read_file("note") == b"x"
        box.record = False
        assert box.run("have").result == 100


def test_a_waiting_call_is_made_once_after_it_was_approved(new_box: NewBox) -> None:
    bank = Bank()
    _, recording = recorded(new_box(tools=bank.tools()), PAYING)
    bank.approved = True
    box, result = hatchway.Sandbox.resume(recording, tools=bank.tools())
    with box:
        assert result.result == ["paid 50", True]
        assert (bank.looked, bank.paid) == (1, [50])


def test_a_refused_call_is_an_error_the_program_can_catch(new_box: NewBox) -> None:
    code = "try:\n    pay(1)\nexcept ToolError as error:\n    result = error.code"
    _, recording = recorded(new_box(tools=Bank().tools()), code)
    assert resume(recording, answer=ToolError("PERMISSION_DENIED", "no")).result.result == "PERMISSION_DENIED"


@pytest.mark.parametrize("answer", [float("nan"), [float("inf")], {"a": b"x"}, {1: 2}, [10**5000], object()])
def test_a_waiting_call_is_not_answered_with_what_is_no_plain_json(new_box: NewBox, answer: object) -> None:
    _, recording = recorded(new_box(tools=Bank().tools()), PAYING)
    with pytest.raises(RequestError, match="an answer must be plain JSON or an exception") as refused:
        hatchway.Sandbox.resume(recording, answer=answer)
    assert refused.value.error.code == "INVALID_ARGUMENT"


def test_a_run_may_wait_twice_and_what_was_resumed_can_be_replayed(new_box: NewBox) -> None:
    bank = Bank()
    _, recording = recorded(new_box(tools=bank.tools(), language="javascript"), "[await tools.pay(1), await tools.pay(2)]")
    registry = Registry()
    registry.tool(bank.pay)
    once = resume(recording, answer="first", registry=registry)
    assert once.result.status is RunStatus.WAITING_FOR_APPROVAL
    assert once.recording.is_waiting
    twice = resume(Recording.open(once.recording.seal(KEYS), KEYS), answer="second", registry=registry)
    assert twice.result.result == ["first", "second"]
    assert replay(twice.recording).result.result == ["first", "second"]


def test_a_run_that_does_not_wait_cannot_be_resumed(busy: Recording) -> None:
    with pytest.raises(RequestError, match="does not wait"):
        resume(busy, answer=1)


def test_the_monotonic_clock_goes_on_from_where_the_run_was_put_away(new_box: NewBox) -> None:
    code = "import time\na = time.monotonic_ns()\npay(1)\nresult = time.monotonic_ns() - a"
    _, recording = recorded(new_box(tools=Bank().tools()), code)

    def later(events: list[Event]) -> None:
        number = first(events, MONOTONIC)
        events[number] = (MONOTONIC, 10**18, b"")

    assert resume(changed(recording, later), answer=1).result.result >= 0


ELSEWHERE = """
import sys, hatchway
from sandbox.encoding.sealing import Keys
box, result = hatchway.Sandbox.resume(sys.stdin.buffer.read(), keys=Keys.of(bytes(range(32))), answer="from elsewhere")
print(result.result, box.files.read_file("note"))
"""


def test_a_waiting_run_is_resumed_in_another_process(new_box: NewBox) -> None:
    _, recording = recorded(new_box(tools=Bank().tools()), PAYING)
    root = Path(hatchway.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], input=recording.seal(KEYS), cwd=root, capture_output=True, check=True
    )
    assert done.stdout == b"['from elsewhere', True] b'x'\n"


COUNTED = """
first = look()
second = pay(1)
third = look()
"""


def test_calls_from_before_a_wait_count_after_it(new_box: NewBox) -> None:
    bank = Bank()
    _, recording = recorded(new_box(tools=bank.tools(), limits={"max_external_calls": 2}), COUNTED)
    box, result = hatchway.Sandbox.resume(recording, answer="yes", tools=bank.tools())
    with box:
        assert result.error is not None and result.error.code == "EXTERNAL_CALLS_EXCEEDED"
        assert bank.looked == 1


def test_a_resumed_and_a_replayed_run_have_the_records_of_all_their_calls(new_box: NewBox) -> None:
    bank = Bank()
    waiting, recording = recorded(new_box(tools=bank.tools()), COUNTED)
    box, resumed = hatchway.Sandbox.resume(recording, answer="yes", tools=bank.tools())
    with box:
        assert [(call.name, call.status.value) for call in resumed.external_calls] == [
            ("look", "ok"),
            ("pay", "ok"),
            ("look", "ok"),
        ]
        assert resumed.metrics.external_calls_count == 3
        assert box.recording is not None
        replayed = replay(box.recording).result
    digests = [(call.request_digest, call.response_digest) for call in resumed.external_calls]
    assert digests[0] == (waiting.external_calls[0].request_digest, waiting.external_calls[0].response_digest)
    assert [(call.request_digest, call.response_digest) for call in replayed.external_calls] == digests
    assert replayed.metrics.external_calls_count == 3


def test_a_replayed_call_that_failed_has_the_record_of_its_failure(new_box: NewBox) -> None:
    def refuse() -> None:
        raise ToolError("PERMISSION_DENIED", "no")

    code = "for one in (tools.refuse, lambda: tools.unknown()):\n    try: one()\n    except Exception: pass"
    result, recording = recorded(new_box(tools={"refuse": refuse}), code)
    again = replay(recording).result
    assert [(call.name, call.status, call.error) for call in again.external_calls] == [
        (call.name, call.status, call.error) for call in result.external_calls
    ]
    assert again.metrics.external_calls_count == result.metrics.external_calls_count
