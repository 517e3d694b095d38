"""What tests of snapshots share: a key ring, and the code a snapshot is refused with."""

from __future__ import annotations

from typing import Any

import pytest

import hatchway
from sandbox.encoding.sealing import Keys
from sandbox.errors import RequestError

KEYS = Keys.of(bytes(range(32)))


def code_of(blob: bytes, **options: Any) -> str:
    """The code a snapshot is refused with."""
    with pytest.raises(RequestError) as refused:
        hatchway.Sandbox.restore(blob, keys=KEYS, **options).close()
    return refused.value.error.code
