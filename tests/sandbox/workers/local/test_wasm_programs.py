"""Tenants' wasm modules in a worker."""

from __future__ import annotations

import pytest

from sandbox.errors import RequestError
from sandbox.workers.local import wasm_programs
from sandbox.workers.local.wasm_programs import Modules
from tests.sandbox.workers.scenes import compile_hello


def test_a_module_is_loaded_once() -> None:
    loaded, code = Modules(), compile_hello()
    assert loaded.load(code) is loaded.load(bytes(bytearray(code)))


def test_more_code_than_a_worker_may_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, code = Modules(), compile_hello()
    monkeypatch.setattr(wasm_programs, "CODE_BYTES_MAX", len(code) - 1)
    with pytest.raises(RequestError, match="too many wasm modules"):
        loaded.load(code)
    monkeypatch.setattr(wasm_programs, "CODE_BYTES_MAX", len(code))
    assert loaded.load(code)


@pytest.mark.parametrize(
    ("code", "message"), [(b"\0asm\1\0\0\0", "not compiled"), (b"", "cannot be loaded"), (b"x" * 1000, "cannot be loaded")]
)
def test_what_is_no_native_code_is_refused(code: bytes, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        Modules().load(code)
