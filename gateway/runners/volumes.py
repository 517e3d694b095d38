"""Volumes: folders that outlive sessions, which is what `provider_native` mounts are where a provider has no storage of its own.

Rules: a volume belongs to a destination, by its id. `volumes` is one tenant's: whoever makes providers gives each tenant a
folder of its own, and never one inside a workspace.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from gateway.runners.errors import invalid


def volumes_folder() -> Path:
    """Where nobody says otherwise. Outside of every base: a session whose root is the base must not find volumes in it."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "hatchway" / "volumes"


def volume_folder(volumes: Path, destination_id: str, name: str) -> Path:
    """The folder of a volume, made if it is not there."""
    if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum() or len(name) > 64:
        raise invalid("the uri of a provider_native mount is the name of a volume")
    folder = volumes / hashlib.sha256(destination_id.encode()).hexdigest()[:16] / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
