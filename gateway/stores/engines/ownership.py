"""One gateway a store: what one keeps in memory would not be what another wrote.

Rules: ownership is a lock that the kernel, or the database, takes back when its holder dies, however it dies. Commands that only
look (`hatchway audit`) need not own what they read. A gateway that is just ending is waited for.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from gateway.errors import Unavailable

PATIENCE_S = 5.0
PAUSE_S: Final = 0.05


def in_use() -> Unavailable:
    hint = "stop it first, or give this one another place; gateways are chained with the `hatchway` runner"
    return Unavailable("STORE_IN_USE", "another gateway serves this store", hint)


def own_file(path: Path) -> int:
    """A descriptor that holds the lock next to a store's file until it is closed. Raises `Unavailable`."""
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(lock)
                raise in_use() from None
            time.sleep(PAUSE_S)
        except BaseException:
            os.close(lock)
            raise
