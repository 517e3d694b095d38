"""Artifacts of runners under the policy: a folder is asked about file by file, and what may not be read is not in it."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from sandbox.guests.images import images
from tests.gateway.http.asking import Reply
from tests.gateway.http.routes.test_runners import ONE, PLACES, House, live_in

SECRETIVE = """
policy p v 1
allow run
limit run { cpu 10s wall 30s memory 512MiB output 1MiB calls 1_000 }
allow fs.read when path under "/workspace"
deny fs.* when path under "/workspace/secret"

test "the secret folder" {
  as { tenant acme }
  fs.read { path "/workspace/open/a" } => allow
  fs.read { path "/workspace/secret/a" } => deny
}
"""


@pytest.fixture(autouse=True)
def _ready() -> None:
    if not images.is_ready("shell"):
        pytest.skip("the shell image is not compiled")


async def furnished(house: House, provider: str) -> None:
    await house.bind(provider)
    made = await house.sh("mkdir -p open secret/deep; echo o > open/a; echo s > secret/a; echo d > secret/deep/b; echo t > top")
    assert made.json["exit_code"] == 0, made.body
    sources = {"sources": {"p.hatch": SECRETIVE}, "main": "p.hatch"}
    assert (await house.ask("POST", "/v1/policies", sources, role="operator")).status == 201


async def names_in(house: House, exported: Reply) -> list[str]:
    assert exported.status == 200, exported.body
    archive = await house.ask("GET", exported.json["url"])
    with tarfile.open(fileobj=io.BytesIO(archive.body)) as opened:
        return sorted(opened.getnames())


@pytest.mark.parametrize("provider", PLACES)
@pytest.mark.parametrize("path", [".", "/workspace", "open/.."])
def test_tm_store_beside_a_folder_is_exported_without_what_the_policy_denies_in_it(
    provider: str, path: str, tmp_path: Path
) -> None:
    async def test(house: House) -> None:
        await furnished(house, provider)
        assert (await house.ask("GET", f"{ONE}/files?path=secret/a")).status == 403
        asked = {"path": path}
        exported = await house.ask("POST", ONE + "/artifacts", {**asked, "recursive": True})
        assert await names_in(house, exported) == ["open", "open/a", "top"]

    live_in(tmp_path, test)


@pytest.mark.parametrize("provider", PLACES)
def test_a_denied_folder_is_not_exported_at_all(provider: str, tmp_path: Path) -> None:
    async def test(house: House) -> None:
        await furnished(house, provider)
        for path in ("secret", "open/../secret", "secret/deep"):
            said = await house.ask("POST", ONE + "/artifacts", {"path": path, "recursive": True})
            assert (said.status, said.code) == (403, "PERMISSION_DENIED")

    live_in(tmp_path, test)
