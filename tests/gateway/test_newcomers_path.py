"""A newcomer's path: the commands of README.md and docs/which.md, as they stand there, against a service that was just started.

The service is `hatchway serve`, which is what `make serve` runs once the guests are built. Only the port differs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.gateway.serving import serving

ROOT = Path(__file__).parents[2]
PORT = "localhost:8484"


def commands(page: str = "README.md") -> list[str]:
    """The lines with curl in the console blocks of a page, each with what follows after a backslash."""
    blocks = re.findall(r"^```console\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ curl ")]


@pytest.mark.parametrize("page", ["README.md", "docs/which.md"])
def test_every_curl_of_the_page_works_as_it_stands_there(page: str, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    found = commands(page)
    assert found, f"{page} shows no request to the service"
    answers = []
    with serving(tmp_path / "data") as gateway:
        environment = {**os.environ, "HATCHWAY_TOKEN": gateway.token}
        for command in found:
            assert PORT in command, f"{command} does not ask the port that `make serve` listens on"
            asked = command.replace(PORT, urlsplit(gateway.url).netloc)
            done = subprocess.run(["bash", "-c", asked], env=environment, capture_output=True, text=True, timeout=120, check=True)
            answers.append(json.loads(done.stdout))
    for command, answer in zip(found, answers, strict=True):
        assert "code" not in answer, f"{command} was refused: {answer}"
        if "result" in answer:
            assert answer["result"]["status"] == "ok", f"{command} answered {answer['result']}"
    assert any("result" in answer for answer in answers), f"no program of {page} was run"
