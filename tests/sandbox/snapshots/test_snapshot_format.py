"""docs/snapshots.md describes the bytes: every kind we write is checked against the CDDL that stands there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cbor2
import pytest

import hatchway
from sandbox.encoding import cbor
from sandbox.encoding.sealing import Keys, open_seal
from sandbox.errors import Suspend
from tests.conftest import NewBox
from tests.sandbox.cddl import Mismatch, Schema

KEYS = Keys.of(bytes(range(32)))
PAGE = (Path(hatchway.__file__).parent.parent / "docs" / "snapshots.md").read_text("utf-8")
CDDL = "\n".join(re.findall(r"```cddl\n(.*?)```", PAGE, re.DOTALL))


SCHEMA = Schema(CDDL)


@pytest.fixture
def blob(new_box: NewBox) -> bytes:
    box = new_box(tools={"tool": lambda: 1})
    box.run("f = open('a', 'w'); f.write('x' * 200_000)\nimport os\nos.symlink('a', 'link')\nos.mkdir('d')\nos.listdir('d')")
    box.run("x=1", language="shell")
    box.run("var y = 1", language="javascript")
    return box.snapshot(keys=KEYS, label="a label", policy="sha256:00")


def test_a_snapshot_and_its_seal_are_what_the_page_says(blob: bytes) -> None:
    SCHEMA.check("sealed", blob)
    SCHEMA.check("snapshot", open_seal(blob, KEYS, purpose="snapshot"))


def test_a_recording_is_what_the_page_says(new_box: NewBox) -> None:
    def wait() -> None:
        raise Suspend("wait")

    box = new_box(record=True, tools={"tool": lambda: 1, "wait": wait})
    for code in ("import os, time\nos.urandom(3), tool(), time.time()\nopen('a', 'w').write('x')", "tool(); wait()", "1/0"):
        box.run(code)
        assert box.recording is not None
        SCHEMA.check("recording", open_seal(box.recording.seal(KEYS), KEYS, purpose="recording"))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("label"),
        lambda m: m.update(version=3),
        lambda m: m.update(more=1),
        lambda m: m["guests"]["python"].update(image=b"short"),
        lambda m: m["files"]["nodes"].append(["fifo", 1, 1, 0, 0, 0]),
        lambda m: m["guests"]["shell"]["descriptors"][0].pop(),
    ],
)
def test_the_page_refuses_what_is_not_a_manifest(blob: bytes, change: Callable[[dict[str, Any]], Any]) -> None:
    manifest = cbor2.loads(cbor2.loads(open_seal(blob, KEYS, purpose="snapshot"))["manifest"])
    change(manifest)
    with pytest.raises(Mismatch):
        SCHEMA.check("manifest", cbor.encode(manifest))
