"""The same verbs, the same arguments and the same refusals in the library, over HTTP and through both clients."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import hatchway
from hatchway import AsyncClient, AsyncSandbox, Client, Sandbox, SessionLimits
from hatchway.client.async_client import AsyncRemoteSandbox
from hatchway.client.client import RemoteSandbox
from sandbox.wire import DEFAULT_LIMITS, SNAPSHOT_VERSION
from tests.hatchway.surfaces import PATIENT, Http, HttpBox, Refusal, Surface

WRONG: dict[str, dict[str, Any]] = {
    "code": {"code": 5},
    "language": {"language": "cobol"},
    "language of a number": {"language": 5},
    "inputs": {"inputs": [1]},
    "validate_only": {"validate_only": 5},
    "return_snapshot": {"return_snapshot": "yes"},
    "timeout_ms": {"timeout_ms": 0},
    "timeout_ms of text": {"timeout_ms": "1"},
    "limits": {"limits": 5},
    "an unknown limit": {"limits": {"memory": 5}},
    "a limit out of bounds": {"limits": {**{name: getattr(PATIENT, name) for name in PATIENT.__struct_fields__}, "wall_ms": -1}},
    "stdin": {"stdin": 5},
    "filename": {"filename": 5},
    "env": {"env": {"A": 5}},
    "a name of env": {"env": {"A B": "x"}},
    "on_limit": {"on_limit": "forget"},
}


DECODED = ("a limit out of bounds", "a name of env")
"""What HTTP refuses as a run: its body can be decoded. Of the others there is no run."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_of_a_run_is_refused_and_nothing_is_run(surface: Surface, name: str) -> None:
    box = surface.open()
    options = {"code": "open('ran', 'w')", **WRONG[name]}
    code = options.pop("code")
    if isinstance(surface, Http) and name not in DECODED:
        with pytest.raises(Refusal, match=r"^INVALID_(BODY|ARGUMENT): "):
            box.run(code, **options)
    else:
        result = box.run(code, **options)
        assert result.status == "validation_error" and result.error is not None and not result.ok
        assert result.error.code in ("INVALID_ARGUMENT", "UNSUPPORTED_FEATURE"), result.error
    assert box.names() == []


def test_both_clients_and_the_library_say_what_is_wrong_in_the_same_words(surfaces: dict[str, Surface]) -> None:
    boxes = [surfaces[name].open() for name in ("library", "client", "async client")]
    for name, wrong in WRONG.items():
        told = []
        for box in boxes:
            options = {"code": "1", **wrong}
            error = box.run(options.pop("code"), **options).error
            told.append(error)
        assert told[0] is not None and told[0] == told[1] == told[2], (name, told)
    for surface in surfaces.values():
        surface.close_boxes()


def test_half_a_character_in_stdin_is_refused_and_never_replaced(surfaces: dict[str, Surface]) -> None:
    for name in ("library", "client", "async client"):
        result = surfaces[name].open().run("import sys\nsys.stdin.read()", stdin="\ud83c")
        assert result.error is not None and result.error.code == "INVALID_ARGUMENT" and "stdin" in result.error.message, name
    box = surfaces["http"].open()
    assert isinstance(box, HttpBox)
    with pytest.raises(Refusal, match="INVALID_BODY"):
        box.ask("POST", "/runs", content=b'{"code": "1", "stdin": "\\ud83c"}', headers={"content-type": "application/json"})
    for surface in surfaces.values():
        surface.close_boxes()


def test_an_argument_that_there_is_not_is_a_type_error(surfaces: dict[str, Surface]) -> None:
    for name in ("library", "client", "async client"):
        box = surfaces[name].open()
        with pytest.raises(TypeError, match="colour"):
            box.run("1", colour="red")
        with pytest.raises(TypeError, match="colour"):
            surfaces[name].open(colour="red")
    for surface in surfaces.values():
        surface.close_boxes()


OPENED_WRONG: dict[str, dict[str, Any]] = {
    "language": {"language": "cobol"},
    "limits": {"limits": 5},
    "an unknown limit": {"limits": {"memory": 5}},
    "a limit out of bounds": {"limits": {"memory_mb": 0, "cpu_ms": 1, "wall_ms": 1, "max_stdout_bytes": 1,
                                         "max_external_calls": 1, "max_stack_depth": 1}},
}  # fmt: skip


@pytest.mark.parametrize("name", OPENED_WRONG)
def test_a_session_with_wrong_arguments_is_not_opened(surface: Surface, name: str) -> None:
    with pytest.raises(Refusal) as told:
        surface.open(**OPENED_WRONG[name])
    assert told.value.code in ("INVALID_ARGUMENT", "UNSUPPORTED_FEATURE", "INVALID_BODY")


def test_wrong_arguments_of_other_verbs_raise_the_same(surfaces: dict[str, Surface]) -> None:
    for name in ("library", "client", "async client"):
        box = surfaces[name].open()
        calls: list[tuple[str, Any]] = [
            ("write", lambda box=box: box.write("a", 5)),
            ("path", lambda box=box: box.read(5)),
            ("grep", lambda box=box: box.grep(5)),
            ("value", lambda box=box: box.set_value("k", 5)),
            ("key", lambda box=box: box.get_value(5)),
            ("reserved key", lambda box=box: box.set_value("tool_approval/x", "v")),
            ("fork", lambda box=box: box._call(box.inner, "fork", "two")),
            ("mode of text", lambda box=box: box.chmod("a", "x")),
            ("mode below nought", lambda box=box: box.chmod("a", -1)),
            ("mode beyond all bits", lambda box=box: box.chmod("a", 1 << 20)),
            ("recursive", lambda box=box: box.remove("a", recursive="yes")),
            ("half a character in a value", lambda box=box: box.set_value("k", "\ud800")),
            ("half a character in a key", lambda box=box: box.get_value("\ud800")),
            ("half a character in a secret", lambda box=box: box.set_secret("k", "\ud800")),
            ("no fork", lambda box=box: box._call(box.inner, "fork", -1)),
        ]
        for what, call in calls:
            with pytest.raises(Refusal) as told:
                call()
            assert told.value.code == "INVALID_ARGUMENT", (name, what, told.value)
    for surface in surfaces.values():
        surface.close_boxes()


def test_values_and_secrets_are_there_with_the_same_verbs(surface: Surface) -> None:
    box = surface.open()
    box.set_value("b/c", "1")
    box.set_value("a", "é")
    box.set_value("b/c", "2")
    assert box.list_values() == ["a", "b/c"] and box.get_value("a") == "é" and box.get_value("b/c") == "2"
    assert box.get_value("none") is None
    box.set_secret("key", "hush")
    assert box.list_secrets() == ["key"] and box.get_value("key") is None
    child = box.fork()
    assert child.get_value("a") == "é" and child.list_secrets() == ["key"]
    assert (box.delete_value("a"), box.delete_value("a")) == (True, False)
    assert (box.delete_secret("key"), box.delete_secret("key")) == (True, False)
    assert child.get_value("a") == "é"
    child.close()


def test_a_session_says_what_it_is(surface: Surface) -> None:
    box = surface.open(language="javascript")
    before = box.meta()
    box.run("1")
    after = box.meta()
    assert after.language == "javascript" and after.limits == PATIENT and after.snapshot_version == SNAPSHOT_VERSION
    assert before.id == after.id and before.created_at == after.created_at <= after.last_used_at


def test_whether_a_snapshot_can_be_restored_is_told_without_restoring_it(surface: Surface) -> None:
    box = surface.open()
    box.run("x = 7")
    blob = box.snapshot()
    assert surface.can_restore(blob) and surface.restore(blob).run("x").result == 7
    damaged = bytearray(blob)
    damaged[len(damaged) // 2] ^= 1
    assert not surface.can_restore(bytes(damaged)) and not surface.can_restore(b"none")


def test_limits_have_the_contracts_defaults() -> None:
    assert SessionLimits(memory_mb=256) == SessionLimits(
        memory_mb=256, cpu_ms=2000, wall_ms=5000, max_stdout_bytes=65536, max_external_calls=32, max_stack_depth=256
    )
    assert SessionLimits() == DEFAULT_LIMITS


def test_limits_may_be_given_in_part(surfaces: dict[str, Surface]) -> None:
    for name in ("library", "client", "async client"):
        box = surfaces[name].open(limits={"memory_mb": 100})
        depth = 1000 if name == "library" else 256
        assert box.meta().limits == SessionLimits(memory_mb=100, max_stack_depth=depth), name
        result = box.run("1", limits={"wall_ms": 3000})
        assert result.ok and not any(one.code == "LIMIT_LOWERED" for one in result.diagnostics), (name, result.diagnostics)
    for surface in surfaces.values():
        surface.close_boxes()


def test_the_public_names_are_listed_and_there() -> None:
    public = {"Sandbox", "AsyncSandbox", "Client", "AsyncClient", "SessionLimits", "RunResult", "RunFailed", "RequestError"}
    assert public <= set(dir(hatchway)) == set(hatchway.__all__)
    for name in dir(hatchway):
        assert getattr(hatchway, name) is not None


FACES = (Sandbox, AsyncSandbox, Client, AsyncClient, RemoteSandbox, AsyncRemoteSandbox)


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_signatures_are_typed(face: type) -> None:
    for name, verb in inspect.getmembers(face, callable):
        if name.startswith("_") and name != "__init__":
            continue
        for parameter in inspect.signature(verb).parameters.values():
            if parameter.name in ("self", "cls") or name == "do":
                continue
            assert parameter.annotation is not inspect.Parameter.empty, (name, parameter)
            assert not (parameter.kind is parameter.VAR_KEYWORD and parameter.annotation in (Any, "Any")), (name, parameter)


def test_objects_say_what_they_are(surfaces: dict[str, Surface]) -> None:
    for name in ("library", "client", "async client"):
        box = surfaces[name].open(language="shell", limits=PATIENT)
        shown = [box.inner, box.inner.files, box.inner.values, box.inner.secrets]
        assert all(" object at 0x" not in repr(one) for one in shown), (name, shown)
        assert "shell" in repr(box.inner)
    for surface in surfaces.values():
        surface.close_boxes()
