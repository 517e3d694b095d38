"""Tenants' wasm modules in a worker."""

from __future__ import annotations

import pytest

from sandbox.errors import RequestError
from sandbox.images import images
from sandbox.workers import modules
from sandbox.workers.modules import Modules
from tests.sandbox.workers.scenes import compile_hello


def test_a_module_is_loaded_once() -> None:
    loaded, code = Modules(images), compile_hello()
    assert loaded.load(code) is loaded.load(bytes(bytearray(code)))


def test_more_code_than_a_worker_may_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, code = Modules(images), compile_hello()
    monkeypatch.setattr(modules, "CODE_BYTES_MAX", len(code) - 1)
    with pytest.raises(RequestError, match="too many wasm modules"):
        loaded.load(code)
    monkeypatch.setattr(modules, "CODE_BYTES_MAX", len(code))
    assert loaded.load(code)


@pytest.mark.parametrize(
    ("code", "message"), [(b"\0asm\1\0\0\0", "not compiled"), (b"", "cannot be loaded"), (b"x" * 1000, "cannot be loaded")]
)
def test_what_is_no_native_code_is_refused(code: bytes, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        Modules(images).load(code)
