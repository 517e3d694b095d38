"""A long campaign against the whole service: Schemathesis makes requests from the OpenAPI document, one after another and in
chains.

    python -m tests.gateway.http.http_campaign --seconds 600 --seed 7 [--workers processes]

It needs the program `st` (pip install schemathesis). It fails on an answer that is a mistake of ours, or that the document does
not describe; the seed makes a run repeatable.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)


def main() -> int:
    options = argparse.ArgumentParser(description="Fuzz the service over HTTP.")
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--workers", default="in-process")
    asked = options.parse_args()
    if shutil.which("st") is None:
        print("schemathesis is not installed: pip install schemathesis", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        return _run(Path(folder), asked.seconds, asked.seed, asked.workers)


def _run(folder: Path, seconds: int, seed: int, workers: str) -> int:
    words = [sys.executable, "-m", "hatchway.cli", "serve", "--port", "0", "--data", str(folder / "data"), "--workers", workers]
    log = folder / "log"
    with log.open("wb") as errors:
        server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[3]
        token = server.stdout.readline().rpartition("=")[2].strip()
        fuzz = ["st", "run", f"{url}/openapi.json", "-H", f"Authorization: Bearer {token}", "--max-time", str(seconds)]
        fuzz += ["--seed", str(seed), "--checks", ",".join(CHECKS), "--continue-on-failure", "--suppress-health-check", "all"]
        status = subprocess.run(fuzz, env={**os.environ, "NO_COLOR": "1"}, check=False).returncode
    finally:
        server.terminate()
        server.wait(60)
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines() if line.startswith("{")]
    ours = [line for line in lines if line.get("status", 0) in (500, 507) or "error" in line]
    for line in ours[:20]:
        print(json.dumps(line), file=sys.stderr)
    answered = sum("status" in line for line in lines)
    print(f"{answered} requests, {len(ours)} mistakes of ours")
    return 1 if ours else status


if __name__ == "__main__":
    sys.exit(main())
